package palette

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

func press(p *Palette, keys ...string) (chosen *Item, done bool) {
	for _, k := range keys {
		msg := tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
		switch k {
		case "esc":
			msg = tea.KeyPressMsg{Code: tea.KeyEscape}
		case "enter":
			msg = tea.KeyPressMsg{Code: tea.KeyEnter}
		case "up":
			msg = tea.KeyPressMsg{Code: tea.KeyUp}
		case "down":
			msg = tea.KeyPressMsg{Code: tea.KeyDown}
		case "tab":
			msg = tea.KeyPressMsg{Code: tea.KeyTab}
		case "shift+tab":
			msg = tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
		case "pgup":
			msg = tea.KeyPressMsg{Code: tea.KeyPgUp}
		case "pgdown":
			msg = tea.KeyPressMsg{Code: tea.KeyPgDown}
		case "ctrl+p":
			msg = tea.KeyPressMsg{Code: 'p', Mod: tea.ModCtrl}
		}
		_, chosen, done = p.Key(msg)
	}
	return chosen, done
}

func names(items []Item) string {
	var out []string
	for i := range items {
		out = append(out, items[i].name())
	}
	return strings.Join(out, " ")
}

// What a view offers comes first, then what works everywhere, each once.
func TestOf(t *testing.T) {
	all := Of([]key.Offer{{Act: key.Filter, Help: "filter these"}, {Act: key.Copy}, {Act: key.Mark}})
	if all[0].Help != "filter these" || all[1].Help != key.BindingOf(key.Copy).Help || all[0].Keys != "/" || all[2].Act != key.Mark {
		t.Errorf("%+v", all[:3])
	}
	if want := 3 + len(key.Global()) - 2; len(all) != want || strings.Count(names(all), "copy") != 1 || strings.Contains(names(all), "palette") {
		t.Errorf("%d, not %d: %s", len(all), want, names(all))
	}
}

func items() []Item {
	return []Item{
		{Act: key.Filter, Keys: "/", Help: "entries with a client"},
		{Act: key.View1, Keys: "1", Help: "who is there"},
		{Command: " client NAME", Help: "one of them"},
		{Act: key.Copy, Keys: "y", Help: "to the clipboard"},
	}
}

// Those that are called so come before those that say so.
func TestRows(t *testing.T) {
	p, _ := New(items())
	if names(p.Rows()) != "filter clients :client NAME copy" {
		t.Error(names(p.Rows()))
	}
	for _, step := range [][2]string{{"c", "clients :client NAME copy filter"}, {"l", "clients :client NAME filter copy"}, {"i", "clients :client NAME filter copy"}, {"e", "clients :client NAME filter"}} {
		if press(p, step[0]); names(p.Rows()) != step[1] {
			t.Errorf("with %s: %s", step[0], names(p.Rows()))
		}
	}
}

func TestChoose(t *testing.T) {
	p, _ := New(items())
	var theme widget.Theme
	lines := make([]widget.Line, 12)
	p.Cover(&theme, lines, 60)
	for _, c := range []struct{ keys, want string }{
		{"", "filter"}, {"down", "clients"}, {"down", ":client NAME"}, {"tab tab tab", "copy"}, {"up", ":client NAME"}, {"shift+tab", "clients"}, {"pgdown", "copy"}, {"pgup", "filter"},
	} {
		chosen, done := press(p, append(strings.Fields(c.keys), "enter")...)
		if chosen == nil || !done || chosen.name() != c.want {
			t.Errorf("%q chooses %v, %t", c.keys, chosen, done)
		}
	}
	if chosen, done := press(p, "down", "x"); chosen != nil || done || p.win.At != 0 {
		t.Errorf("what is typed chooses %v, and leaves the selection at %d", chosen, p.win.At)
	}
	if chosen, done := press(p, "q", "enter"); chosen != nil || done {
		t.Errorf("of nothing it chooses %v, %t", chosen, done)
	}
	for _, k := range []string{"esc", "ctrl+p"} {
		if chosen, done := press(p, k); chosen != nil || !done {
			t.Errorf("%s: %v, %t", k, chosen, done)
		}
	}
}

// It covers the lowest lines, and says how many there are of how many.
func TestCover(t *testing.T) {
	p, _ := New(items())
	press(p, "c", "l", "i")
	text := func(rows int) (out []string) {
		lines := make([]widget.Line, rows)
		for i := range lines {
			lines[i] = widget.Text(widget.Plain, "below")
		}
		p.Cover(&widget.Theme{}, lines, 40)
		for i := range lines {
			out = append(out, lines[i].PlainText())
		}
		return out
	}
	got := text(9)
	if len(got) != 9 || !strings.HasPrefix(got[7], " do: cli   4 of 4 actions") || !strings.HasPrefix(got[8], " enter:do it  up and down:choose  esc:nothing") ||
		!strings.Contains(got[1], "clients") || !strings.Contains(got[1], "who is there") || got[5] != "" && strings.Contains(got[5], "below") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	got = text(30)
	if got[0] != "below" || got[10] != "below" || strings.Contains(got[11], "below") || !strings.Contains(got[12], "clients") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	press(p, "Q")
	if got := text(9); !strings.Contains(strings.Join(got, "\n"), "nothing here has these words") || !strings.Contains(got[7], " do: cliQ   0 of 4 actions") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if got := text(2); len(got) != 2 || !strings.HasPrefix(got[0], " do: ") {
		t.Errorf("%q", got)
	}
	if p.Column(80) != len(" do: cliQ") || p.Column(6) != 5 {
		t.Errorf("the cursor is at %d, and %d", p.Column(80), p.Column(6))
	}
}
