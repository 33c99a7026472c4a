package client_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/replaytest"
)

// What played clients do wrong on purpose is told, and a server sees it.
func TestFaults(t *testing.T) {
	const (
		sotw  = "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V=1 N=a R=[]\nS< type=CDS V=2 N=b res=[c1#2]\nC> type=CDS V=2 N=b R=[]\n"
		delta = "D> type=CDS sub=[c1] node=n1\nd< type=CDS N=1 res=[c1@1]\nD> type=CDS N=1\nd< type=CDS N=2 res=[c1@2]\nD> type=CDS N=2\n"
	)
	for _, c := range []struct{ name, script, fault, note, seen string }{
		{"nack", sotw, "nack#2", "entry 8, an ACK, is sent as a NACK", "entry 8, the answer to entry 7: expected ACK, got NACK: rejected on purpose"},
		{"nack in delta", delta, "nack", "entry 6, an ACK, is sent as a NACK", "entry 6, the answer to entry 5: expected ACK, got NACK: rejected on purpose"},
		{"late", sotw, "late-ack=50ms", "entry 6 is sent 50ms late", ""},
		{"storm", sotw, "reconnect-storm=5", `stream 1 of "n1" (sotw-ads) is opened 5 times and left at once`, ""},
		{"wrong nonce", sotw, "wrong-nonce#2", "entry 8 is sent with a nonce that nobody gave", "entry 8, the answer to entry 7: expected ACK, got no answer: the client ended the stream"},
		{"wrong nonce in delta", delta, "wrong-nonce#2", "entry 8 is sent with a nonce that nobody gave", "entry 8, the answer to entry 7: expected ACK, got no answer: the client ended the stream"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := replay.Options{Faults: replaytest.Faults(t, false, c.script, c.fault)}
			byServer, byClient := replaytest.Facing(t, replaytest.PlanOfScript(t, c.script), replaytest.PlanOfScript(t, c.script), o)
			var seen []string
			for _, d := range byServer.Differences {
				seen = append(seen, d.Where()+": "+d.String())
			}
			if got := strings.Join(seen, "\n"); got != c.seen {
				t.Errorf("the server sees\n%s\nwant %s", got, c.seen)
			}
			if want := fmt.Sprintf("on purpose (%s): %s", c.fault, c.note); !slices.Contains(byClient.Notes, want) || byClient.Differs() || byClient.Matched != byClient.Expected || byClient.Matched == 0 {
				t.Errorf("%+v; want the note %s", byClient, want)
			}
		})
	}
}
