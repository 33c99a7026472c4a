package check_test

import (
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
