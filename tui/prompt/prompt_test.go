package prompt

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

func press(p *Prompt, keys ...rune) (done, taken bool) {
	for _, k := range keys {
		msg := tea.KeyPressMsg{Code: k}
		if k < tea.KeyExtended && k >= ' ' && k != tea.KeyBackspace {
			msg.Text = string(k)
		}
		_, done, taken = p.Key(msg)
	}
	return done, taken
}

var backTab = tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}

func seen() *view.Seen {
	rule := check.Rules()[0]
	return &view.Seen{
		Standing: []engine.ClientStatus{{Client: "gw-0"}, {Client: "gw 1"}},
		Findings: []check.Finding{{Rule: rule, Names: []string{"web", "api:80"}}, {Rule: rule, Names: []string{"web"}}},
	}
}

// What can stand behind a text depends on what stands before it.
func TestFilterWords(t *testing.T) {
	of := Filters(seen())
	rule := check.Rules()[0].ID
	for _, c := range []struct{ before, word, want string }{
		{"", "cli", "client:"},
		{"kind:nack ", "VAR", "variant:"},
		{"-", "sev", "sev:"},
		{"client:", "", "gw-0 \"gw 1\""},
		{"x client:gw-0,", "GW", "gw-0"},
		{"-node.id:", "gw", "gw-0"},
		{"client:", "\"", "\"gw 1\""},
		{"sev:", "", "error warning info"},
		{"sev:error,", "w", "warning"},
		{"name:", "", "\"api:80\" web"},
		{"name:", "w", "web"},
		{"nonce:", "", ""},
		{"rule:", rule, rule},
	} {
		if got := strings.Join(of.Words(c.before, c.word), " "); got != c.want {
			t.Errorf("behind %q %q there can be %s, not %s", c.before, c.word, got, c.want)
		}
	}
	if n := len(of.Words("rule:", "")); n != len(check.Rules()) {
		t.Errorf("%d rules can be named", n)
	}
	if of.Help("") == "" || of.Help("x") != "" {
		t.Error("help is not for what is empty")
	}
}

// What is wrong says where, and what may be meant.
func TestWrongFilter(t *testing.T) {
	of := Filters(seen())
	for text, want := range map[string]string{"kind:nack": "", "": "", "clinet:x": "did you mean client?", "kind:nack size:big": "is not a size"} {
		w := of.Wrong(text)
		if (w == nil) != (want == "") || w != nil && !strings.Contains(w.Text, want) {
			t.Errorf("%s: %+v", text, w)
		}
	}
	if w := of.Wrong("kind:nack size:big"); w.At != 15 {
		t.Errorf("%+v", w)
	}
}

// Tab goes through what can stand there, and back; what is typed begins anew.
func TestComplete(t *testing.T) {
	p, _ := New(view.EntryFilter, "-client:gw-0,g", Filters(seen()))
	for _, want := range []string{"-client:gw-0,gw-0", "-client:gw-0,gw-0"} {
		if press(p, tea.KeyTab); p.Value() != want {
			t.Errorf("%q", p.Value())
		}
	}
	p, _ = New(view.EntryFilter, "sev:", Filters(seen()))
	for _, want := range []string{"sev:error", "sev:warning", "sev:info", "sev:error"} {
		if press(p, tea.KeyTab); p.Value() != want {
			t.Errorf("%q, not %q", p.Value(), want)
		}
	}
	if keys := p.Keys(); keys.PlainText() != " tab: error warning info" {
		t.Errorf("%q", keys.PlainText())
	}
	for _, want := range []string{"sev:info", "sev:warning"} {
		if p.Key(backTab); p.Value() != want {
			t.Errorf("%q, not %q", p.Value(), want)
		}
	}
	if keys := p.Keys(); keys.PlainText() != " tab: error warning info" {
		t.Errorf("%q", keys.PlainText())
	}
	press(p, tea.KeyBackspace)
	if keys := p.Keys(); p.Value() != "sev:warnin" || keys.PlainText() != " enter:do it  tab:complete  esc:cancel" {
		t.Errorf("%q %q", p.Value(), keys.PlainText())
	}
	p, _ = New(view.EntryFilter, "sev:", Filters(seen()))
	if p.Key(backTab); p.Value() != "sev:info" {
		t.Errorf("the last is %q", p.Value())
	}
	p, _ = New(view.EntryFilter, "x nothing-like", Filters(seen()))
	if press(p, tea.KeyTab, tea.KeyTab); p.Value() != "x nothing-like" || p.offer != nil {
		t.Errorf("%q %q", p.Value(), p.offer)
	}
	// A single word with a space behind it is done with: the next tab is of the next word.
	p, _ = New(view.RowFilter, "a:b", Language{Words: func(before, word string) []string { return []string{"<" + before + "|" + word + "> "} }})
	if press(p, tea.KeyTab); p.input.Value() != "<|a:b> " {
		t.Errorf("%q", p.input.Value())
	}
	if press(p, tea.KeyTab); p.input.Value() != "<|a:b> <<|a:b> |> " {
		t.Errorf("%q", p.input.Value())
	}
}

