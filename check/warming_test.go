package check

import (
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// In delta a cluster that is sent anew waits for its endpoints as long as a client
// waits for what does not come, and no longer, unless it was told to.
func TestAwaitedInDelta(t *testing.T) {
	const dne = 15 * time.Second
	at := time.Unix(1.7e9, 0)
	for _, c := range []struct {
		passed  time.Duration
		patient bool
		want    bool
	}{{0, false, true}, {dne, false, true}, {dne + 1, false, false}, {dne + 1, true, true}} {
		x := &event{k: &Checker{timers: Timers{DNE: dne}}, now: at.Add(c.passed)}
		w := &warming{name: "a", from: 5, cds: &engine.Response{Seq: 5, At: at}, patient: c.patient}
		eds := &engine.Subscription{Wild: engine.ExplicitWild, Stream: &engine.Stream{Method: xds.Method{Variant: xds.VariantDeltaADS}}}
		if got := w.awaited(x, eds); got != c.want {
			t.Errorf("after %v, told to wait %v: awaited is %v", c.passed, c.patient, got)
		}
	}
}
