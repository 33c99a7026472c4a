package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/alias"
	"github.com/xdsproxy/xdsproxy/tui/view/page"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// private says whether names and addresses are replaced.
func (m *Model) private() bool { return m.aliases.On }

func (m *Model) togglePrivacy() tea.Cmd {
	m.aliases.On = !m.aliases.On
	m.frame = ""
	if !m.private() {
		m.Say("names and addresses are shown as they are")
		return nil
	}
	if m.log.Proxy != nil {
		for _, r := range m.log.Proxy.Routes {
			if host, _, is := alias.HostPort(r.Upstream); is {
				m.aliases.Host(host)
			}
		}
	}
	m.meetSeen()
	m.Say("aliases stand for names and addresses; other words in messages stay")
	return m.meetHeld()
}

// meetSeen gives aliases to the clients that are known, and to the names of
// which findings speak.
func (m *Model) meetSeen() {
	if !m.private() {
		return
	}
	for i := range m.seen.Standing {
		m.aliases.Meet("client", m.seen.Standing[i].Client)
	}
	for i := range m.seen.Findings {
		f := &m.seen.Findings[i]
		for _, n := range f.Names {
			m.aliases.Meet(alias.KindOf(f.Type), n)
		}
	}
}

// heldMsg is the names of resources that clients hold.
type heldMsg map[string][]string

// heldEvery is how often clients are asked for the names that they hold, at
// most.
const heldEvery = 5 * time.Second

// meetHeld asks which resources clients have: that takes a moment.
func (m *Model) meetHeld() tea.Cmd {
	if !m.private() || m.asking || m.now().Sub(m.held) < heldEvery {
		return nil
	}
	m.held, m.asking = m.now(), true
	feed := m.log.Feed
	var ids []string
	for i := range m.seen.Standing {
		ids = append(ids, m.seen.Standing[i].Client)
	}
	return func() tea.Msg {
		var out alias.Held
		for _, id := range ids {
			if t := feed.Tree(id); t != nil && !out.Take(t) {
				break
			}
		}
		return heldMsg(out.Names)
	}
}

// hideView is the last look at what the view has drawn. Help has words of ours alone.
func (m *Model) hideView(lines []widget.Line) {
	if _, ours := m.top().(*page.Help); m.private() && !ours {
		m.aliases.Hide(lines)
	}
}

// hideIn is the last look at what is drawn: no name that is known leaves in full,
// whatever a view has forgotten. The lines of the frame are left out: they have
// words of ours, which may be somebody's names, and hide theirs themselves.
func (m *Model) hideIn(lines []widget.Line, top int) {
	if !m.private() {
		return
	}
	m.hideView(lines[top:m.bodyBottom()])
	m.aliases.Hide(lines[m.h-2 : m.h-1])
	if m.prompt != nil {
		m.aliases.Hide(lines[m.h-1:]) // what it offers
	}
}
