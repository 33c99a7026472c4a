package tui

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/tui/view"
)

// What is selected is what the other views are about: beside it at once, and when
// somebody goes there.

// about makes a selection the one of Clients, Resources and Violations, as far as
// it is about a client, a resource, or what a rule found.
func (m *Model) about(s view.Selection) {
	m.violations.Show(s.Seq)
	if !slices.Contains(m.seen.Clients(), s.Client) {
		return
	}
	if m.clients.At != s.Client {
		m.clients.At, m.clients.Typ = s.Client, ""
	}
	m.resources.Choose(m, s.Client) // also if Clients does not show it
	if s.Name != "" {
		m.resources.Select(s.Type, s.Name)
	}
}

// goTo is show for a person, who goes there from what is selected.
func (m *Model) goTo(tab int) {
	if of, is := m.top().(view.Subject); is && (len(m.over) > 0 || tab != m.tab) {
		m.about(of.Selected(m))
	}
	m.show(tab)
}

// panesFollow makes the panes beside the timeline be about its selection. While
// the timeline runs ahead by itself, they come after it now and then: each asks
// for what it shows.
func (m *Model) panesFollow() {
	s := m.timeline.Selected(m)
	focus := m.focused()
	switch {
	case focus != view.View(m.timeline) && focus != view.View(m.below), s.Seq == m.context:
		return
	case m.timeline.Ahead() && m.now().Sub(m.contextAt) < view.Judgement:
		return
	}
	if m.about(s); s.Client == "" || m.clients.At == s.Client { // else it is not known yet
		m.context, m.contextAt = s.Seq, m.now()
	}
}
