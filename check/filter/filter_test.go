package filter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

func parse(t testing.TB, text string) *Filter {
	t.Helper()
	f, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What happened to a file is asked for by the word of its line.
func TestKindFile(t *testing.T) {
	f := parse(t, "kind:file")
	r := Row{Entry: &session.Entry{Kind: session.KindHeader}, Change: &check.Change{}}
	if f.Takes(&r) {
		t.Error("headers are taken for a file")
	}
	r.Change.Variant = xds.VariantFile
	if !f.Takes(&r) {
		t.Error("a file is not taken")
	}
}

func TestTakes(t *testing.T) {
	rows := story()
	for text, want := range map[string]string{
		"":                                     "1-12",
		"client:gw-*":                          "2-6 8-11",
		"client:GW-0,web-*":                    "2-11",
		"-client:*":                            "1 12",
		"client:gw":                            "",
		`client:/^(gw|web)-/`:                  "2-11",
		"type:cds":                             "3-5",
		"TYPE:EDS,cds":                         "3-6",
		"type:eds,cds -kind:ack":               "3-5",
		"type:" + clusterURL:                   "3-5",
		"type:envoy.config.cluster.v3.cluster": "3-5",
		"type:*serviceentry":                   "7",
		"type:*.v3.*":                          "3-6",
		"type:/service.?entry/":                "7",
		"-type:*":                              "1-2 8-12",
		"kind:nack":                            "5",
		"kind:ack":                             "6",
		"kind:sub":                             "3 6",
		"kind:resp,delta":                      "4 7",
		"kind:unsub,req":                       "",
		"kind:open":                            "2",
		"kind:close":                           "9-10",
		"kind:trailer":                         "9",
		"kind:cancel":                          "10",
		"kind:header":                          "8",
		"kind:head":                            "8",
		"kind:conn,goaway,gap":                 "1 11-12",
		"kind:connect":                         "1",
		"-kind:message":                        "1-2 8-12",
		"what:nack,delta":                      "5 7",
		"name:outbound|9080*":                  "4",
		"name:outbound|9080||reviews":          "4",
		"name:OUTBOUND|9080||Ratings":          "4",
		"name:web":                             "4 6",
		"name:api":                             "6",
		"name:gone":                            "7",
		"name:other-*":                         "7",
		"name:broken":                          "7",
		"name:review":                          "",
		`name:/review/`:                        "4 7",
		"version:88":                           "4",
		"version:3":                            "6-7",
		"version:8*":                           "4-5",
		"nonce:c4":                             "4-5",
		"nonce:n7":                             "7",
		"dir:req":                              "3 5-6",
		"dir:resp":                             "4 7",
		"-dir:req,resp":                        "1-2 8-12",
		"res:3":                                "4",
		"res:>=2":                              "4 6-7",
		"res:>2":                               "4",
		"res:<3":                               "6-7",
		"res:<=2":                              "6-7",
		"res:1..2":                             "6-7",
		"res:3..":                              "4",
		"res:..2,3":                            "4 6-7",
		"size:>1M":                             "4",
		"size:>1.5M":                           "4",
		"size:>1.6M":                           "",
		"size:1536000":                         "4",
		"size:1500KiB":                         "4",
		"size:2.1k":                            "3",
		"size:2.1kb":                           "3",
		"size:1k..2M":                          "3-4",
		"size:<1k":                             "5-7",
		"ack:>500ms":                           "5",
		"ack:<0.5s":                            "6",
		"ack:1ms..5ms":                         "6",
		"-ack:>0s":                             "1-4 7-12",
		"since:-5s":                            "7-12",
		"since:5s":                             "7-12",
		"since:12:41:08":                       "8-12",
		"since:2026-03-09T12:41:09Z":           "9-12",
		"-since:-2s":                           "1-9",
		"since:0s":                             "12",
		"at:12:41:02..12:41:04":                "2-4",
		"at:12:41":                             "1-12",
		"seq:4..6":                             "4-6",
		"seq:..2,11..":                         "1-2 11-12",
		"stream:12":                            "1-6 8-10",
		"stream:3,0":                           "7 11-12",
		"conn:2":                               "7",
		"conn:<1":                              "12",
		"code:unavailable":                     "9",
		"code:14":                              "9",
		"code:INTERNAL":                        "5",
		"code:13":                              "5",
		"code:not-found":                       "7",
		"code:cancel":                          "10",
		"code:enhance_your_calm":               "11",
		"code:503":                             "8",
		"-code:ok,13,14":                       "1-4 6-8 10-12",
		"rule:nack-immediate-resend":           "5",
		"rule:nack-*":                          "5",
		"marked:yes":                           "4",
		"-marked:yes":                          "1-3 5-12",
		"marked:NO dir:resp":                   "7",
		"-rule:*":                              "1-4 6-12",
		"sev:error":                            "5",
		"sev:warning,info":                     "5",
		"sev:info":                             "",
		`text:"duplicate address"`:             "4",
		"text:dup*addr":                        "4",
		"text:addr*dup":                        "",
		`text:"/^- name:/"`:                    "4",
		`text:/^resources:$/`:                  "4",
		"-text:duplicate kind:resp":            "",
		"node.locality:eu-*":                   "2-6 8-11",
		"node.region:eu-west-1":                "2-6 8-11",
		"node.zone:*b":                         "2-6 8-11",
		"node.id:web-7f9":                      "7",
		"node.cluster:edge,shop":               "2-11",
		"node.user_agent:envoy node.version:1.34.*": "2-6 8-11",
		"node.feature:*send_all*":                   "2-6 8-11",
		"-node.id:*":                                "1 12",
		"method:StreamAggregatedResources":          "2-6 8-11",
		"method:" + adsPath:                         "2-6 8-11",
		"method:*Delta*":                            "7",
		"method:envoy.service.discovery.v3.aggregateddiscoveryservice": "2-11",
		"variant:delta-ads":             "7",
		"variant:*-ads":                 "2-11",
		"variant:sotw":                  "",
		"duplicate":                     "5",
		"address -0.0.0.0":              "",
		"edge":                          "3",
		"edge,DUPLICATE":                "3 5",
		"gw -duplicate":                 "3",
		`"duplicate address"`:           "5",
		`-"duplicate address" type:cds`: "3-4",
		`"0.0.0.0:443"`:                 "5",
		"/nack.*443$/":                  "5",
		"dup*443":                       "5",
		`"or"`:                          "",
		"outbound|9080||":               "",
		"kind:nack dir:req code:13 client:gw-0 rule:nack-* duplicate": "5",
	} {
		f := parse(t, text)
		f.Begin(rows[0].Entry.Time, rows[len(rows)-1].Entry.Time)
		var got []Span
		for _, r := range rows {
			if f.Takes(r) {
				got = append(got, Span{r.Entry.Seq, r.Entry.Seq})
			}
		}
		if got := runs(got); got != want {
			t.Errorf("%s takes %q, not %q", text, got, want)
		}
		// Labels tell of every entry that is wanted.
		for _, r := range rows {
			labels := []string{"begins"}
			if r.Change.Type != "" {
				labels = append(labels, TypeLabel+r.Change.Type)
			}
			if r.Change.Client != "" {
				labels = append(labels, ClientLabel+r.Change.Client)
			}
			if !f.Block(labels, false) && f.Takes(r) {
				t.Errorf("%s takes %d, which it does not expect among %q", text, r.Entry.Seq, labels)
			}
		}
		if f.String() != text || f.Empty() != (text == "") {
			t.Errorf("%q is %q, empty: %v", text, f, f.Empty())
		}
	}
}

// runs writes ascending spans as "1-3 7".
func runs(spans []Span) string {
	var words []string
	for _, s := range Union(spans) {
		word := fmt.Sprint(s.First)
		if s.Last > s.First {
			word += fmt.Sprint("-", s.Last)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"type:edss":                       `unknown type "edss" at column 6; did you mean "eds"?`,
		"kind:nack -type:eds,cdss":        `unknown type "cdss" at column 21; did you mean "cds"?`,
		"type:Cluster":                    `unknown type "Cluster" at column 6`,
		"type:/(/":                        `"/(/" is not a regular expression: missing closing ) at column 6`,
		"kind:nak":                        `unknown kind "nak" at column 6; did you mean "nack"?`,
		"kind:nack|ack":                   `unknown kind "nack|ack" at column 6`,
		"what:open":                       `unknown what "open" at column 6`,
		"dir:request":                     `unknown direction "request" at column 5`,
		"dir:rsp":                         `unknown direction "rsp" at column 5; did you mean "resp"?`,
		"sev:err":                         `unknown severity "err" at column 5; did you mean "error"?`,
		"code:unavailible":                `unknown code "unavailible" at column 6; did you mean "unavailable"?`,
		"code:-1":                         `unknown code "-1" at column 6`,
		"variant:sotw-adds":               `unknown variant "sotw-adds" at column 9; did you mean "sotw-ads"?`,
		"variant:x*":                      `unknown variant "x*" at column 9`,
		"tpye:eds":                        `unknown key "tpye" at column 1; did you mean "type"?`,
		"seq:1 -knd:ack":                  `unknown key "knd" at column 8; did you mean "kind"?`,
		"node.localty:eu":                 `unknown key "node.localty" at column 1; did you mean "node.locality"?`,
		"marked:maybe":                    `unknown answer "maybe" at column 8`,
		"12:41":                           `unknown key "12" at column 1`,
		":x":                              `a key is missing before the colon at column 1`,
		"type:":                           `a value is missing at column 6`,
		"type: eds":                       `a value is missing at column 6`,
		"type:eds, cds":                   `a value is missing at column 10`,
		"edge,":                           `a value is missing at column 6`,
		"-":                               `a value is missing at column 2`,
		`client:""`:                       `a value is missing at column 8`,
		"seq:1 or seq:2":                  `unexpected "or" at column 7`,
		"seq:1 AND seq:2":                 `unexpected "and" at column 7`,
		"seq:1 || seq:2":                  `unexpected "||" at column 7`,
		"seq:1 | seq:2":                   `unexpected "|" at column 7`,
		"(seq:1 seq:2)":                   `unexpected "(" at column 1`,
		"( seq:1 )":                       `unexpected "(" at column 1`,
		"seq:1 )":                         `unexpected ")" at column 7`,
		"-(a":                             `unexpected "(" at column 2`,
		`"äöü" kind:"nack`:                `a quote that does not end at column 12`,
		"client:äöü  kind:é,nack":         `unknown kind "é" at column 18`,
		"res:many":                        `"many" is not a number such as 5, a range such as 5..9, or a bound such as >100 at column 5`,
		"res:-5":                          `"-5" is not a number`,
		"res:>":                           `">" is not a number`,
		"res:9..5":                        `"9..5" ends before it begins at column 5`,
		"res:..":                          `".." is not a number`,
		"res:>9223372036854775807":        `is not a number`,
		"size:1X":                         `"1X" is not a size`,
		"size:1i":                         `"1i" is not a size`,
		"size:1e9":                        `"1e9" is not a size`,
		"size:inf":                        `"inf" is not a size`,
		"size:99999999999T":               `is not a size`,
		"size:9223372036854775807":        `is not a size`,
		"size:k":                          `"k" is not a size`,
		"ack:>5":                          `">5" is not a duration`,
		"ack:-5s":                         `"-5s" is not a duration`,
		"since:yesterday":                 `"yesterday" is neither how far back, such as -5m, nor a time`,
		"since:+5m":                       `"+5m" is neither how far back`,
		"since:--5m":                      `"--5m" is neither how far back`,
		"stream:#12":                      `"#12" is not a number`,
		"seq:":                            `a value is missing at column 5`,
		"seq:1,":                          `a value is missing at column 7`,
		"seq:9..4":                        `"9..4" ends before it begins at column 5`,
		"seq:x":                           `"x" is neither a sequence number nor a range such as 4..9 at column 5`,
		"seq:1,0":                         `"0" is neither a sequence number nor a range such as 4..9 at column 7`,
		"at:noon":                         `"noon" is neither a time`,
		"at:..":                           `".." is neither a time`,
		"at:25:00":                        `"25:00" is neither a time`,
		"at:2026-03-10..2026":             `is neither a time`,
		"at:2026-03-10..2026-03-09T01:00": "ends before it begins at column 4",
		`text:"/a{1,2/"`:                  "",
		`text:"/a{2,1}/"`:                 `"/a{2,1}/" is not a regular expression: invalid repeat count at column 6`,
		`name:/b/,/a{1,2}/`:               `a comma ends "/a{1" at column 10`,
		`name:/a{1,2}/`:                   `a comma ends "/a{1" at column 6`,
		`method:/a.b/c,/d`:                "",
		`method:c/,/d`:                    "",
		`"a`:                              `a quote that does not end at column 1`,
		"res:5..0":                        `"5..0" ends before it begins at column 5`,
		"res:<0":                          "",
		"seq:..":                          `".." is neither a sequence number nor a range`,
	} {
		_, err := Parse(text)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), fmt.Sprintf("filter %q: ", text)) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
			continue
		}
		if strings.HasPrefix(e.Message, "unexpected") && !strings.Contains(e.Hint, "a comma between values is or: type:eds,cds") {
			t.Errorf("%s: hint %q", text, e.Hint)
		}
		if strings.HasPrefix(e.Message, "unknown key") && e.Nearest == "" && !strings.HasPrefix(e.Hint, "the keys are client, type, kind, ") {
			t.Errorf("%s: hint %q", text, e.Hint)
		}
	}
	if _, err := Parse("kind:nack|ack"); err.(*Error).Hint != "a comma is or: nack,ack" {
		t.Errorf("%+v", err)
	}
	if _, err := Parse("type:edss"); err.Error() != `filter "type:edss": unknown type "edss" at column 6; did you mean "eds"?` {
		t.Error(err)
	}
}

