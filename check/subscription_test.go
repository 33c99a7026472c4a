package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
)

// judgeText holds a conversation against all rules.
func judgeText(t *testing.T, text string) []check.Finding {
	t.Helper()
	return judgeScript(t, parsed(t, text), everyRule(t))
}

// of picks the findings of a rule.
func of(found []check.Finding, id string) (out []check.Finding) {
	for _, f := range found {
		if f.Rule.ID == id {
			out = append(out, f)
		}
	}
	return out
}

// A server that never answers for some names is found out once for each name,
// however often the client reconnects and whatever else it asks for.
func TestUnansweredOncePerName(t *testing.T) {
	var text strings.Builder
	for i, names := range []string{"a,b", "a,b,c", "b,a", "c"} {
		fmt.Fprintf(&text, "-- stream %d\nD> type=EDS N= sub=[%s] node=n1\nt=+16s -- server-end code=14\n", i+1, names)
	}
	found := of(judgeText(t, text.String()), "delta-subscribe-unanswered")
	if len(found) != 2 {
		t.Fatalf("%s", words(found))
	}
	for i, want := range []struct {
		names string
		count int
	}{{"a b", 3}, {"c", 2}} {
		if got := found[i]; strings.Join(got.Names, " ") != want.names || got.Count != want.count {
			t.Errorf("%v %d times, want %v", got.Names, got.Count, want)
		}
	}
}

// What is wrong in the same way again is counted, not told again.
func TestRepeatsAreCounted(t *testing.T) {
	for id, text := range map[string]string{
		"unrequested-resource": "C> type=EDS V= N= R=[e1] node=n1\n" +
			"S< type=EDS V=1 N=a res=[e1,e2,e3,e4]\nS< type=EDS V=2 N=b res=[e1,e5#2,e3,e4]\n",
		"cleared-list-treated-as-wildcard": "C> type=CDS V= N= R=[c1] node=n1\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V=1 N=a R=[]\n" +
			"t=+3s S< type=CDS V=2 N=b res=[c1#2]\nt=+3s S< type=CDS V=3 N=c res=[c2]\n",
		"request-bad-names":     "C> type=EDS V= N= R=[e1,e1] node=n1\nC> type=EDS V= N= R=[e2,e2]\n",
		"initial-versions-late": "D> type=CDS N= sub=[] node=n1\nD> type=CDS N= sub=[] init={c1:1}\nD> type=CDS N= sub=[] init={c2:1}\n",
		"rest-implicit-nack":    strings.Repeat("P> path=/v3/discovery:clusters type=CDS V=1 node=n1\np< 200 type=CDS V=2 res=[c1]\n", 3),
		"lrs-protocol":          "L> node=n1\nl< clusters=[c1] interval=10s\nt=+10s L> stats=[c2]\nt=+10s L> stats=[c3]\n",
		"file-not-moved":        "F: write cds.yaml type=CDS V=1 res=[c1]\nF: write cds.yaml type=CDS V=2 res=[c2]\n",
	} {
		found := of(judgeText(t, text), id)
		if len(found) != 1 || found[0].Count != 2 {
			t.Errorf("%s: %s", id, words(found))
		}
	}
}

// A finding about a client that tells of itself names the client, and the
// stream that says otherwise.
func TestDivergenceNamesTheClient(t *testing.T) {
	found := of(judgeText(t, "C> type=CDS V= N= R=[c1,c2] node=n1\nS< type=CDS V=1 N=a res=[c1,c2]\nC> type=CDS V=1 N=a R=[c1,c2]\n"+
		"t=+11s -- csds node=n1 CDS/c1=NACKED@1 CDS/c2=NACKED@1\n"), "csds-divergence")
	if len(found) != 1 || found[0].Client != "n1" || found[0].Type != "CDS" || len(found[0].Names) != 2 || found[0].Stream != 1 {
		t.Errorf("%+v", found)
	}
}

// A client that drops a long list with each ACK is found out, although not
// every name of it is remembered.
func TestFlapOfALongList(t *testing.T) {
	var list strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&list, "%se%d", ","[:min(i, 1)], i)
	}
	text := "C> type=EDS V= N= R=[" + list.String() + "] node=n1\nS< type=EDS V=1 N=a res=[e1]\n" +
		strings.Repeat("C> type=EDS V=1 N=a R=[]\nC> type=EDS V=1 N=a R=["+list.String()+"]\n", 3)
	if found := of(judgeText(t, text), "subscription-flap"); len(found) != 1 || found[0].Count != 1 {
		t.Errorf("%s", words(found))
	}
}
