package playback

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

// Of what a live server does wrong, that is told which the recorded one did not do.
func TestTrial(t *testing.T) {
	t.Parallel()
	const (
		first  = "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[web#1]\n"
		ack    = "C> type=CDS V=1 N=a R=[]\n"
		second = "S< type=CDS V=2 N=b res=[web#2]\n"
		hasty  = first + second + ack
		calm   = first + ack + second + "C> type=CDS V=2 N=b R=[]\n"
		nack   = first + "C> type=CDS V= N=a R=[] err=\"web: no\" code=3\n"
		delta  = "D> type=CDS sub=[*] node=n1\nd< type=CDS N=a res=[web@1#1]\nd< type=CDS N=b res=[web@2#2]\nD> type=CDS N=a\nD> type=CDS N=b\n"
		again  = "-- client-end\n-- stream 2 method=StreamAggregatedResources\n"
	)
	entries := func(text string) (all []session.Entry) {
		s, err := script.Parse("test", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for e := range s.Entries() {
			all = append(all, e)
		}
		return all
	}
	dir := t.TempDir()
	var b strings.Builder
	for _, c := range []struct {
		name, recorded, live string
		gap                  bool // in the recording
	}{
		{"as it was", calm, calm, false},
		{"it does not wait any more", calm, hasty, false},
		{"it never waited", hasty, hasty, false},
		{"it waits now", hasty, calm, false},
		{"nothing is known of how it waited", first + ack, hasty, false},
		{"on streams of their own nothing waits", calm, first + again + calm, false},
		{"delta waits for nobody", "D> type=CDS sub=[*] node=n1\nd< type=CDS N=a res=[web@1#1]\nD> type=CDS N=a\nd< type=CDS N=b res=[web@2#2]\nD> type=CDS N=b\n", delta, false},
		{"it is rejected now", calm, nack, false},
		{"it was rejected", nack, nack, false},
		{"it was rejected, and is not", nack, calm, false},
		{"it may have been rejected in a hole", calm, nack, true},
		{"it may not have waited in a hole", calm, hasty, true},
		{"it sends what nobody asked for", calm, calm + "S< type=LDS V=2 N=c res=[one]\n", false},
		{"it sends the same again", calm, calm + "S< type=CDS V=3 N=c res=[web#2]\nC> type=CDS V=3 N=c R=[]\nS< type=CDS V=4 N=d res=[web#2]\nC> type=CDS V=4 N=d R=[]\nS< type=CDS V=5 N=e res=[web#2]\nC> type=CDS V=5 N=e R=[]\n", false},
	} {
		path := filepath.Join(dir, "live.xdsp")
		to, err := recorder.NewCopy(path, recorder.Facts{Created: time.Unix(1e9, 0)}, recorder.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries(c.live) {
			if err := to.Add(&e); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := to.Close(); err != nil {
			t.Fatal(err)
		}
		trial, report := newTrial(check.Options{}), &replay.Report{}
		for _, e := range entries(c.recorded) {
			trial.recorded.Step(&e)
		}
		if c.gap {
			trial.recorded.Step(&session.Entry{Seq: 99, Side: session.Proxy, Kind: session.KindGap, Gap: &session.Gap{First: 98, Last: 98, Entries: 1}})
		}
		trial.judge(t.Context(), path, report)
		fmt.Fprintf(&b, "== %s\n", c.name)
		for _, d := range report.Differences {
			fmt.Fprintf(&b, "! %s %s %q: expected %s, got %s; %s\n", d.Client, d.Type, d.Names, d.Expected, d.Got, d.Detail)
		}
		for _, n := range report.Notes {
			fmt.Fprintf(&b, "i %s\n", n)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	report := &replay.Report{}
	newTrial(check.Options{}).judge(t.Context(), filepath.Join(dir, "none.xdsp"), report)
	fmt.Fprintf(&b, "== no recording\n%s\n", strings.ReplaceAll(strings.Join(report.Notes, "\n"), dir, "DIR"))
	golden.Is(t, "testdata/trials.txt", b.String())
}
