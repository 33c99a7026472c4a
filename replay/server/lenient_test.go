package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/replaytest"
)

// A recording that ends before a silence can be called one expects nothing, and
// that is told; so is a response that was overtaken. What was only cut off
// before the answer came is not.
func TestTooShortForSilence(t *testing.T) {
	const asks = "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\n"
	answers := replaytest.PlanOfScript(t, asks+"C> type=CDS V=1 N=a R=[]\nS< type=CDS V=2 N=b res=[c1#2]\nC> type=CDS V=2 N=b R=[]\n")
	for text, want := range map[string]string{
		asks + "t=+8s S< type=CDS V=2 N=b res=[c1#2]\nt=+9500ms -- tick\n": "2 responses were left without an answer in the recording, for 8s to 9.5s, and answered now: ",
		asks + "t=+9s -- tick\n":    "1 response was left without an answer in the recording, for 9s, and answered now: ",
		asks + "t=+100ms -- tick\n": "",
	} {
		server, _ := replaytest.Facing(t, replaytest.PlanOfScript(t, text), answers, replay.Options{Idle: 6 * time.Second})
		notes := strings.Join(server.Notes, "\n")
		if want == "" && strings.Contains(notes, "without an answer") || !strings.Contains(notes, want) || server.Differs() || server.Matched == 0 {
			t.Errorf("%s\n%+v\nwant %q", text, server, want)
		}
	}
}
