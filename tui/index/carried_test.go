package index

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/session"
)

// rounds are responses and their answers, each with a number of its own.
func rounds(n int, response, request string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, response+"\n"+request+"\n", i, i)
	}
	return b.String()
}

// What a client accepted is found again however often it was sent something else
// since, or the same was rejected: ten thousand times here. A heartbeat, however
// often it comes, is not what it has.
func TestAgainstAfterLongLoops(t *testing.T) {
	const (
		times   = 3_000
		delta   = "D> type=EDS N= sub=[a,b,c] node=n1\nd< type=EDS N=x res=[a@1,b@1]\nD> type=EDS N=x\n"
		rejects = `D> type=EDS N=n%d err="bad"`
		sotw    = "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=x res=[a,b]\nC> type=CDS V=1 N=x R=[]\n"
	)
	for name, tc := range map[string]struct{ script, want string }{
		"a loop of rejections":           {delta + rounds(times, "d< type=EDS N=n%d res=[a@2]", rejects), "a changed 1"},
		"others were accepted meanwhile": {delta + rounds(times, "d< type=EDS N=m%d res=[b@2]", "D> type=EDS N=m%d") + rounds(times, "d< type=EDS N=n%d res=[a@2,c@2]", rejects), "a changed 1, c same 2"},
		"it was removed long ago":        {delta + "d< type=EDS N=y res=[] rm=[a]\nD> type=EDS N=y\n" + rounds(times, "d< type=EDS N=m%d res=[b@2]", "D> type=EDS N=m%d") + "d< type=EDS N=z res=[a@3]\n", "a added"},
		"the state of the world":         {sotw + rounds(times, "S< type=CDS V=2 N=n%d res=[a{eds},c]", `C> type=CDS V=1 N=n%d R=[] err="bad"`), "a changed 1, c added 1, b removed 1"},
		"heartbeats":                     {sotw + rounds(times, "S< type=CDS V=1 N=h%d res=[hb:a~10s,hb:b~10s]", "C> type=CDS V=1 N=h%d R=[]") + "S< type=CDS V=2 N=z res=[a{eds}]\n", "a changed 1, b removed 1"},
		"a name in two forms":            {"D> type=EDS N= sub=[xdstp://x/t/a] node=n1\nd< type=EDS N=x res=[xdstp://x/t/%61@1]\nD> type=EDS N=x\n" + rounds(times, "d< type=EDS N=n%d res=[xdstp://x/t/a@2]", rejects), "xdstp://x/t/a changed 1"},
	} {
		t.Run(name, func(t *testing.T) {
			x, f := play(t, tc.script)
			r := lastResponse(x)
			a, err := f.Against(t.Context(), r.Seq, false)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(a); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			if n := len(x.carried.lists); n > 8 {
				t.Errorf("%d lists of names are kept: equal ones are one", n)
			}
		})
	}
}

// told is what became of each resource, and the version before.
func told(a *Against) string {
	var out []string
	for _, c := range a.Resources {
		words := [...]string{diff.Same: "same", diff.Added: "added", diff.Removed: "removed", diff.Changed: "changed"}[c.Kind]
		switch c.Lost {
		case Unseen:
			words = "not known"
		case LetGo:
			words = "let go"
		}
		out = append(out, strings.TrimSpace(c.Name+" "+words+" "+c.Old.Version))
	}
	return strings.Join(out, ", ")
}

// What is remembered has a bound. What was let go is not said to have never been.
func TestAgainstWhatWasLetGo(t *testing.T) {
	x := New()
	x.carried.most = 4 << 10
	var b strings.Builder
	b.WriteString("D> type=EDS N= sub=[*] node=n1\nd< type=EDS N=x res=[a@1]\nD> type=EDS N=x\n")
	for i := range 500 { // no two have the same names
		fmt.Fprintf(&b, "d< type=EDS N=n%d res=[b%d@1]\nD> type=EDS N=n%d\n", i, i, i)
	}
	b.WriteString("d< type=EDS N=z res=[a@2,b499@2]\n")
	x, f := playInto(t, x, b.String())
	if x.carried.bytes > x.carried.most || len(x.carried.all) > 100 || len(x.carried.lists) > 100 {
		t.Errorf("%d bytes of %d, %d responses and %d lists", x.carried.bytes, x.carried.most, len(x.carried.all), len(x.carried.lists))
	}
	a, err := f.Against(t.Context(), lastResponse(x).Seq, true)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := told(a), "a let go, b499 changed 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for behind, want := range []bool{false, true} {
		if list, known := x.carries(x.carried.let + session.Seq(behind)); list != nil || known != want {
			t.Errorf("%d behind what was let go last: known %t", behind, known)
		}
	}
	// Nothing is left of what is let go.
	for len(x.carried.all) > 0 {
		x.carried.forget()
	}
	if x.carried.bytes != 0 || len(x.carried.lists) != 0 {
		t.Errorf("%d bytes and %d lists of nothing", x.carried.bytes, len(x.carried.lists))
	}
}
