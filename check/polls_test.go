package check_test

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

// A reply that is whole only after the client gave up its poll was offered to nobody.
func TestAPollThatWasGivenUpIsNoRejection(t *testing.T) {
	s := parsed(t, `
P> path=/v3/discovery:clusters type=CDS V=1 node=n1
p< 200 type=CDS V=2 res=[c1#bad]
P> path=/v3/discovery:clusters type=CDS V=1 node=n1
`)
	for _, givenUp := range []bool{false, true} {
		k := check.NewChecker(check.Options{})
		for e := range s.Entries() {
			if givenUp && e.Kind == session.KindMessage && e.Side == session.Server {
				reset := session.Entry{Seq: e.Seq, Time: e.Time, Conn: e.Conn, Stream: e.Stream, Kind: session.KindCancel, Side: session.Client, Status: &session.Status{Code: -1, Reset: 8, WasReset: true}}
				k.Step(&reset)
			}
			k.Step(&e)
		}
		if found := has(k.Findings(), "rest-implicit-nack"); found == givenUp {
			t.Errorf("given up %v: a rejection is found: %v", givenUp, found)
		}
	}
}
