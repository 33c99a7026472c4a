package check_test

import (
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// What was rejected stays so until it is accepted, whatever else is accepted
// meanwhile; what was not answered is not accepted.
func TestTreeTellsWhatWasRejected(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want map[string]engine.ResourceState
	}{
		"delta": {`
D> type=CDS N= sub=[] node=n1
d< type=CDS N=1 res=[a@1,b@1]
D> type=CDS N=1 sub=[]
d< type=CDS N=2 res=[a@2]
D> type=CDS N=2 sub=[] err="bad a" code=13
d< type=CDS N=3 res=[c@1]
D> type=CDS N=3 sub=[]
d< type=CDS N=4 res=[d@1]
D> type=CDS N=4 sub=[]
d< type=CDS N=5 res=[e@1]
`, map[string]engine.ResourceState{"a": engine.Rejected, "b": engine.Acked, "c": engine.Acked, "d": engine.Acked, "e": engine.Sent}},
		"delta, mended": {`
D> type=CDS N= sub=[] node=n1
d< type=CDS N=1 res=[a@1,b@1]
D> type=CDS N=1 sub=[] err="bad" code=13
d< type=CDS N=2 res=[a@2]
D> type=CDS N=2 sub=[]
`, map[string]engine.ResourceState{"a": engine.Acked, "b": engine.Rejected}},
		"names": {`
C> type=EDS V= N= R=[a,b] node=n1
S< type=EDS V=1 N=1 res=[a,b]
C> type=EDS V=1 N=1 R=[a,b]
S< type=EDS V=2 N=2 res=[a#2]
C> type=EDS V=1 N=2 R=[a,b] err="bad a" code=13
S< type=EDS V=3 N=3 res=[b#2]
C> type=EDS V=3 N=3 R=[a,b]
`, map[string]engine.ResourceState{"a": engine.Rejected, "b": engine.Acked}},
		"all": {`
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=1 res=[a,b]
C> type=CDS V= N=1 R=[] err="bad a" code=13
S< type=CDS V=2 N=2 res=[a,b]
C> type=CDS V=2 N=2 R=[]
`, map[string]engine.ResourceState{"a": engine.Acked, "b": engine.Acked}},
		"no verdict": {`
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=1 res=[a,b]
C> type=CDS V=1 N=1 R=[]
S< type=CDS V=2 N=2 res=[a,b,c]
`, map[string]engine.ResourceState{"a": engine.Acked, "b": engine.Acked, "c": engine.Sent}},
	} {
		s := parsed(t, c.text)
		k := check.NewChecker(check.Options{})
		for e := range s.Entries() {
			k.Step(&e)
		}
		tree := k.Tree("n1")
		for _, n := range append(tree.Roots, tree.Dangling...) {
			if n.State != c.want[n.Name] {
				t.Errorf("%s: %s is %s, want %s", name, n.Name, n.State, c.want[n.Name])
			}
		}
	}
}

// A node says which response had its resource last, on the stream of its own
// client, though clients share what they were sent alike.
func TestTreeTellsWhichResponseHadIt(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want map[string]session.Seq
	}{
		"delta": {`
D> type=CDS N= sub=[] node=n1
d< type=CDS N=1 res=[a@1,b@1]
D> type=CDS N=1 sub=[]
d< type=CDS N=2 res=[a@2]
`, map[string]session.Seq{"a": 4, "b": 2}},
		"names": {`
C> type=EDS V= N= R=[a,b] node=n1
S< type=EDS V=1 N=1 res=[a,b]
C> type=EDS V=1 N=1 R=[a,b]
S< type=EDS V=2 N=2 res=[b]
`, map[string]session.Seq{"a": 2, "b": 4}},
		"all": {`
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=1 res=[a,b]
C> type=CDS V=1 N=1 R=[]
S< type=CDS V=2 N=2 res=[a#2,b]
`, map[string]session.Seq{"a": 4, "b": 4}},
	} {
		s := parsed(t, c.text)
		k := check.NewChecker(check.Options{})
		var sent []session.Seq // the messages
		for e := range s.Entries() {
			k.Step(&e)
			if e.Kind == session.KindMessage {
				sent = append(sent, e.Seq)
			}
		}
		tree := k.Tree("n1")
		for _, n := range append(tree.Roots, tree.Dangling...) {
			if want := sent[c.want[n.Name]-1]; n.Seq != want || n.At.IsZero() {
				t.Errorf("%s: %s came with %d at %v, want %d", name, n.Name, n.Seq, n.At, want)
			}
		}
	}
}

// What was asked for by an alias is missing until the server gives a resource that has
// it, and once that is gone.
func TestTreeKnowsAliases(t *testing.T) {
	const asked = "D> type=VHDS N= sub=[r/a.com,r/b.com] node=n1\n"
	const given = asked + "d< type=VHDS N=a res=[r/vhA@1(payload=vhA)] alias=[r/a.com,r/c.com]\nD> type=VHDS N=a\n"
	const again = given + "-- server-end code=14\n-- stream 2\nD> type=VHDS N= sub=[r/a.com] node=n1"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":          {asked, []string{"r/a.com", "r/b.com"}},
		"one":              {given, []string{"r/b.com"}},
		"none of the name": {asked + "d< type=VHDS N=a res=[hb:r/a.com@] alias=[r/a.com]\nD> type=VHDS N=a\n", []string{"r/a.com", "r/b.com"}},
		"none any more":    {given + "d< type=VHDS N=b res=[hb:r/vhA@] alias=[r/a.com]\nD> type=VHDS N=b\n", []string{"r/a.com", "r/b.com"}},
		"a heartbeat":      {given + "d< type=VHDS N=b res=[hb:r/vhA@~10s] alias=[r/a.com]\nD> type=VHDS N=b\n", []string{"r/b.com"}},
		"removed":          {given + "d< type=VHDS N=b rm=[r/vhA]\nD> type=VHDS N=b\n", []string{"r/a.com", "r/b.com"}},
		"alias removed":    {given + "d< type=VHDS N=b rm=[r/a.com]\nD> type=VHDS N=b\n", []string{"r/a.com", "r/b.com"}},
		"asked for later":  {given + "D> type=VHDS N= sub=[r/c.com]\n", []string{"r/b.com"}},
		"given up, asked":  {given + "D> type=VHDS N= unsub=[r/a.com]\nD> type=VHDS N= sub=[r/a.com]\n", []string{"r/a.com", "r/b.com"}},
		"connected again":  {again + " init={r/vhA:1}\n", nil},
		"started again":    {again + "\n", []string{"r/a.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := check.NewChecker(check.Options{})
			for e := range parsed(t, c.text).Entries() {
				k.Step(&e)
			}
			var got []string
			for _, n := range k.Tree("n1").Missing {
				got = append(got, n.Name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("missing %q, want %q", got, c.want)
			}
		})
	}
}
