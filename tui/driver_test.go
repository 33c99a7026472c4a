package tui

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// driver plays the program: it gives messages to a model, and runs what comes
// back at once, so that a frame hangs on nothing but the keys and the recording.
type driver struct {
	tb testing.TB
	m  *Model
}

// sessionPath is one of the recorded sessions that the rules are tested with.
func sessionPath(name string) string {
	return filepath.Join("..", "check", "testdata", "sessions", name+".xdsp")
}

// fileSource is a finished recording.
func fileSource(path string) Source { return viewtest.File(path) }

// drive opens a source and reads it to its end.
func drive(tb testing.TB, src Source, w, h int, o Options) *driver {
	tb.Helper()
	if o.Now == nil {
		at := time.Unix(1_800_000_000, 0)
		o.Now = func() time.Time { return at }
	}
	tb.Setenv("TMPDIR", tb.TempDir()) // for the pager and for long copies
	ctx, cancel := context.WithCancel(context.Background())
	d := &driver{tb, newModel(ctx, src, o)}
	d.m.stats.Measure = func() uint64 { return 40 << 20 }
	r, err := src.Open()
	if err != nil {
		tb.Fatal(err)
	}
	d.m.log.Feed.Run(ctx, r, false, nil)
	_ = r.Close()
	tb.Cleanup(func() {
		cancel()
		d.m.log.Fetch.Close()
	})
	d.give(tea.WindowSizeMsg{Width: w, Height: h})
	d.look()
	return d
}

// look does what a tick does.
func (d *driver) look() {
	d.m.seen.Asked = time.Time{}
	d.run(d.m.observe())
	d.run(d.m.tickAll())
	d.m.stale = true
}

// give passes a message, and all that come of it.
func (d *driver) give(msg tea.Msg) {
	_, cmd := d.m.Update(msg)
	d.run(cmd)
}

func (d *driver) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			d.run(c)
		}
	default:
		d.give(msg)
	}
}

// press presses keys by their names; what is no name of a key is typed.
func (d *driver) press(keys ...string) {
	for _, k := range keys {
		d.give(keyPress(k))
		if d.m.prompt == nil {
			d.look()
		}
	}
}

// typed types a text, character by character.
func (d *driver) typed(text string) {
	for _, r := range text {
		d.press(string(r))
	}
}

func keyPress(name string) tea.KeyPressMsg {
	special := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown,
		"left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "backspace": tea.KeyBackspace, "delete": tea.KeyDelete,
	}
	switch {
	case special[name] != 0:
		return tea.KeyPressMsg{Code: special[name]}
	case name == "space" || name == " ":
		return tea.KeyPressMsg{Code: ' ', Text: " "}
	case name == "shift+tab":
		return tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
	case strings.HasPrefix(name, "ctrl+"):
		return tea.KeyPressMsg{Code: rune(name[len("ctrl+")]), Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// frame is the screen without its colours. Every line must be as wide as the
// screen.
func (d *driver) frame() string {
	d.tb.Helper()
	_ = d.m.Frame() // says how many rows there are
	d.look()
	frame := ansi.Strip(d.m.Frame())
	lines := strings.Split(frame, "\n")
	if len(lines) != d.m.h {
		d.tb.Errorf("%d lines on a screen of %d", len(lines), d.m.h)
	}
	for i, l := range lines {
		if w := render.Width(l); w > d.m.w {
			d.tb.Errorf("line %d is %d columns wide, on a screen of %d: %q", i, w, d.m.w, l)
		}
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// golden compares the screen with the one that is kept under testdata.
func (d *driver) golden(name string) {
	d.tb.Helper()
	golden.Is(d.tb, filepath.Join("testdata", name+".txt"), d.frame())
}
