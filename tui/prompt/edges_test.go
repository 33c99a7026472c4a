package prompt

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// What may help is said behind what is wrong, and nothing where nothing may.
func TestHints(t *testing.T) {
	of := Filters(seen())
	for text, want := range map[string]string{"clinet:x": "did you mean client?", "zzzzzz:x": "the keys are client, type, kind", "size:big": ""} {
		w := of.Wrong(text)
		if w == nil {
			t.Errorf("nothing is wrong with %s", text)
			continue
		}
		if _, after, is := strings.Cut(w.Text, "; "); is != (want != "") || !strings.HasPrefix(after, want) {
			t.Errorf("%s: %q, not %q", text, w.Text, want)
		}
	}
}

// The word that tab completes begins behind the last space, and in a filter behind the
// dash, the colon and the comma of its term.
func TestWhatIsCompleted(t *testing.T) {
	for _, tc := range []struct {
		kind             view.PromptKind
		text, base, word string
	}{
		{view.EntryFilter, "", "", ""},
		{view.EntryFilter, "a b", "a ", "b"},
		{view.EntryFilter, "a -b", "a -", "b"},
		{view.EntryFilter, "a:b", "a:", "b"},
		{view.EntryFilter, ":b", ":", "b"},
		{view.EntryFilter, "-a:b,c", "-a:b,", "c"},
		{view.EntryFilter, "a,b", "", "a,b"},
		{view.EntryFilter, "a:,", "a:,", ""},
		{view.RowFilter, "a -b:c,d", "a ", "-b:c,d"},
	} {
		base, word := "none", "none"
		p, _ := New(tc.kind, tc.text, Language{Words: func(b, w string) []string {
			base, word = b, w
			return nil
		}})
		if press(p, tea.KeyTab); base != tc.base || word != tc.word {
			t.Errorf("of %q the word %q behind %q is completed", tc.text, word, base)
		}
	}
	if got := Filters(seen()).Words(":a,", ""); len(got) != 0 {
		t.Errorf("a term without a key can have %q", got)
	}
}

// bad is what stands in red in a line.
func bad(l *widget.Line) (out string) {
	for _, s := range l.Spans {
		if s.Role == widget.Bad {
			out += s.Text
		}
	}
	return out
}

// What is wrong is red from its first character on, wherever the line begins.
func TestWhereItIsWrong(t *testing.T) {
	const value = "0123456789abcdefghij"
	for _, tc := range []struct {
		at, columns int
		want        string
	}{
		{0, 80, value},
		{5, 80, value[5:]},
		{19, 80, "j"},
		{20, 80, ""},
		{30, 80, ""},
		{15, 14, "fghij"},
		{10, 14, "abcdefghij"},
		{11, 14, "bcdefghij"},
		{3, 14, "abcdefghij"},
	} {
		p, _ := New(view.RowFilter, value, Language{Wrong: func(string) *Typo { return &Typo{At: tc.at, Text: "no"} }})
		if l := p.Line(tc.columns, asIs); bad(&l) != tc.want {
			t.Errorf("from %d on, in %d columns: %q is red, not %q", tc.at, tc.columns, bad(&l), tc.want)
		}
	}
}

// Of several words that tab goes through, the one that it stands at is in another
// colour; of one alone there is nothing to say.
func TestWhereTabStands(t *testing.T) {
	p, _ := New(view.EntryFilter, "sev:", Filters(seen()))
	for _, want := range []string{"error", "warning", "info"} {
		press(p, tea.KeyTab)
		var here []string
		for _, s := range p.Keys().Spans {
			if s.Role == widget.Accent {
				here = append(here, strings.TrimSpace(s.Text))
			}
		}
		if p.Value() != "sev:"+want || !slices.Equal(here, []string{want}) {
			t.Errorf("%q, and tab stands at %q", p.Value(), here)
		}
	}
	p, _ = New(view.EntryFilter, "client:gw-", Filters(seen()))
	press(p, tea.KeyTab)
	if keys := p.Keys(); p.Value() != "client:gw-0" || keys.PlainText() != " enter:do it  tab:complete  esc:cancel" {
		t.Errorf("%q, %q", p.Value(), keys.PlainText())
	}
}
