package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/page"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// command is something that can be typed behind a colon.
type command struct {
	name, args, help string
	do               func(m *Model, arg string) (tea.Cmd, error)
	complete         func(m *Model) []string // what the argument can be
}

func commands() []command {
	return []command{
		{"clients", "", "who is in sync with what", func(m *Model, _ string) (tea.Cmd, error) { m.show(0); return nil, nil }, nil},
		{"timeline", "", "the messages", func(m *Model, _ string) (tea.Cmd, error) { m.show(1); return nil, nil }, nil},
		{"resources", "[CLIENT]", "the resources of a client", (*Model).resourcesOf, func(m *Model) []string { return m.seen.Clients() }},
		{"violations", "", "what rules found", func(m *Model, _ string) (tea.Cmd, error) { m.show(3); return nil, nil }, nil},
		{"stats", "", "counts and rates", func(m *Model, _ string) (tea.Cmd, error) { m.show(4); return nil, nil }, nil},
		{"goto", "SEQ", "go to an entry", (*Model).gotoSeq, nil},
		{"filter", "FILTER", "filter the timeline", (*Model).filterTimeline, nil},
		{"explain", "[RULE]", "what a rule means", (*Model).explain, func(*Model) []string { return ruleIDs() }},
		{"silence", "", "mark the finding that is selected as known", (*Model).silence, nil},
		{"events", "", "what the message line said", func(m *Model, _ string) (tea.Cmd, error) { m.Push(page.NewEvents(m.eventParagraphs)); return nil, nil }, nil},
		{"help", "", "the keys that work here", func(m *Model, _ string) (tea.Cmd, error) { m.Push(page.NewHelp(m.top())); return nil, nil }, nil},
		{"theme", "NAME", "auto, light, dark or mono", (*Model).setTheme, func(*Model) []string { return Themes() }},
		{"quit", "", "leave", func(m *Model, _ string) (tea.Cmd, error) { return m.leave(), nil }, nil},
	}
}

func (m *Model) find(name string) *command {
	for _, c := range commands() {
		if c.name == name || name == "q" && c.name == "quit" {
			return &c
		}
	}
	return nil
}

func commandNames() []string {
	var out []string
	for _, c := range commands() {
		out = append(out, c.name)
	}
	return out
}

// command does what was typed. A number goes to the entry.
func (m *Model) command(text string) tea.Cmd {
	name, arg, _ := strings.Cut(text, " ")
	if name == "" {
		return nil
	}
	if _, err := strconv.ParseUint(name, 10, 64); err == nil {
		name, arg = "goto", name
	}
	c := m.find(name)
	if c == nil {
		m.Complain(unknownCommand(name))
		return nil
	}
	cmd, err := c.do(m, strings.TrimSpace(arg))
	if err != nil {
		m.Complain(err)
	}
	return tea.Batch(cmd, m.tickAll())
}

func unknownCommand(name string) error {
	if n := nearest.Name(name, commandNames()); n != "" {
		return fmt.Errorf("there is no command %q; did you mean %q?", name, n)
	}
	return fmt.Errorf("there is no command %q; tab lists them", name)
}

func (m *Model) wrongCommand(text string) *typo {
	name, _, more := strings.Cut(text, " ")
	if _, err := strconv.ParseUint(name, 10, 64); err == nil || name == "" || m.find(name) != nil {
		return nil
	}
	for _, n := range commandNames() {
		if !more && strings.HasPrefix(n, name) {
			return nil
		}
	}
	return &typo{0, unknownCommand(name).Error()}
}

func (m *Model) helpCommand(text string) string {
	name, _, _ := strings.Cut(text, " ")
	if c := m.find(name); c != nil {
		return strings.TrimLeft(c.args+"  "+c.help, " ")
	}
	return strings.Join(commandNames(), " ")
}

func (m *Model) completeCommand(base, word string) []string {
	all := commandNames()
	if base != "" {
		c := m.find(strings.TrimSpace(base))
		if c == nil || c.complete == nil {
			return nil
		}
		all = c.complete(m)
	}
	var out []string
	for _, n := range all {
		if strings.HasPrefix(n, word) {
			out = append(out, n)
		}
	}
	return out
}

func (m *Model) gotoSeq(arg string) (tea.Cmd, error) {
	n, err := strconv.ParseUint(arg, 10, 64)
	if err != nil || n == 0 {
		return nil, fmt.Errorf("%q is no sequence number", arg)
	}
	m.show(1)
	return m.timeline.GoTo(m, session.Seq(n)), nil
}

func (m *Model) filterTimeline(arg string) (tea.Cmd, error) {
	m.show(1)
	return m.timeline.Ask(m, arg)
}

func (m *Model) setTheme(arg string) (tea.Cmd, error) {
	for _, n := range Themes() {
		if n == arg {
			m.theme = widget.NewTheme(arg, m.opts.ASCII)
			m.theme.Suit(m.light)
			return nil, nil
		}
	}
	return nil, fmt.Errorf("there is no theme %q; there are %s", arg, strings.Join(Themes(), ", "))
}

func ruleIDs() []string {
	var out []string
	for _, r := range check.Rules() {
		out = append(out, r.ID)
	}
	return out
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
	if arg == "" {
		if f := m.selectedFinding(); f != nil {
			arg = f.Rule.ID
		}
	}
	if arg == "" {
		return nil, fmt.Errorf("explain needs the name of a rule; tab lists them")
	}
	for _, r := range check.Rules() {
		if r.ID == arg {
			m.Push(&page.RulePage{Rule: r, Only: func() tea.Cmd {
				m.show(3)
				m.violations.Words = r.ID
				return nil
			}})
			return nil, nil
		}
	}
	if n := nearest.Name(arg, ruleIDs()); n != "" {
		return nil, fmt.Errorf("there is no rule %q; did you mean %q?", arg, n)
	}
	return nil, fmt.Errorf("there is no rule %q; tab lists them", arg)
}
