package tui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/alias"
	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/compare"
	"github.com/xdsproxy/xdsproxy/tui/view/detail"
	"github.com/xdsproxy/xdsproxy/tui/view/ladder"
	"github.com/xdsproxy/xdsproxy/tui/view/menu"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// The screen as views see it.

func (m *Model) Log() *view.Log        { return m.log }
func (m *Model) Seen() *view.Seen      { return &m.seen }
func (m *Model) Now() time.Time        { return m.now() }
func (m *Model) Theme() *widget.Theme  { return &m.theme }
func (m *Model) Aliases() *alias.Table { return &m.aliases }
func (m *Model) Width() int            { return m.w }
func (m *Model) Top() view.View        { return m.top() }

func (m *Model) Choice(of string) *chosen.List { return m.opts.Choices.Of(of) }

// Follow selects an entry in the timeline, if it has a line there.
func (m *Model) Follow(seq session.Seq) { m.timeline.Follows(m, seq) }

// Act does what an action does with what is selected, where that leads out of
// the view.
func (m *Model) Act(a key.Action, s view.Selection) tea.Cmd {
	switch a {
	case key.View1:
		m.show(0)
		m.about(s)
	case key.Open:
		m.Push(detail.Within(m, s.Seq, cmp.Or(s.Within, s.Name)))
	case key.Diff, key.DiffMark:
		return compare.Open(m, s, a == key.DiffMark)
	case key.Ladder:
		return ladder.Open(m, s)
	case key.Resources:
		m.about(s)
		m.resources.Choose(m, s.Client)
		m.show(2)
		return m.resources.Tick(m)
	case key.Only:
		return m.narrowTo(s)
	case key.Mark:
		return m.mark(s.Seq)
	case key.CopyAs:
		m.copyAs(s.Seq)
	case key.Export:
		m.export()
	case key.Columns:
		if of, is := m.top().(view.Tabular); is {
			m.Push(menu.NewColumns(of))
		}
	case key.Close:
		return m.back()
	}
	return nil
}

// Timeline shows the entries that a filter takes, from one on if that is not 0.
func (m *Model) Timeline(filter string, from session.Seq) tea.Cmd {
	m.show(1)
	cmd, err := m.timeline.Ask(m, filter)
	if err != nil {
		m.Complain(err)
		return nil
	}
	if from != 0 {
		m.timeline.Hold(m)
		m.timeline.At = from
		m.timeline.Settle(m)
	}
	return cmd
}

// narrowTo asks for the messages of what is selected.
func (m *Model) narrowTo(s view.Selection) tea.Cmd {
	var terms []string
	if s.Name != "" {
		terms = append(terms, "name:"+view.Quoted(s.Name))
	}
	if s.Client != "" {
		terms = append(terms, "client:"+view.Quoted(s.Client))
	}
	if s.Type != "" && s.Name == "" {
		terms = append(terms, "type:"+s.Type)
	}
	if len(terms) > 1 {
		terms = append([]string{strings.Join(terms, " ")}, terms...)
	}
	return m.offer(view.EntryFilter, m.timeline, "", terms)
}

// copyAs asks in which form an entry is to be copied.
func (m *Model) copyAs(seq session.Seq) {
	r, ok := m.log.Index.BySeq(seq)
	if !ok {
		m.Say("%d has no line in the timeline, so that there is no choice of forms", seq)
		return
	}
	m.Push(menu.NewCopy(view.SourceName(m), &r, m.aliases.Text(m.timeline.RowText(m, &r)), m.top()))
}

// export asks what of this view is to be written.
func (m *Model) export() {
	if m.log.Export == nil {
		m.Say("this log can only be looked at here; xdsproxy export writes parts of recordings that are files")
		return
	}
	if _, is := m.top().(*menu.Exporter); is {
		return
	}
	var at view.Selection
	if of, is := m.top().(view.Subject); is {
		at = of.Selected(m)
	}
	m.Push(menu.NewExport(m.log, at, m.timeline.Query()))
}

// Pop takes a view away, wherever it is open above another one.
func (m *Model) Pop(v view.View) {
	for i := len(m.over) - 1; i >= 0; i-- {
		if m.over[i] == v {
			m.over = append(m.over[:i:i], m.over[i+1:]...)
			return
		}
	}
}

// IsOpen says whether a view is open above another one.
func (m *Model) IsOpen(v view.View) bool { return slices.Contains(m.over, v) }
