package fold

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// polls is a client that polls: as ever, for something else, with other answers, and with
// some that fail.
var polls = "P> type=CDS V= R=[] node=n1\np< 200 type=CDS V=1 res=[a]\n" +
	strings.Repeat("P> type=CDS V=1 R=[] node=n1\np< 200 type=CDS V=1 res=[a]\n", 4) +
	"P> type=CDS V=1 R=[] node=n1\np< 200 type=CDS V=2 res=[a#2]\n" +
	strings.Repeat("P> type=CDS V=2 R=[] node=n1\np< 304\n", 3) +
	"P> type=CDS V=2 R=[] node=n1\np< 503 body=\"no\"\n" +
	strings.Repeat("P> type=CDS V=2 R=[] node=n1\np< 304\n", 2) +
	"P> type=EDS V= R=[a] node=n1\np< 200 type=EDS V=1 res=[a]\n" +
	strings.Repeat("P> type=EDS V=1 R=[a] node=n1\np< 200 type=EDS V=1 res=[a]\nP> type=CDS V=2 R=[] node=n1\np< 304\n", 3) +
	"P> type=EDS V=1 R=[a,b] node=n1\np< 200 type=EDS V=1 res=[a]\n" +
	strings.Repeat("P> type=EDS V=1 R=[a,b] node=n1\np< 404 body=\"none\"\n", 2) +
	"P> type=CDS V=2 R=[] node=n1\np< 200 body=\"{\"\nP> type=CDS V=2 R=[] node=n1 body=\"{\"\np< 200 type=CDS V=2 res=[a#2]\n" +
	strings.Repeat("P> type=CDS V=2 R=[] node=n1\np< 304\n", 2)

// rounds are streams on which the same is said again: answers without responses, responses
// without answers, and what is odd among them.
var rounds = "C> type=CDS V= N= R=[] node=n1\n" +
	strings.Repeat("S< type=CDS V=1 N=1 res=[a]\n", 3) +
	strings.Repeat("C> type=CDS V=1 N=1 R=[]\n", 3) +
	strings.Repeat("S< type=CDS V=1 N=1 res=[a]\nC> type=CDS V=1 N=1 R=[]\n", 2) +
	"S< type=CDS V=1 N=1 res=[a#unknown-field]\nC> type=CDS V=1 N=1 R=[]\n" +
	strings.Repeat("S< type=CDS V=2 N=2 res=[a#corrupt]\nC> type=CDS V=1 N=2 R=[] err=\"no\" code=13\n", 3) +
	"C> type=EDS V= N= R=[a]\nS< type=EDS V=1 N=3 res=[a]\nC> type=EDS V=1 N=3 R=[a]\nC> type=EDS V=1 N=3 R=[a,b]\nC> type=EDS V=1 N=3 R=[a,b]\n" +
	strings.Repeat("S< type=EDS V=1 N=3 res=[a]\nC> type=EDS V=1 N=3 R=[a,b]\n", 2) +
	"-- stream 2\nD> type=CDS sub=[*] node=n2\n" +
	strings.Repeat("d< type=CDS N=a res=[c1]\nD> type=CDS N=a\n", 3) + "d< type=CDS N=a rm=[c1]\nD> type=CDS N=a\nd< type=CDS N=a rm=[c1]\nD> type=CDS N=a\n" +
	"-- stream 3\n" + strings.Repeat("C> type=CDS V=7 N=old R=[] node=n3\n", 3) + "-- server-end code=14\n"

// Where every entry of conversations stands: as they are, where a rule proves something with some of
// them, and where some have problems.
func TestLedger(t *testing.T) {
	var out strings.Builder
	write := func(name string, entries func(func(session.Entry) bool)) {
		for pass, how := range []string{"as it is", "with proofs", "with problems", "uncertain"} {
			fmt.Fprintf(&out, "%s, %s\n", name, how)
			f, account := New(), check.NewTracker(nil)
			for e := range entries {
				if pass == 2 && e.Seq%7 == 3 {
					e.Problems = append(e.Problems[:len(e.Problems):len(e.Problems)], "a problem")
				}
				c := account.Step(&e)
				c.Uncertain = c.Uncertain || pass == 3 && e.Seq%11 == 5
				p := f.Step(&e, &c.Change, pass == 1 && e.Seq%5 == 0)
				if p == (Place{}) && c.What == "" {
					continue
				}
				fmt.Fprintf(&out, "%d %s %s%s", e.Seq, e.Kind, c.What, says(" under", p.Under))
				if p.Round {
					out.WriteString(", a round")
				}
				fmt.Fprintf(&out, "%s\n", says(", ends", p.Ended))
			}
		}
	}
	for _, c := range []struct{ name, text string }{{"polls", polls}, {"rounds", rounds}} {
		s, err := script.Parse(c.name, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		write(c.name, s.Entries())
	}
	for _, name := range []string{"rest-nack", "rest-two-replicas"} {
		write(name, func(yield func(session.Entry) bool) {
			r, err := recorder.Open(filepath.Join("..", "..", "check", "testdata", "sessions", name+".xdsp"))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for e, err := range r.Entries(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Seq > 60 || !yield(e) {
					return
				}
			}
		})
	}
	golden.Is(t, "testdata/ledger.golden", out.String())
}

func says(word string, r *Run) string {
	if r == nil {
		return ""
	}
	s := fmt.Sprintf("%s %d: %d rounds up to %d", word, r.Head(), r.Rounds(), r.Last())
	if r.Poll() {
		s += " of polls"
	}
	return s
}
