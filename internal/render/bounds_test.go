package render

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/catalogue"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// Addresses of servers are remembered up to a bound, and those of connections that went
// before anything of them was drawn are not.
func TestPeersOfALadderAreBounded(t *testing.T) {
	l := NewLadder()
	connect := func(conn session.ConnID) {
		l.See(&session.Entry{Conn: conn, Kind: session.KindConnect, Peer: &session.Peer{Upstream: fmt.Sprint("server ", conn)}}, &check.Change{})
	}
	for i := range maxLadderPeers - 1 {
		l.peers[session.ConnID(1000+i)] = ""
	}
	for _, conn := range []session.ConnID{1, 2} {
		connect(conn)
		if _, kept := l.peers[conn]; kept != (conn == 1) || len(l.peers) != maxLadderPeers {
			t.Errorf("connection %d is remembered: %t, of %d", conn, kept, len(l.peers))
		}
	}
	l = NewLadder()
	connect(1)
	connect(2)
	l.See(&session.Entry{Conn: 1, Kind: session.KindDisconnect}, &check.Change{})
	e := &session.Entry{Conn: 2, Kind: session.KindHalfClose, Side: session.Client}
	l.See(e, &check.Change{})
	if _, kept := l.peers[1]; kept || len(l.peers) != 1 {
		t.Errorf("of one that went there is %v", l.peers)
	}
	if l.Add(e, &check.Change{}); l.server != "server 2" {
		t.Errorf("the server is %q", l.server)
	}
}

