package bisect

import (
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
)

// In the state of the world a scope that is left out is gone, as a listener or
// a cluster is.
const (
	scopeGone = `
C> type=SRDS V= N= R=[] node=n1
S< type=SRDS V=1 N=a res=[a,b,old]
C> type=SRDS V=1 N=a R=[]
S< type=SRDS V=2 N=b res=[a#2,b]
C> type=SRDS V=2 N=b R=[]
`
	scopeRejected = scopeGone + `
S< type=SRDS V=3 N=c res=[a#3]
C> type=SRDS V=2 N=c R=[] err="no"
`
)

func TestReadRejectedScopes(t *testing.T) {
	r, err := ReadRejection(t.Context(), 0, scripted(t, scopeRejected))
	if err != nil || r.Base != 2 || len(r.Suspects) != 1 || !slices.Equal(r.Removed, []string{"b"}) {
		t.Errorf("%+v, %v; want a world of two scopes, of which one is left out", r, err)
	}
}

// The client is brought back to what the recorded one held, and it is tried
// whether it rejects that a scope is gone.
func TestBisectScopes(t *testing.T) {
	c := &picky{node: "n1", asks: []string{"SRDS"}, refuse: func(m *decode.Message, _ int) string {
		if !slices.Contains(m.ResourceNames(), "b") {
			return "where is b?"
		}
		return ""
	}}
	f, err := bisected(t, scopeRejected, 0, c, Options{})
	if err != nil || !f.Removals || f.RemovalWords() != "where is b?" {
		t.Errorf("%+v, %v", f, err)
	}
	for _, s := range c.seen {
		if slices.Contains(namesSeen(s), "old") {
			t.Errorf("the client was given %q, and the recorded one did not have old any more", s)
		}
	}
}
