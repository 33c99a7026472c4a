package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/command"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/page"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// commands are what can be typed behind a colon.
func (m *Model) commands() command.Table {
	do := func(f func()) func(string) (tea.Cmd, error) {
		return func(string) (tea.Cmd, error) { f(); return nil, nil }
	}
	return command.Table{
		{Name: "clients", Help: "who is in sync with what", Do: do(func() { m.show(0) })},
		{Name: "timeline", Help: "the messages", Do: do(func() { m.show(1) })},
		{Name: "resources", Args: "[CLIENT]", Help: "the resources of a client", Do: m.resourcesOf, Words: func() []string { return m.seen.Clients() }},
		{Name: "violations", Help: "what rules found", Do: do(func() { m.show(3) })},
		{Name: "stats", Help: "counts and rates", Do: do(func() { m.show(4) })},
		{Name: "pushes", Help: "how far each change of the control plane is", Do: do(func() { m.show(5) })},
		{Name: "goto", Args: "SEQ|TIME", Help: "go to an entry, or to the first one at a time: 08:25, 08:25:10", Do: m.gotoEntry},
		{Name: "filter", Args: "FILTER", Help: "filter the timeline", Do: m.filterTimeline},
		{Name: "explain", Args: "[RULE]", Help: "what a rule means", Do: m.explain, Words: command.RuleIDs},
		{Name: "silence", Help: "mark the finding that is selected as known", Do: m.silence},
		{Name: "events", Help: "what the message line said", Do: do(func() { m.Push(page.NewEvents(m.eventParagraphs)) })},
		{Name: "help", Help: "the keys that work here", Do: do(func() { m.Push(page.NewHelp(m.top())) })},
		{Name: "theme", Args: "NAME", Help: strings.Join(Themes(), ", "), Do: m.setTheme, Words: Themes},
		{Name: "quit", Help: "leave", Do: func(string) (tea.Cmd, error) { return m.leave(), nil }},
	}
}

// command does what was typed.
func (m *Model) command(text string) tea.Cmd {
	cmd, err := m.commands().Run(text)
	if err != nil {
		m.Complain(err)
	}
	return tea.Batch(cmd, m.tickAll())
}

func (m *Model) gotoEntry(arg string) (tea.Cmd, error) {
	seq, said, err := command.Entry(arg, m.log.Index)
	if err != nil {
		return nil, err
	}
	m.show(1)
	cmd := m.timeline.GoTo(m, seq)
	if said != "" {
		m.Say("%s", said)
	}
	return cmd, nil
}

func (m *Model) filterTimeline(arg string) (tea.Cmd, error) {
	m.show(1)
	return m.timeline.Ask(m, arg)
}

func (m *Model) setTheme(arg string) (tea.Cmd, error) {
	if !slices.Contains(Themes(), arg) {
		return nil, fmt.Errorf("there is no theme %q; there are %s", arg, strings.Join(Themes(), ", "))
	}
	m.theme = widget.NewTheme(arg, m.opts.ASCII)
	m.theme.Suit(m.light)
	m.theme.Links = m.opts.Links
	return nil, nil
}

// resourcesOf is the command that shows the resources of a client, or of the one
// that is selected.
func (m *Model) resourcesOf(arg string) (tea.Cmd, error) {
	if arg == "" {
		m.show(2)
		return nil, nil
	}
	if !slices.Contains(m.seen.Clients(), arg) {
		return nil, fmt.Errorf("there is no client %q; tab lists them", arg)
	}
	return m.Act(key.Resources, view.Selection{Client: arg}), nil
}

// explain shows the page of a rule; with no name, of the finding that is
// selected.
func (m *Model) explain(arg string) (tea.Cmd, error) {
	if f := m.selectedFinding(); f != nil && arg == "" {
		arg = f.Rule.ID
	}
	r, err := command.Rule(arg)
	if err != nil {
		return nil, err
	}
	m.Push(&page.RulePage{Rule: r, Only: func() tea.Cmd {
		m.show(3)
		m.violations.Words = r.ID
		return nil
	}})
	return nil, nil
}