func TestNeeds(t *testing.T) {
	for text, want := range map[string]Needs{
		"": {},
		"client:x type:cds kind:nack,resp,open -kind:gap seq:4 at:12:41 res:5": {},
		"name:x":                {Content: true},
		"code:ok -client:y":     {Content: true},
		"kind:ack":              {History: true},
		"-what:sub":             {History: true},
		"kind:nack,req":         {History: true},
		"ack:>1s":               {History: true},
		"edge":                  {Summary: true},
		"text:x -edge":          {Body: true, Summary: true},
		"node.id:x":             {Node: true},
		"rule:nack-received":    {Findings: true, History: true},
		"sev:error node.zone:b": {Findings: true, History: true, Node: true},
		"since:-5m":             {End: true},
		"marked:yes type:lds":   {Marks: true},
		"since:12:41":           {},
	} {
		if got := parse(t, text).Needs(); got != want {
			t.Errorf("%s needs %+v, not %+v", text, got, want)
		}
	}
}

// What is costly to make is made only if it decides, and once.
func TestLazy(t *testing.T) {
	rows := story()
	summaries, bodies := 0, 0
	for _, r := range rows {
		r.Summary = func() string { summaries++; return "summary" }
		r.Body = func() string { bodies++; return "body" }
	}
	f := parse(t, "text:body text:od summary -other kind:nack")
	for _, r := range rows {
		f.Takes(r)
	}
	if summaries != 1 || bodies != 1 {
		t.Errorf("%d summaries and %d bodies", summaries, bodies)
	}
	if r := (&Row{Entry: rows[4].Entry, Change: rows[4].Change}); f.Takes(r) {
		t.Error("a row without a body was taken")
	}
}

