// Package page has the views that are only read: help, events, a bootstrap, a rule.
package page

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Help says which keys work in a view, what the words on the screen mean, and
// how filters are written.
type Help struct {
	view.Page
	Of   view.View // whose keys it lists
	page int
}

const (
	helpKeys = iota
	helpWords
	helpFilters
	helpPages
)

func NewHelp(of view.View) view.View { return &Help{Of: of} }

func (v *Help) Title() string { return "Help" }

func (v *Help) Keys() []key.Offer {
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
	}, v.Offers()...)
}

func (v *Help) Do(scr view.Screen, a key.Action) tea.Cmd {
	all := v.paragraphs()
	if cmd, done := v.Page.Do(scr, a, all); done {
		return cmd
	}
	switch a {
	case key.NextPane, key.Form:
		v.turn(1)
	case key.PrevPane:
		v.turn(-1)
	case key.Copy:
		return scr.Copy(v.PlainText(all), "the page")
	case key.Open:
		if p := v.At(all); p != nil && p.Choice != "" {
			return scr.Timeline(p.Choice, 0)
		}
		scr.Say("enter tries the examples of filters; tab turns the page")
	}
	return nil
}

func (v *Help) turn(by int) {
	v.page = (v.page + by + helpPages) % helpPages
	v.Win, v.Words = widget.Window{Rows: v.Win.Rows}, ""
}

// paragraphs are those of the page, or of all pages if words are looked for.
func (v *Help) paragraphs() []widget.Paragraph {
	switch {
	case v.Words != "":
		return append(append(v.KeyPage(), WordPage()...), FilterPage()...)
	case v.page == helpWords:
		return WordPage()
	case v.page == helpFilters:
		return FilterPage()
	}
	return v.KeyPage()
}

// KeyPage is first what works in the view, then what works everywhere.
func (v *Help) KeyPage() []widget.Paragraph {
	out := []widget.Paragraph{{Head: "Keys in " + v.Of.Title(), Look: widget.Title}}
	here := make(map[key.Action]bool)
	for _, o := range v.Of.Keys() {
		here[o.Act] = true
		said := o.Help
		if said == "" {
			said = key.BindingOf(o.Act).Help
		}
		out = append(out, keyParagraph(o.Act, said))
	}
	out = append(out, widget.Paragraph{}, widget.Paragraph{Head: "Everywhere", Look: widget.Title})
	for _, a := range key.Global() {
		if !here[a] {
			out = append(out, keyParagraph(a, key.BindingOf(a).Help))
		}
	}
	return append(out, widget.Paragraph{}, widget.Paragraph{
		Head: "mouse", Look: widget.Muted, Text: "click selects, twice opens; the wheel scrolls; a click on a tab shows it, on titles sorts", Tone: widget.Plain,
	})
}

func keyParagraph(a key.Action, said string) widget.Paragraph {
	return widget.Paragraph{Head: strings.Join(key.BindingOf(a).Keys, " "), Look: widget.Accent, Text: said}
}

func (v *Help) Draw(_ view.Screen, w, h int) []widget.Line { return v.Sheet.Draw(v.paragraphs(), w, h) }

func (v *Help) Where(view.Screen) string {
	name := [...]string{"keys", "words", "filters"}[v.page]
	if v.Words != "" {
		name = "all pages"
	}
	return fmt.Sprintf("%s   %s", v.Sheet.Where(v.paragraphs()), name)
}

func (v *Help) About(view.Screen) widget.Line {
	if p := v.At(v.paragraphs()); p != nil && p.Choice != "" {
		return widget.Text(widget.Muted, "enter sets this filter in the timeline")
	}
	return widget.Text(widget.Muted, "tab turns the page: keys, words, filters; / looks in all of them")
}

func (v *Help) Click(scr view.Screen, _, y int, twice bool) tea.Cmd {
	if v.Sheet.Click(v.paragraphs(), y) && twice {
		return v.Do(scr, key.Open)
	}
	return nil
}
