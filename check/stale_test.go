package check_test

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// What status calls late is what a rule calls late, at the same time.
func TestStaleIsAckMissing(t *testing.T) {
	for _, of := range []struct {
		typ, spoke, at string
		late           bool
	}{
		{"LDS", "", "+13s", false}, // it has said nothing
		{"LDS", "", "+21s", true},
		{"LDS", "t=+1s C> type=RDS V= N= R=[r]\n", "+8s", false},
		{"LDS", "t=+1s C> type=RDS V= N= R=[r]\n", "+10s", true},
		{"CDS", "t=+1s C> type=RDS V= N= R=[r]\n", "+12s", false}, // they may have to warm up
		{"CDS", "t=+1s C> type=RDS V= N= R=[r]\n", "+28s", false},
		{"CDS", "t=+1s C> type=RDS V= N= R=[r]\n", "+30s", true},
	} {
		text := "C> type=" + of.typ + " V= N= R=[] node=n1\nS< type=" + of.typ + " V=1 N=a res=[x]\n" + of.spoke + "t=" + of.at + " -- tick\n"
		s := parsed(t, text)
		k := check.NewChecker(check.Options{})
		for e := range s.Entries() {
			k.Step(&e)
		}
		stale := false
		for _, ts := range k.Status()[0].Types {
			stale = stale || ts.Type == of.typ && ts.State == engine.Stale
		}
		if rule := has(k.Findings(), "ack-missing"); stale != of.late || rule != of.late {
			t.Errorf("late is %v, stale %v and ack-missing %v:\n%s", of.late, stale, rule, text)
		}
	}
}
