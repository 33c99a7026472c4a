package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/palette"
	"github.com/xdsproxy/xdsproxy/tui/prompt"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/menu"
)

// typing is the prompt that is open, and the view that gets what is typed.
type typing struct {
	*prompt.Prompt
	to view.View
}

// Prompt asks for something for the view on top, unless it is asked already.
func (m *Model) Prompt(kind view.PromptKind, value string) tea.Cmd {
	if m.prompt != nil {
		return nil
	}
	to := m.top()
	p, cmd := prompt.New(kind, value, m.language(kind, to))
	m.prompt = &typing{p, to}
	return cmd
}

// Narrow asks which of some terms is to be added to a filter: that of the
// timeline, or the words of the view on top.
func (m *Model) Narrow(kind view.PromptKind, terms []string, not bool) tea.Cmd {
	to := m.top()
	if kind == view.EntryFilter {
		to = m.timeline
	}
	f, is := to.(view.Filterable)
	if !is || m.prompt != nil {
		return nil
	}
	have := view.SplitTerms(f.Query())
	var offers []string
	for _, t := range terms {
		if not {
			t = "-" + t
		}
		if !slices.Contains(have, t) && !slices.Contains(offers, t) {
			offers = append(offers, t)
		}
	}
	switch {
	case len(terms) == 0:
		m.Say("nothing here can be filtered by")
		return nil
	case len(offers) == 0:
		m.Say("the filter says all that already")
		return nil
	}
	base := f.Query()
	if base != "" {
		base += " "
	}
	return m.offer(kind, to, base, offers)
}

// offer asks for a filter, and begins with the first of some.
func (m *Model) offer(kind view.PromptKind, to view.View, base string, terms []string) tea.Cmd {
	if m.prompt != nil || len(terms) == 0 {
		return nil
	}
	p, cmd := prompt.Offer(kind, base, terms, m.language(kind, to))
	m.prompt = &typing{p, to}
	return cmd
}

// openPalette lists all that can be done in the view on top.
func (m *Model) openPalette() (cmd tea.Cmd) {
	all := palette.Of(m.top().Keys())
	for _, c := range m.commands() {
		name := c.Name
		if c.Args != "" {
			name += " "
		}
		all = append(all, palette.Item{Command: name, Help: c.Help})
	}
	m.palette, cmd = palette.New(all)
	return cmd
}

// choose takes a key for the palette, and does what was chosen. A command that
// takes something is typed on.
func (m *Model) choose(k tea.KeyPressMsg) tea.Cmd {
	cmd, chosen, done := m.palette.Key(k)
	if done {
		m.palette = nil
	}
	switch {
	case chosen == nil:
		return cmd
	case chosen.Act != "":
		return m.do(chosen.Act)
	case strings.HasSuffix(chosen.Command, " "):
		return m.Prompt(view.CommandPrompt, chosen.Command)
	}
	return m.command(chosen.Command)
}

// language is what can be typed for a view.
func (m *Model) language(kind view.PromptKind, to view.View) prompt.Language {
	var l prompt.Language
	switch kind {
	case view.EntryFilter:
		l = prompt.Filters(&m.seen)
	case view.CommandPrompt:
		return m.commands().Language()
	case view.RowFilter:
		l.Help = func(string) string { return "words that a row must have, or with - must not" }
	case view.ExportPrompt:
		l.Help = func(string) string { return "nothing is overwritten" }
	case view.TextSearch:
		l.Help = func(string) string { return "words that a line must have; n and N go on" }
	}
	if of, is := to.(view.Previewed); is && (kind == view.EntryFilter || kind == view.RowFilter) {
		l.Preview = func(text string) (string, tea.Cmd) { return of.Preview(m, text) }
	}
	return l
}

// typed takes a key for the prompt.
func (m *Model) typed(k tea.KeyPressMsg) tea.Cmd {
	p := m.prompt
	cmd, done, taken := p.Key(k)
	if !done {
		return cmd
	}
	m.prompt = nil
	if of, is := p.to.(view.Previewed); is && !taken {
		_, _ = of.Preview(m, "")
	}
	if !taken {
		return cmd
	}
	switch value := p.Value(); p.Kind {
	case view.CommandPrompt:
		return m.command(value)
	case view.NotePrompt:
		return m.writeNote(value)
	case view.ExportPrompt:
		if v, is := p.to.(*menu.Exporter); is {
			return v.Write(m, value)
		}
	case view.EntryFilter:
		return tea.Batch(m.Timeline(value, 0), m.tickAll())
	default:
		f, is := p.to.(view.Filterable)
		if !is {
			return nil
		}
		cmd, err := f.Ask(m, value)
		if err != nil {
			m.Complain(err)
		}
		return tea.Batch(cmd, m.tickAll())
	}
	return nil
}
