package clients

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// A client that has left is as it was last known, while something may come; a
// recording ends with everybody gone.
func TestStateCell(t *testing.T) {
	gone := time.Unix(1_800_000_000, 0)
	for _, tc := range []struct {
		typ  engine.TypeStatus
		left bool // the client
		done bool // nothing more comes
		want string
	}{
		{engine.TypeStatus{State: engine.Synced}, false, false, "SYNCED"},
		{engine.TypeStatus{State: engine.Synced, Nacks: 3}, false, false, "SYNCED"},
		{engine.TypeStatus{State: engine.Nacked, Nacks: 1}, false, false, "NACKED"},
		{engine.TypeStatus{State: engine.Nacked, Nacks: 3, Lost: true}, false, false, "NACKED? x3"},
		{engine.TypeStatus{State: engine.Synced, Gone: gone}, false, true, "(SYNCED)"},
		{engine.TypeStatus{State: engine.Synced, Gone: gone}, true, false, "(SYNCED)"},
		{engine.TypeStatus{State: engine.Synced, Gone: gone}, true, true, "SYNCED"},
	} {
		scr := viewtest.New(t, viewtest.File(filepath.Join("..", "..", "..", "check", "testdata", "sessions", "demo.xdsp")))
		if tc.done {
			scr.Read(t)
		}
		c := engine.ClientStatus{}
		if tc.left {
			c.Gone = gone
		}
		if got, _ := stateCell(scr, &c, &tc.typ); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.typ, got, tc.want)
		}
	}
}