// What may stand in a diagram of Mermaid as it is, and what becomes the number of its
// character.
func TestMermaidText(t *testing.T) {
	for text, want := range map[string]string{
		"": "-", "azAZ09": "azAZ09", "`{@[:/": "#96;#123;#64;#91;#58;/", "a,b": "a,b", ",b": "#44;b", "a-b": "a-b", "-b": "#45;b",
		"a--b": "a#45;#45;b", "end": "#101;nd", "END": "#69;ND", "en": "en", "bend": "bend", "¡é": "¡é",
	} {
		if got := MermaidText(text); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
}

// Clients that say what they hold stand below the matrix of those that asked, where there is
// one.
func TestStandingOfNobody(t *testing.T) {
	s := NewStanding(nil, 0, time.Time{})
	if text := s.Text(Style{}, 0); text != "" {
		t.Errorf("of nobody it says %q", text)
	}
	s.Holding = []Holding{{Client: "n1"}}
	if text := s.Text(Style{}, 0); text != s.Holding[0].text()+"\n" {
		t.Errorf("of one that asked for nothing it says %q", text)
	}
}

// Types of which nothing is in use are not counted.
func TestCountsOfWhatIsHeld(t *testing.T) {
	for want, h := range map[string]*holding{
		"nothing":                    {inUse: map[string]int{"CDS": 0}},
		"1 CDS":                      {inUse: map[string]int{"CDS": 1, "LDS": 0}},
		"1 static":                   {static: 1},
		"1 LDS, 1,000 CDS, 2 static": {inUse: map[string]int{"CDS": 1000, "LDS": 1}, static: 2},
	} {
		if got := h.counts(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The last entry of a finding is told where it came again, and is not told already.
func TestWhereAFindingIs(t *testing.T) {
	for _, v := range []struct {
		f    Finding
		want string
	}{
		{Finding{Count: 1, Seqs: []uint64{5}, LastSeq: 9}, "entry 5"},
		{Finding{Count: 2, Seqs: []uint64{5}, LastSeq: 9}, "entry 5, last 9"},
		{Finding{Count: 2, Seqs: []uint64{5}}, "entry 5"},
		{Finding{Count: 2, Seqs: []uint64{5, 9}, LastSeq: 9}, "entries 5, 9"},
		{Finding{Count: 1, Seqs: []uint64{1, 2, 3, 4, 5, 6}}, "entries 1, 2, 3, 4, 5, 6"},
		{Finding{Count: 1, Seqs: []uint64{1, 2, 3, 4, 5, 6, 7}}, "entries 1, 2, 3, 4, 5, … 7"},
		{Finding{Count: 1, Seqs: []uint64{5}, Lines: []int{3}, LastLine: 3}, "line 3 (entry 5)"},
		{Finding{Count: 1, Seqs: []uint64{5}, Lines: []int{3}, LastLine: 4}, "line 3, last 4 (entry 5)"},
		{Finding{Count: 1, Seqs: []uint64{5}, Lines: []int{3, 4}}, "lines 3, 4 (entry 5)"},
	} {
		if got := v.f.Where(); got != v.want {
			t.Errorf("%q, want %q", got, v.want)
		}
	}
}

// A text goes on below where the screen ends, and begins there with a word.
func TestHang(t *testing.T) {
	table := Table{screen: 60}
	a := strings.Repeat("a", 49)
	indent := "\n" + strings.Repeat(" ", 10)
	for text, want := range map[string]string{
		a:                              a,
		a + "b":                        a + "b",
		a[:47] + " b":                  a[:47] + " b",
		a[:47] + " b c":                a[:47] + " b" + indent + "c",
		a[:46] + " b c d":              a[:46] + " b c" + indent + "d",
		a + "   x":                     a + " " + indent + "x",
		a + "b c":                      a + "b" + indent + "c",
		a + "bc d":                     indent + a + "bc" + indent + "d",
		a + "b  " + a + "b":            a + "b" + indent + a + "b",
		strings.Repeat("b ", 30) + "c": strings.TrimSuffix(strings.Repeat("b ", 25), " ") + indent + strings.Repeat("b ", 5) + "c",
	} {
		got, width := table.hang(text, 10)
		last := got[strings.LastIndex(got, "\n")+1:]
		if last == got {
			last = strings.Repeat(" ", 10) + got
		}
		if got != want || width != Width(last) {
			t.Errorf("%q\nbecomes %q of %d,\nnot     %q", text, got, width, want)
		}
	}
}

// Of an item that moved and changed its first line says from where, and which one it is
// where the line does not.
func TestDiffTextOfWhatMovedAndChanged(t *testing.T) {
	for _, v := range [][2]string{
		{`{"name":"b","v":%d}`, `  - name: b  [moved from [1]]
-   v: 1
+   v: 2
  - name: "y"
- - name: b  [moved to [0]]
-   v: 1
`},
		{`{"a":{"x":1},"name":"b","v":%d}`, `  - a:  [moved from [1], name=b]
      ...  [2 lines equal]
-   v: 1
+   v: 2
  - name: "y"
- - a:  [moved to [0]]
-   ...  [3 lines equal]
`},
		{`{"a":%d,"name":"b"}`, `- - a: 1  [moved from [1], name=b]
+ - a: 2
    ...  [2 lines equal]
- - a: 1  [moved to [0]]
-   name: b
`},
	} {
		was, is := fmt.Sprintf(v[0], 1), fmt.Sprintf(v[0], 2)
		r := diff.Compare(treeOfJSON(t, `{"l":[{"name":"y"},`+was+`]}`), treeOfJSON(t, `{"l":[`+is+`,{"name":"y"}]}`), diff.Options{})
		if got := diffText(r, 0); got != "  l:\n"+v[1] {
			t.Errorf("%s:\n%s", v[0], got)
		}
	}
}

// The resources of a response are compared with those before up to a number.
func TestContentsOfALadderAreBounded(t *testing.T) {
	var last string
	of := func(n, content int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf("c%d#%d", i, content)
		}
		return strings.Join(all, ",")
	}
	for _, v := range []struct {
		n    int
		want string
	}{{maxLadderResources, fmt.Sprintf("%d res, %d changed", maxLadderResources, maxLadderResources)}, {maxLadderResources + 1, fmt.Sprintf("%d res", maxLadderResources+1)}} {
		_, last = ladderOf(t, fmt.Sprintf("C> type=CDS V= N= R=[] node=gw\nS< type=CDS V=1 N=a res=[%s]\nS< type=CDS V=2 N=b res=[%s]\n", of(v.n, 1), of(v.n, 2))).Last()
		if !strings.HasSuffix(last, v.want) {
			t.Errorf("%d resources: %q", v.n, last)
		}
	}
}

// A list of rules is wrapped where there is room for words beside the names.
func TestRuleListInColumns(t *testing.T) {
	rules := []*check.Rule{{ID: "a-rule", Text: catalogue.Text{Group: "g", Title: "it is as it should not be"}}}
	const names = len("  ! ") + 38 + 1
	for columns, lines := range map[int]int{0: 2, names + namesWidth: 2, names + namesWidth + 1: 4, names + 12: 4, 120: 2} {
		if got := strings.Count(RuleList(rules, Style{}, columns), "\n"); got != lines {
			t.Errorf("in %d columns it has %d lines, not %d:\n%s", columns, got, lines, RuleList(rules, Style{}, columns))
		}
	}
}

// Below a client stand the first resources that are not in effect, and how many more there
// are, and how often it rejected a type.
func TestReasonsBelowAClient(t *testing.T) {
	for _, v := range []struct{ behind, more, named, others int }{
		{0, 0, 0, 0}, {5, 0, 5, 0}, {6, 0, 5, 1}, {5, 1, 5, 1}, {6, 3, 5, 4},
	} {
		c := ClientStatus{of: &engine.ClientStatus{}, effect: effect.Standing{More: v.more}}
		for i := range v.behind {
			c.effect.Behind = append(c.effect.Behind, effect.Effect{Type: "CDS", Name: fmt.Sprint("c", i), State: effect.Absent})
		}
		var b strings.Builder
		c.reasons(&b, Style{}, 0)
		want := ""
		if v.others > 0 {
			want = fmt.Sprintf("    not in effect: %d more; tree names all\n", v.others)
		}
		if text := b.String(); !strings.HasSuffix(text, want) || strings.Count(text, "\n") != v.named+min(v.others, 1) {
			t.Errorf("%+v:\n%s", v, text)
		}
	}
	for nacks, want := range map[int]string{1: "    CDS: rejected 2 (entry 9): bad\n", 2: "    CDS: rejected 2, 2 times in a row (entry 9): bad\n"} {
		c := ClientStatus{of: &engine.ClientStatus{Types: []engine.TypeStatus{{Type: "CDS", State: engine.Nacked, Nacks: nacks, Rejected: "2", NackSeq: 9, Nack: "bad"}}}}
		var b strings.Builder
		if c.reasons(&b, Style{}, 0); b.String() != want {
			t.Errorf("%d times: %q", nacks, b.String())
		}
	}
}

// A line of what changed has the path of it.
func TestPathsOfADiff(t *testing.T) {
	r := diff.Compare(treeOfJSON(t, `{"a":1,"b":{"c":[{"name":"x","v":1}],"d":1},"e":1}`), treeOfJSON(t, `{"a":2,"b":{"c":[{"name":"x","v":2},{"name":"y"}],"d":1}}`), diff.Options{})
	var got []string
	for l := range DiffLines(r, -1) {
		got = append(got, fmt.Sprintf("%c %s | %s %d", l.Sign, l.Text, l.Path, l.Change))
	}
	const want = `- a: 1 | a 1
+ a: 2 | a 1
  b: | b 0
  c: | b.c 0
  - name: x | b.c[name=x] 0
- v: 1 | b.c[name=x].v 2
+ v: 2 | b.c[name=x].v 2
+ - name: "y" | b.c[name=y] 3
  d: 1 | b 0
- e: 1 | e 4`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// The messages of a stream are counted, but not where some of them were left out on purpose:
// a gap that names very many streams may have touched all.
func TestCountOfMessagesWhereSomeWereLeftOut(t *testing.T) {
	others := func(n int) (out []session.StreamID) {
		for i := range n {
			out = append(out, session.StreamID(1000+i))
		}
		return out
	}
	for i, v := range []struct {
		gap  *session.Gap
		told bool
	}{
		{nil, true},
		{&session.Gap{Cause: session.Cut, Streams: []session.StreamID{1}}, false},
		{&session.Gap{Cause: session.Cut, Streams: []session.StreamID{2}}, true},
		{&session.Gap{Cause: session.Lost, Streams: []session.StreamID{1}}, true},
		{&session.Gap{Cause: session.Cut, Streams: others(gapStreams - 1)}, true},
		{&session.Gap{Cause: session.Cut, Streams: others(gapStreams)}, false},
	} {
		table, c := NewTable(0, Style{}), &check.Change{}
		var summary string
		for _, e := range []session.Entry{
			{Conn: 1, Stream: 1, Kind: session.KindOpen},
			{Conn: 1, Stream: 1, Kind: session.KindMessage},
			{Conn: 1, Stream: 1, Kind: session.KindMessage},
			{Kind: session.KindGap, Gap: v.gap},
			{Conn: 1, Stream: 1, Kind: session.KindTrailer, Status: &session.Status{}},
		} {
			table.See(&e, c)
			summary = table.Summary(&e, c)
		}
		if strings.Contains(summary, "2 msgs") != v.told || strings.Contains(summary, "msg") != v.told {
			t.Errorf("%d: %s", i, summary)
		}
	}
}

// Causes are remembered up to a bound; with one more all are told from the beginning.
func TestCausesThatWereToldAreBounded(t *testing.T) {
	var o Others
	rule := check.Rules()[0]
	keep := func(cause int, want bool) {
		t.Helper()
		if got := o.Keep(&check.Finding{Rule: rule, Cause: cause}, time.Unix(9, 0)); got != want {
			t.Errorf("cause %d is kept: %v", cause, got)
		}
	}
	for cause := range maxToldCauses {
		keep(cause+1, false)
	}
	keep(1, true)
	keep(maxToldCauses, true)
	keep(maxToldCauses+1, false)
	keep(1, false)
	keep(maxToldCauses+1, true)
}

// What a rule found is explained with how often it came, where that is more than once.
func TestExplainFinding(t *testing.T) {
	for _, v := range []struct {
		f    check.Finding
		seen string
		look FactLook
	}{
		{check.Finding{Severity: check.Info, Count: 1}, "entry 5", FactMuted},
		{check.Finding{Severity: check.Warning, Count: 2}, "entry 5, 2 times", FactBad},
		{check.Finding{Severity: check.Error, Count: 3}, "entry 5, 3 times", FactBad},
	} {
		v.f.Rule, v.f.Seqs = check.Rules()[0], []session.Seq{5}
		if all := ExplainFinding(&v.f); all[2].Text != v.seen || all[0].Look != v.look || all[0].Text != v.f.Rule.ID {
			t.Errorf("%+v", all)
		}
	}
}

// Of a message that was truncated it is said how much was kept, if that is less.
func TestTruncated(t *testing.T) {
	for size, want := range map[int64]string{4: "[truncated]", 5: "[truncated]", 6: "[truncated: 5 B of 6 B kept]"} {
		e := &session.Entry{Kind: session.KindMessage, Message: &session.Message{Truncated: true, Size: size, Data: session.Chunks{make([]byte, 5)}}}
		if got := Describe(e, &check.Change{}, 80, nil); got != want {
			t.Errorf("%d bytes: %q", size, got)
		}
		if got := Describe(e, &check.Change{}, 0, nil); got != "" {
			t.Errorf("without room: %q", got)
		}
	}
}

// Who a client is stands in the words of the first message of a stream that says it.
func TestWordsTellOnceWhoItIs(t *testing.T) {
	const silent, says = "C> type=CDS V= N= R=[]\n", "C> type=CDS V= N= R=[] node=gw ua=envoy/1.30.0\n"
	for text, want := range map[string]string{
		says + says:                            "envoy -",
		silent + says + says:                   "- envoy -",
		says + "-- stream 2\n" + says + says:   "envoy envoy -",
		silent + silent + says + silent + says: "- - envoy - -",
	} {
		s, err := script.Parse("words.xds", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		k, table := check.NewTracker(nil), NewTable(0, Style{})
		var got []string
		for e := range s.Entries() {
			c := k.Step(&e)
			table.See(&e, &c)
			words := table.Words(&e, &c)
			switch {
			case e.Kind != session.KindMessage:
			case strings.Contains(words, "envoy 1.30.0"):
				got = append(got, "envoy")
			default:
				got = append(got, "-")
			}
		}
		if told := strings.Join(got, " "); told != want {
			t.Errorf("%s is told as %q, not %q", text, told, want)
		}
	}
}
