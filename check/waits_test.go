package check_test

import (
	"fmt"
	"strings"
	"testing"
)

// named returns n names.
func named(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(prefix, i)
	}
	return out
}

// Very many names that wait for an answer cost no more than as many answers:
// were it by the square, this would take minutes.
func TestManyNamesAwaited(t *testing.T) {
	const n = 20_000
	var text strings.Builder
	a, b := named("a", n), named("b", n)
	fmt.Fprintf(&text, "D> type=EDS N= sub=[%s] node=n1\n", strings.Join(a, ","))
	fmt.Fprintf(&text, "D> type=EDS N= sub=[%s]\n", strings.Join(b, ","))
	for i, name := range a {
		fmt.Fprintf(&text, "d< type=EDS N=%d res=[%s@1]\nD> type=EDS N=%d sub=[c%d]\n", i, name, i, i)
	}
	text.WriteString("t=+20s -- tick\n")
	found := of(judgeText(t, text.String()), "delta-subscribe-unanswered")
	if len(found) == 0 || found[0].Names[0] != "b0" {
		t.Errorf("%s", words(found))
	}
}

// Nor do those that a delivered resource refers to cost the square of these.
func TestManyReferredNamesAwaited(t *testing.T) {
	const n = 10_000
	var text strings.Builder
	text.WriteString("D> type=CDS N= sub=[] node=n1\nd< type=CDS N=1 res=[")
	for i := range n {
		fmt.Fprintf(&text, "c%d@1{sds=s%d},", i, i)
	}
	text.WriteString("x@1]\nD> type=CDS N=1 sub=[]\n")
	for i := range n {
		fmt.Fprintf(&text, "D> type=SDS N= sub=[s%d]\n", i)
	}
	text.WriteString("t=+20s -- tick\n")
	if found := of(judgeText(t, text.String()), "dependent-warming-starved"); len(found) == 0 {
		t.Error("nothing was found")
	}
}

// What refers to a name is asked for several times, and each time it is what
// the client has then.
func TestReferrersOfTheMoment(t *testing.T) {
	found := of(judgeText(t, `
D> type=CDS N= sub=[] node=n1
d< type=CDS N=1 res=[c1@1{sds=s1},c2@1{sds=s2}]
D> type=CDS N=1 sub=[]
D> type=SDS N= sub=[s0]
D> type=SDS N= sub=[s1]
t=+1s D> type=SDS N= sub=[s2]
D> type=SDS N= sub=[s3]
t=+14.5s d< type=CDS N=2 res=[c3@1{sds=s3}] rm=[c2]
D> type=CDS N=2 sub=[]
t=+3s -- tick
`), "dependent-warming-starved")
	var names []string
	for _, f := range found {
		names = append(names, f.Names...)
	}
	if got := strings.Join(names, " "); got != "s1 s3" {
		t.Errorf("%q wait, in %s", got, words(found))
	}
}

// A name that is asked for and given up in one request is not waited for: when
// it is asked for later, the time counts from there.
func TestNameTakenBackInOneRequest(t *testing.T) {
	begin := `
D> type=EDS N= sub=[a] node=n1
d< type=EDS N=1 res=[a@1]
D> type=EDS N=1 sub=[b] unsub=[b]
t=+10s D> type=EDS N= sub=[b]
t=+10s `
	if found := judgeText(t, begin+"d< type=EDS N=2 res=[b@1]\nD> type=EDS N=2 sub=[]\n"); len(of(found, "delta-subscribe-unanswered")) != 0 {
		t.Errorf("%s", words(found))
	}
	if found := judgeText(t, begin+"t=+6s -- tick\n"); len(of(found, "delta-subscribe-unanswered")) != 1 {
		t.Errorf("%s", words(found))
	}
}

// What a finding says is bounded, whatever names peers give to things, and
// those that differ far behind are told apart.
func TestFindingsAreBounded(t *testing.T) {
	long := strings.Repeat("n", 100_000)
	found := judgeText(t, fmt.Sprintf(`
D> type=EDS N= sub=[%[1]s1] node=%[1]s
t=+1s D> type=EDS N= sub=[%[1]s2]
D> type=long.v1.%[1]s N= sub=[a]
t=+20s -- tick
`, long))
	if n := len(of(found, "delta-subscribe-unanswered")); n != 3 {
		t.Errorf("%d findings", n)
	}
	for _, f := range found {
		size := len(f.Message) + len(f.Client) + len(f.Type)
		for _, n := range f.Names {
			size += len(n)
		}
		if size > 10_000 {
			t.Errorf("%s has %d bytes", f.Rule.ID, size)
		}
	}
}