// What is wrong is not taken, and stands in the line.
func TestEnter(t *testing.T) {
	p, _ := New(view.EntryFilter, "clinet:x", Filters(seen()))
	if done, taken := press(p, tea.KeyEnter); done || taken {
		t.Error("it is taken")
	}
	line := p.Line(200, asIs)
	if !strings.HasPrefix(line.PlainText(), view.EntryFilter.Sign()+"clinet:x   ") || !strings.Contains(line.PlainText(), "did you mean client?") {
		t.Errorf("%q", line.PlainText())
	}
	if done, taken := press(p, tea.KeyEscape); !done || taken {
		t.Error("esc does not leave it")
	}
	p, _ = New(view.EntryFilter, "", Filters(seen()))
	if done, taken := press(p, tea.KeyEnter); !done || !taken {
		t.Error("nothing is no filter")
	}
	if line := p.Line(80, asIs); !strings.Contains(line.PlainText(), "client:gw-*") {
		t.Errorf("%q", line.PlainText())
	}
	if press(p, 'a', 'b'); p.Value() != "ab" {
		t.Errorf("%q", p.Value())
	}
	if done, taken := press(p, tea.KeyEnter); !done || !taken {
		t.Error("it is not taken")
	}
}

func TestOffer(t *testing.T) {
	var asked []string
	of := Language{Preview: func(text string) (string, tea.Cmd) {
		asked = append(asked, text)
		return "of " + text, nil
	}}
	p, _ := Offer(view.EntryFilter, "a ", []string{"x", "y"}, of)
	if p.Value() != "a x" || asked[len(asked)-1] != "a x" {
		t.Errorf("%q %v", p.Value(), asked)
	}
	if keys := p.Keys(); keys.PlainText() != " of a x  tab: x y" {
		t.Errorf("%q", keys.PlainText())
	}
	if press(p, tea.KeyTab); p.Value() != "a y" {
		t.Errorf("%q", p.Value())
	}
	if press(p, 'z'); p.Value() != "a yz" || asked[len(asked)-1] != "a yz" {
		t.Errorf("%q %v", p.Value(), asked)
	}
}

// A text that is too long is shown from where the cursor is in sight.
func TestLongLine(t *testing.T) {
	p, _ := New(view.RowFilter, strings.Repeat("0123456789", 5), Language{})
	sign := view.RowFilter.Sign()
	line := p.Line(20, asIs)
	if want := sign + strings.Repeat("0123456789", 5)[50-(17-len(sign)):]; line.PlainText() != want {
		t.Errorf("%q, not %q", line.PlainText(), want)
	}
	if got := p.Column(20, asIs); got != 17 {
		t.Errorf("the cursor is at %d", got)
	}
	if got := p.Column(100, asIs); got != len(sign)+50 {
		t.Errorf("the cursor is at %d", got)
	}
	p.input.SetCursor(3)
	if got := p.Column(20, asIs); got != len(sign)+3 {
		t.Errorf("the cursor is at %d", got)
	}
	p, _ = New(view.RowFilter, "ab", Language{Wrong: func(string) *Typo { return &Typo{At: 9, Text: "bad"} }})
	if line := p.Line(40, asIs); !strings.HasSuffix(line.PlainText(), "ab   bad") {
		t.Errorf("%q", line.PlainText())
	}
}

// asIs shows all that is typed.
func asIs(s string) string { return s }

// What is typed is shown as it may be seen, cut to fit after that; the cursor and what is
// wrong stand where they are in what is shown.
func TestHiddenLine(t *testing.T) {
	hide := func(s string) string { return strings.ReplaceAll(s, "the-real-name", "client-1") }
	p, _ := New(view.EntryFilter, "a the-real-name zz", Language{Wrong: func(string) *Typo { return &Typo{At: 16, Text: "the-real-name is wrong"} }})
	if l := p.Line(80, hide); l.PlainText() != "/a client-1 zz   client-1 is wrong" || l.Spans[2].Text != "zz" {
		t.Errorf("%q", l.PlainText())
	}
	if at := p.Column(80, hide); at != len("/a client-1 zz") {
		t.Error(at)
	}
	if l := p.Line(10, hide); !strings.HasPrefix(l.PlainText(), "/t-1 zz ") {
		t.Errorf("%q", l.PlainText())
	}
	for range 3 {
		press(p, tea.KeyLeft)
	}
	if at := p.Column(80, hide); at != len("/a client-1") {
		t.Error(at)
	}
	press(p, tea.KeyLeft) // within the name: the column is that of what is before it
	if at := p.Column(80, hide); at < len("/a ") || at > len("/a client-1 zz") {
		t.Error(at)
	}
}
