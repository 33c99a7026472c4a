package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view/page"
)

func TestHelpFrames(t *testing.T) {
	for _, s := range sizes() {
		d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), s[0], s[1], Options{Theme: "mono"})
		d.press("2", "?")
		d.golden(fmt.Sprintf("help-keys-%dx%d", s[0], s[1]))
		d.press("tab")
		d.golden(fmt.Sprintf("help-words-%dx%d", s[0], s[1]))
		d.press("tab")
		d.golden(fmt.Sprintf("help-filters-%dx%d", s[0], s[1]))
	}
}

// Whatever states and words there are, help explains them.
func TestHelpExplainsEveryWord(t *testing.T) {
	var said []string
	for _, p := range page.WordPage() {
		said = append(said, strings.Fields(p.Head)...)
	}
	has := func(word string) {
		t.Helper()
		for _, w := range said {
			if w == word {
				return
			}
		}
		t.Errorf("help does not explain %q", word)
	}
	for s := engine.Synced; s <= engine.Nacked; s++ {
		has(s.String())
	}
	for _, s := range []engine.ResourceState{engine.Sent, engine.Acked, engine.Rejected, engine.Missing, engine.Uncertain} {
		has(string(s))
	}
	for w := index.NACK; w <= index.DELTA; w++ {
		has(w.String())
	}
	for _, w := range []string{"CONN", "GONE", "OPEN", "CLOSE", "HEAD", "HALF", "gap", "note", "!", "~", "i", "*", ">", "?", "[size]"} {
		has(w)
	}
}

func TestHelpKeys(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
		want []string
	}{
		{"looks in all pages", []string{"?", "/", "S", "T", "A", "L", "E", "enter"}, []string{"STALE", "no answer came in time", "all pages", "filter: STALE"}},
		{"and forgets it", []string{"?", "/", "S", "T", "A", "L", "E", "enter", "esc"}, []string{"Keys in Timeline", "filter: none"}},
		{"finds nothing", []string{"?", "/", "q", "q", "q", "enter"}, []string{"Nothing here has these words."}},
		{"turns its pages back", []string{"?", "shift+tab"}, []string{"Examples: enter tries one"}},
		{"does nothing on a key", []string{"?", "enter"}, []string{"enter tries the examples"}},
		{"says where enter does something", []string{"?", "tab", "v", "enter"}, []string{"enter tries the examples of filters"}},
		{"the same key leaves", []string{"?", "?"}, []string{"[2 Timeline]", "ACK ms"}},
		{"goes", []string{"?", "q"}, []string{"[2 Timeline]", "filter: none"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 100, 30, Options{Theme: "mono"})
			d.press("2")
			d.press(c.keys...)
			shows(t, d, c.want...)
		})
	}
}

func TestHelpRunsAnExample(t *testing.T) {
	d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 100, 30, Options{Theme: "mono"})
	d.press("2", "?", "tab", "tab")
	for range 10 {
		if strings.Contains(d.frame(), "enter sets this filter") {
			break
		}
		d.press("down")
	}
	d.press("enter")
	shows(t, d, "[2 Timeline]", "filter: kind:nack", "NACK", "1 of 1")
}

// shows fails unless the screen has all these texts.
func shows(t *testing.T, d *driver, want ...string) {
	t.Helper()
	frame := d.frame()
	for _, w := range want {
		if !strings.Contains(frame, w) {
			t.Errorf("%q is not on the screen:\n%s", w, frame)
		}
	}
}

// hides fails if the screen has one of these texts.
func hides(t *testing.T, d *driver, unwanted ...string) {
	t.Helper()
	frame := d.frame()
	for _, w := range unwanted {
		if strings.Contains(frame, w) {
			t.Errorf("%q is on the screen:\n%s", w, frame)
		}
	}
}

func TestEventLog(t *testing.T) {
	d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono"})
	d.press("E")
	shows(t, d, "Nothing has been said yet.")
	d.press("q", "2", "o", "o", ":", "n", "o", "n", "e", "esc", "E")
	shows(t, d, "o (pager) does nothing in Timeline", "> 08:00:00", "2 of 2")
}