func TestBlock(t *testing.T) {
	gw := []string{"begins", "type:CDS", "client:gw-0"}
	for text, want := range map[string]struct{ may, labelled bool }{
		"":                         {true, false},
		"client:gw-*":              {true, true},
		"client:web":               {false, true},
		"-client:gw-0":             {true, false},
		"client:web,gw-0":          {true, true},
		"type:eds":                 {false, true},
		"type:cds":                 {true, true},
		"type:eds,cds client:gw-0": {true, true},
		"type:cds client:web":      {false, true},
		"type:*endpoint*":          {true, false},
		"type:" + endpointURL:      {true, false},
		"type:eds,*endpoint*":      {true, false},
		"kind:ack client:/^web/":   {false, true},
		"seq:4..9 name:x":          {true, false},
	} {
		f := parse(t, text)
		if may, labelled := f.Block(gw, false), f.Labelled(); may != want.may || labelled != want.labelled {
			t.Errorf("%s: %v, labelled: %v", text, may, labelled)
		}
		if !f.Block(nil, false) || !f.Block(nil, true) || !f.Block([]string{"type:LDS"}, true) {
			t.Errorf("%s is sure of what it cannot know", text)
		}
	}
}

func TestKeysAndValues(t *testing.T) {
	for _, k := range Keys() {
		if k.Name == "" || k.Form == "" || k.About == "" {
			t.Errorf("%+v", k)
		}
		values := Values(k.Name)
		if (k.Form == "WORD") != (len(values) > 0) {
			t.Errorf("%s takes a %s of %q", k.Name, k.Form, values)
		}
		for _, v := range values {
			parse(t, k.Name+":"+v)
			if v != strings.ToLower(v) {
				t.Errorf("%s: %q", k.Name, v)
			}
		}
	}
	if !slices.Contains(Values("type"), "eds") || Values("name") != nil || Values("nothing") != nil {
		t.Errorf("%q", Values("type"))
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "client:gw-* type:eds,cds -kind:ack", "kind:nack", "name:outbound|9080*", "version:88 nonce:c4 dir:req",
		"res:>100 size:>1M ack:>500ms since:-5m at:12:41..12:43 seq:4100..4120", "stream:12 code:unavailable",
		"rule:nack-immediate-resend sev:error", `text:"duplicate address" node.locality:eu-* edge -healthcheck`,
		"type:edss", "a or b", "(a", `"a b":c`, "-:,", "name:/a(b/", "name:*a**b*", "since:12:41", "size:1.5KiB..2G", "conn:..9",
		`at:"2026-03-10T00:00:00.5Z",12:41 seq:4`, "type:*.v3.* method:/x/ variant:*", "é:ä,ö", "client:Ä*É",
	} {
		f.Add(s)
	}
	rows := story()
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Text != text || e.Message == "" || e.Column < 1 || e.Column > len([]rune(text))+1 {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		p.Begin(rows[0].Entry.Time, rows[len(rows)-1].Entry.Time)
		spans, err := p.Spans(findIn(rows))
		if err != nil {
			t.Fatal(err)
		}
		over := false
		for _, r := range rows {
			if p.Takes(r) {
				if over {
					t.Fatalf("%q takes entry %d after its end", text, r.Entry.Seq)
				}
				if !slices.ContainsFunc(spans, func(s Span) bool { return s.Has(r.Entry.Seq) }) {
					t.Fatalf("%q takes entry %d outside of %v", text, r.Entry.Seq, spans)
				}
				if !p.Block([]string{TypeLabel + r.Change.Type, ClientLabel + r.Change.Client}, false) {
					t.Fatalf("%q takes entry %d in spite of its labels", text, r.Entry.Seq)
				}
			}
			over = over || p.Over(r.Entry)
		}
	})
}

