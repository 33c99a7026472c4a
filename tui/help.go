package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/key"
)

// help says which keys work in a view, what the words on the screen mean, and
// how filters are written.
type help struct {
	plainView
	sheet
	of   view // whose keys it lists
	page int
}

const (
	helpKeys = iota
	helpWords
	helpFilters
	helpPages
)

func newHelp(of view) view { return &help{of: of} }

func (v *help) title() string { return "Help" }

func (v *help) keys() []key.Offer {
	try := ""
	if v.page == helpFilters {
		try = "try"
	}
	return append([]key.Offer{
		{Act: key.NextPane, Hint: "page", Help: "keys, words, filters: the next page"},
		{Act: key.Open, Hint: try, Help: "set the filter of an example in the timeline"},
		{Act: key.Form, Help: "the next page"},
		{Act: key.PrevPane, Help: "the page before"},
		{Act: key.Copy, Help: "copy the page"},
	}, v.offers()...)
}

func (v *help) do(m *Model, a key.Action) tea.Cmd {
	all := v.paragraphs()
	if cmd, done := v.sheet.do(m, a, all); done {
		return cmd
	}
	switch a {
	case key.NextPane, key.Form:
		v.turn(1)
	case key.PrevPane:
		v.turn(-1)
	case key.Copy:
		return m.copy(v.plainText(all), "the page")
	case key.Open:
		if p := v.at(all); p != nil && p.run != nil {
			return p.run(m)
		}
		m.say("enter tries the examples of filters; tab turns the page")
	}
	return nil
}

func (v *help) turn(by int) {
	v.page = (v.page + by + helpPages) % helpPages
	v.win, v.words = window{rows: v.win.rows}, ""
}

// paragraphs are those of the page, or of all pages if words are looked for.
func (v *help) paragraphs() []paragraph {
	switch {
	case v.words != "":
		return append(append(v.keyPage(), wordPage()...), filterPage()...)
	case v.page == helpWords:
		return wordPage()
	case v.page == helpFilters:
		return filterPage()
	}
	return v.keyPage()
}

// keyPage is first what works in the view, then what works everywhere.
func (v *help) keyPage() []paragraph {
	out := []paragraph{{head: "Keys in " + v.of.title(), look: title}}
	here := make(map[key.Action]bool)
	for _, o := range v.of.keys() {
		here[o.Act] = true
		said := o.Help
		if said == "" {
			said = key.BindingOf(o.Act).Help
		}
		out = append(out, keyParagraph(o.Act, said))
	}
	out = append(out, paragraph{}, paragraph{head: "Everywhere", look: title})
	for _, a := range key.Global() {
		if !here[a] {
			out = append(out, keyParagraph(a, key.BindingOf(a).Help))
		}
	}
	return append(out, paragraph{}, paragraph{
		head: "mouse", look: muted, text: "click selects, twice opens; the wheel scrolls; a click on a tab shows it, on titles sorts", tone: plain,
	})
}

func keyParagraph(a key.Action, said string) paragraph {
	return paragraph{head: strings.Join(key.BindingOf(a).Keys, " "), look: accent, text: said}
}

func (v *help) draw(_ *Model, w, h int) []line { return v.sheet.draw(v.paragraphs(), w, h) }

func (v *help) where(*Model) string {
	name := [...]string{"keys", "words", "filters"}[v.page]
	if v.words != "" {
		name = "all pages"
	}
	return fmt.Sprintf("%s   %s", v.sheet.where(v.paragraphs()), name)
}

func (v *help) about(*Model) line {
	if p := v.at(v.paragraphs()); p != nil && p.run != nil {
		return text(muted, "enter sets this filter in the timeline")
	}
	return text(muted, "tab turns the page: keys, words, filters; / looks in all of them")
}

func (v *help) click(m *Model, _, y int, twice bool) tea.Cmd {
	if v.sheet.click(v.paragraphs(), y) && twice {
		return v.do(m, key.Open)
	}
	return nil
}
