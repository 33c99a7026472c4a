package check_test

import (
	"slices"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// A client does not answer late because a clock was set while it did.
func TestClockIsSetWhileAClientAnswers(t *testing.T) {
	for name, told := range map[string]bool{"told": true, "not told": false} {
		t.Run(name, func(t *testing.T) {
			s, err := script.Parse("clock.xds", []byte("C> type=LDS V= N= R=[] node=n1\nS< type=LDS V=1 N=a res=[x]\nC> type=LDS V=1 N=a R=[]\n"))
			if err != nil {
				t.Fatal(err)
			}
			entries := slices.Collect(s.Entries())
			at := slices.IndexFunc(entries, func(e session.Entry) bool { return e.Kind == session.KindMessage && e.Side == session.Server }) + 1
			for i := range entries[at:] {
				entries[at+i].Time = entries[at+i].Time.Add(time.Hour)
			}
			if told {
				note := session.Entry{
					Seq: entries[at].Seq, Kind: session.KindNote, Side: session.Proxy, Time: entries[at].Time,
					Note: &session.Note{Code: session.NoteClock},
				}
				entries = slices.Insert(entries, at, note)
			}
			k := check.NewChecker(check.Options{})
			for i := range entries {
				k.Step(&entries[i])
				stale := false
				for _, of := range k.Status() {
					for _, ts := range of.Types {
						stale = stale || ts.State == engine.Stale
					}
				}
				if stale {
					t.Errorf("stale after entry %d", entries[i].Seq)
				}
			}
			if late := has(k.Findings(), "ack-missing"); late == told {
				t.Errorf("accused of not answering: %v", late)
			}
		})
	}
}