func BenchmarkTakes(b *testing.B) {
	rows := story()
	for _, text := range []string{
		"client:gw-* type:eds,cds -kind:ack", "name:outbound|9080*", "res:>100 size:>1M ack:>500ms", "at:12:41..12:43 -seq:4100..4120",
		"code:unavailable,13", "node.locality:eu-*", "rule:nack-* sev:error", "edge -healthcheck", "type:*.v3.Cluster", "name:/review/",
		"method:StreamAggregatedResources variant:*-ads dir:req stream:12 conn:1 version:8* nonce:c4",
	} {
		b.Run(text, func(b *testing.B) {
			f := parse(b, text)
			f.Begin(rows[0].Entry.Time, rows[len(rows)-1].Entry.Time)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				f.Takes(rows[i%len(rows)])
			}
		})
	}
}

// Nothing is allocated for an entry, whatever the key, but to see of what the
// resources in it were made.
func TestTakesAllocatesNothing(t *testing.T) {
	rows := story()
	for _, k := range Keys() {
		if k.Name == "source" {
			continue
		}
		value := map[string]string{
			"WORD": "", "TEXT": "*a*", "NUMBER": "5", "SIZE": ">1M", "DURATION": ">1s", "TIME": "12:41",
		}[k.Form]
		if k.Form == "WORD" {
			value = strings.Join(Values(k.Name), ",")
		}
		f := parse(t, "-"+k.Name+":"+value)
		f.Begin(time.Time{}, time.Time{})
		if n := testing.AllocsPerRun(10, func() {
			for _, r := range rows {
				f.Takes(r)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", f, n)
		}
	}
}
