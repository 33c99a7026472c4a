package tui

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// Whatever peers write, no view, page or dialog of the screen shows a character
// of theirs that a terminal would obey: every key is pressed in every view, and
// every key after it.
func TestNothingUnprintable(t *testing.T) {
	text, err := os.ReadFile("../cmd/xdsproxy/testdata/nasty.xds")
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse("nasty.xds", xdstest.NastyScript(text))
	if err != nil {
		t.Fatal(err)
	}
	entries := slices.Collect(s.Entries())
	for i := range entries {
		xdstest.MakeNasty(&entries[i])
	}
	source := viewtest.Record(t, append(entries, session.Entry{
		Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{Code: session.NoteRemark, Text: xdstest.Nastier, About: 5},
	})...)
	source.Name = "x" + xdstest.Nastier
	d := drive(t, source, 120, 40, Options{Theme: "mono"})
	ours := regexp.MustCompile(`\x1b\[[0-9;:]*m`)
	look := func(keys ...string) {
		if at, found := xdstest.Unprintable(ours.ReplaceAllString(d.m.Frame(), "")); found {
			t.Fatalf("%s shows %s", strings.Join(keys, " "), at)
		}
	}
	var keys []string
	for _, b := range key.All() {
		keys = append(keys, b.Keys...)
	}
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == "ctrl+c" })
	for _, view := range []string{"1", "2", "3", "4", "5"} {
		for _, first := range keys {
			d.press("esc", "esc", "esc", view, "down", first)
			look(view, first)
			for _, next := range []string{"enter", "down", "tab", "?", "y", "e"} {
				d.press(next)
				look(view, first, next)
			}
			d.give(tea.WindowSizeMsg{Width: 120, Height: 40})
		}
	}
	if at, found := xdstest.Unprintable(d.m.View().WindowTitle); found {
		t.Errorf("the title of the window is %s", at)
	}
}
