package clients

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// At the end of a recording all clients have gone: that says nothing. A narrow
// screen says how they stood.
func TestShortAtTheEnd(t *testing.T) {
	scr := viewtest.New(t, viewtest.File(filepath.Join("..", "..", "..", "check", "testdata", "sessions", "demo.xdsp"))).Read(t)
	away := 0
	for _, c := range scr.Seen().Standing {
		if !c.Gone.IsZero() {
			away++
		}
	}
	lines := New().Draw(scr, 40, 20)
	text := ""
	for i := range lines {
		text += lines[i].PlainText() + "\n"
	}
	if away == 0 || strings.Contains(text, "gone") || strings.Count(text, "synced") != away {
		t.Errorf("%d have gone:\n%s", away, text)
	}
}
