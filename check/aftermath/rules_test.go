package aftermath_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/session"
)

// story is a conversation, and all that one rule says of it: the entries and the words.
type story struct {
	text string
	// gap says that the first tick stands for something that was not seen of stream 1.
	gap  bool
	want []string
}

func (s story) run(t *testing.T, rule string) {
	t.Helper()
	parsed, err := script.Parse("test", []byte(strings.TrimSpace(s.text)+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	k, gap := check.NewChecker(check.Options{}), s.gap
	for e := range parsed.Entries() {
		if gap && e.Kind == session.KindTime {
			e = session.Entry{Seq: e.Seq, Time: e.Time, Kind: session.KindGap, Gap: &session.Gap{Streams: []session.StreamID{1}}}
			gap = false
		}
		k.Step(&e)
	}
	var got []string
	for _, f := range k.Findings() {
		if f.Rule.ID == rule {
			got = append(got, fmt.Sprintf("%d %v %v %s", f.Count, f.Seqs, f.Names, f.Message))
		}
	}
	if !slices.Equal(got, s.want) {
		t.Errorf("found %q, want %q", got, s.want)
	}
}

// What is rejected is worth a word if nothing better came for five minutes, counted
// from the rejection, and if it is known that the client still wants it.
func TestUnresolved(t *testing.T) {
	const rejected = `
C> type=EDS V= N= R=[e1] node=n1
S< type=EDS V=1 N=a res=[e1#bad]
C> type=EDS V= N=a R=[e1] err="no locality"
`
	const again = rejected + `
t=+200s S< type=EDS V=2 N=b res=[e1#worse]
C> type=EDS V= N=b R=[e1] err="no endpoint"
`
	const word = "what was rejected is the newest there is, 5m later: "
	for name, s := range map[string]story{
		"in time":             {text: rejected + "t=+300s -- tick"},
		"too late":            {text: rejected + "t=+300.000001s -- tick", want: []string{`1 [5 6] [] ` + word + `"no locality"`}},
		"said once":           {text: rejected + "t=+301s -- tick\nt=+301s -- tick", want: []string{`1 [5 6] [] ` + word + `"no locality"`}},
		"once more, in time":  {text: again + "t=+300s -- tick"},
		"once more, too late": {text: again + "t=+300.000001s -- tick", want: []string{`1 [7 8] [] ` + word + `"no endpoint"`}},
		"rejected after it was said": {text: rejected + `
t=+301s -- tick
S< type=EDS V=2 N=b res=[e1#worse]
C> type=EDS V= N=b R=[e1] err="no endpoint"
t=+301s -- tick`, want: []string{`2 [5 6] [] ` + word + `"no locality"`}},
		"mended": {text: rejected + `
S< type=EDS V=2 N=b res=[e1#good]
C> type=EDS V=2 N=b R=[e1]
t=+301s -- tick`},
		"mended, and rejected later": {text: rejected + `
t=+100s S< type=EDS V=2 N=b res=[e1#good]
C> type=EDS V=2 N=b R=[e1]
t=+201s -- tick
S< type=EDS V=3 N=c res=[e1#bad]
C> type=EDS V=2 N=c R=[e1] err="again"
t=+301s -- tick`, want: []string{`1 [10 11] [] ` + word + `"again"`}},
		"not judged yet": {text: rejected + "t=+1s S< type=EDS V=2 N=b res=[e1#better]\nt=+301s -- tick"},
		"given up":       {text: rejected + "t=+1s C> type=EDS V= N=a R=[]\nt=+301s -- tick"},
		"ended":          {text: rejected + "-- server-end code=14\nt=+301s -- tick"},
		"not all seen":   {text: rejected + "-- tick\nt=+301s -- tick", gap: true},
		"exempt": {text: `
C> type=type.googleapis.com/istio.v1.HealthInformation V= N= R=[e1] node=n1
S< type=type.googleapis.com/istio.v1.HealthInformation V=1 N=a res=[]
C> type=type.googleapis.com/istio.v1.HealthInformation V= N=a R=[e1] err="ill"
t=+301s -- tick`},
	} {
		t.Run(name, func(t *testing.T) { s.run(t, "nack-unresolved") })
	}
}

// What had been replaced, and is there again with the first response after a
// reconnect, was lost by the server. It is not told where it may be on purpose, where
// it is not known who is spoken to, and of endpoints, which come and go.
func TestReverted(t *testing.T) {
	conversation := func(node, typ, want, before, then, after string) string {
		return strings.NewReplacer("NODE", node, "TYPE", typ, "WANT", want, "BEFORE", before, "THEN", then, "AFTER", after).Replace(`
C> type=TYPE V= N= R=[WANT] NODE
S< type=TYPE V=1 N=a res=[BEFORE]
C> type=TYPE V=1 N=a R=[WANT]
S< type=TYPE V=2 N=b res=[THEN]
C> type=TYPE V=2 N=b R=[WANT]
-- server-end code=14
t=+1s -- stream 2
C> type=TYPE V=2 N= R=[WANT] NODE
S< type=TYPE V=3 N=a res=[AFTER]
`)
	}
	clusters := func(before, then, after string) string {
		return conversation("node=n1", "CDS", "", before, then, after)
	}
	const one = `1 [7 14] [c1] after the reconnect "c1" is again as it was before entry 7 replaced it`
	for name, s := range map[string]story{
		"one":               {text: clusters("c1#1", "c1#2", "c1#1"), want: []string{one}},
		"one of two":        {text: clusters("c1#1,c2#1", "c1#2,c2#1", "c1#1,c2#1"), want: []string{one}},
		"the other is new":  {text: clusters("c1#1,c2#1", "c1#2,c2#2", "c1#1,c2#3"), want: []string{one}},
		"two":               {text: clusters("c1#1,c2#1", "c1#2,c2#2", "c1#1,c2#1"), want: []string{`1 [7 14] [c1 c2] after the reconnect "c1", "c2" are each again as it was before entry 7 replaced it`}},
		"the name of other": {text: clusters("c1#1,c2#1", "c1#2,c2#1", "c1#2,c2#2")},
		"something new":     {text: clusters("c1#1", "c1#2", "c1#3")},
		"nothing":           {text: clusters("c1#1", "c1#2", "c1#2")},
		"never replaced":    {text: clusters("c1#1", "c1#1", "c1#2")},
		"no node":           {text: conversation(`node=""`, "CDS", "", "c1#1", "c1#2", "c1#1")},
		"endpoints":         {text: conversation("node=n1", "EDS", "c1", "c1#1", "c1#2", "c1#1")},
		"routes":            {text: conversation("node=n1", "RDS", "c1", "c1#1", "c1#2", "c1#1"), want: []string{one}},
		"of another type":   {text: conversation("node=n1", "networking.istio.io/v1alpha3/ServiceEntry", "", "w:x#1(type=istio.mcp.v1alpha1.Resource)", "w:x#2(type=istio.mcp.v1alpha1.Resource)", "w:x#1(type=istio.mcp.v1alpha1.Resource)")},
		"exempt":            {text: conversation("node=n1", "istio.io/debug/syncz", "", "CDS:c1#1", "CDS:c1#2", "CDS:c1#1")},
		"variants":          {text: conversation("node=n1", "CDS", "", "c1#1(variant=x)", "c1#2(variant=x)", "c1#1(variant=x)")},
		"on one stream": {text: `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1#1]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=2 N=b res=[c1#2]
C> type=CDS V=2 N=b R=[]
S< type=CDS V=3 N=c res=[c1#1]`},
		"with the second": {text: clusters("c1#1", "c1#2", "c1#2") + `
C> type=CDS V=3 N=a R=[]
S< type=CDS V=4 N=b res=[c1#1]`},
		"replaced twice": {text: `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1#1]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=2 N=b res=[c1#2]
C> type=CDS V=2 N=b R=[]
S< type=CDS V=3 N=c res=[c1#1]
C> type=CDS V=3 N=c R=[]
S< type=CDS V=4 N=d res=[c1#2]
C> type=CDS V=4 N=d R=[]
-- server-end code=14
t=+1s -- stream 2
C> type=CDS V=4 N= R=[] node=n1
S< type=CDS V=5 N=a res=[c1#1]`, want: []string{`1 [11 18] [c1] after the reconnect "c1" is again as it was before entry 11 replaced it`}},
	} {
		t.Run(name, func(t *testing.T) { s.run(t, "reconnect-content-reverted") })
	}
}

// Another server than before that sends something else for the same wishes is told of
// where all of a type is sent, once the stream to the one before has ended.
func TestFallback(t *testing.T) {
	conversation := func(node, typ, want, first, end, second, then, want2 string) string {
		return strings.NewReplacer("NODE", node, "TYPE", typ, "WANT2", want2, "WANT", want, "FIRST", first, "END", end, "SECOND", second, "THEN", then).Replace(`
-- stream 1 server=10.0.0.1:1
C> type=TYPE V= N= R=[WANT] NODE
S< type=TYPE V=1 N=a res=[FIRST]
C> type=TYPE V=1 N=a R=[WANT]
END
t=+1s -- stream 2 server=SECOND
C> type=TYPE V=1 N= R=[WANT2] NODE
S< type=TYPE V=7 N=a res=[THEN]
`)
	}
	const end, other = "-- server-end code=14", "10.0.0.2:1"
	clusters := func(first, then string) string {
		return conversation("node=n1", "CDS", "", first, end, other, then, "")
	}
	word := func(typ, there string) []string {
		return []string{"1 [5 12] [] " + typ + ` from 10.0.0.2:1 has other content than that of 10.0.0.1:1 before: ` + there}
	}
	const mcp, plain = "networking.istio.io/v1alpha3/ServiceEntry", "(type=istio.mcp.v1alpha1.Resource)"
	for name, s := range map[string]story{
		"other content":   {text: clusters("c1#1", "c1#2"), want: word("CDS", "1 resource, and 1 there")},
		"more":            {text: clusters("c1#1", "c1#1,c2"), want: word("CDS", "2 resources, and 1 there")},
		"nothing":         {text: clusters("c1#1,c2", ""), want: word("CDS", "0 resources, and 2 there")},
		"the same":        {text: clusters("c1#1,c2", "c2,c1#1")},
		"twice":           {text: clusters("c1#1", "c1#1,c1#1"), want: word("CDS", "2 resources, and 1 there")},
		"the same server": {text: conversation("node=n1", "CDS", "", "c1#1", end, "10.0.0.1:1", "c1#2", "")},
		"at once":         {text: conversation("node=n1", "CDS", "", "c1#1", "", other, "c1#2", "")},
		"by name":         {text: conversation("node=n1", "LDS", "l1", "l1#1", end, other, "l1#2", "l1"), want: word("LDS", "1 resource, and 1 there")},
		"other names":     {text: conversation("node=n1", "LDS", "l1", "l1#1", end, other, "l1#2", "l1,l2")},
		"part of a type":  {text: conversation("node=n1", "EDS", "e1", "e1#1", end, other, "e1#2", "e1")},
		"no node":         {text: conversation(`node=""`, "CDS", "", "c1#1", end, other, "c1#2", "")},
		"nameless":        {text: clusters(`c1#1,CDS:""#1`, "c1#2")},
		"heartbeats":      {text: clusters("c1#1", "c1#2,hb:c2@7~10s")},
		"of another type": {text: conversation("node=n1", mcp, "", "w:x#1"+plain, end, other, "w:x#2"+plain, "")},
		"exempt":          {text: conversation("node=n1", "istio.io/debug/syncz", "", "CDS:c1#1", end, other, "CDS:c1#2", "")},
		"delta": {text: `
-- stream 1 server=10.0.0.1:1
D> type=CDS N= sub=[] node=n1
d< type=CDS N=a res=[c1@1#1]
D> type=CDS N=a sub=[]
-- server-end code=14
t=+1s -- stream 2 server=10.0.0.2:1
D> type=CDS N= sub=[] init={c1:1} node=n1
d< type=CDS N=a res=[c1@2#2]`},
		"what was sent last": {text: `
-- stream 1 server=10.0.0.1:1
C> type=LDS V= N= R=[l1] node=n1
S< type=LDS V=1 N=a res=[l1#1]
C> type=LDS V=1 N=a R=[l1,l2]
S< type=LDS V=2 N=b res=[l1#2]
C> type=LDS V=2 N=b R=[l1]
-- server-end code=14
t=+1s -- stream 2 server=10.0.0.2:1
C> type=LDS V=2 N= R=[l1,l2] node=n1
S< type=LDS V=7 N=a res=[l1#2]
C> type=LDS V=7 N=a R=[l1]
S< type=LDS V=8 N=b res=[l1#2]`, want: []string{`1 [5 16] [] LDS from 10.0.0.2:1 has other content than that of 10.0.0.1:1 before: 1 resource, and 1 there`}},
	} {
		t.Run(name, func(t *testing.T) { s.run(t, "fallback-server-differs") })
	}
}
