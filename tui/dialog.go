package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// dialog asks what is to become of connected clients, and nothing else.
type dialog struct {
	clients int
	at      int
}

func (d *dialog) choices() []string {
	return []string{
		"detach: leave the screen, and go on proxying in the foreground",
		fmt.Sprintf("stop: %s their control plane", render.Count(d.clients, "client loses", "clients lose")),
		"cancel",
	}
}

// leave ends the screen, or asks first if clients would be cut off.
func (m *Model) leave() tea.Cmd {
	if m.log.Proxy == nil {
		return m.stop()
	}
	n := m.log.Proxy.Clients()
	if n == 0 {
		return m.stop()
	}
	m.prompt, m.dialog = nil, &dialog{clients: n}
	return nil
}

func (m *Model) stop() tea.Cmd {
	m.outcome = Stopped
	return tea.Quit
}

func (d *dialog) key(m *Model, name string) tea.Cmd {
	switch name {
	case "esc", "q", "c", "n":
		m.dialog = nil
	case "up", "k", "shift+tab":
		d.at = max(d.at-1, 0)
	case "down", "j", "tab":
		d.at = min(d.at+1, 2)
	case "d":
		return d.choose(m, 0)
	case "s", "y":
		return d.choose(m, 1)
	case "enter":
		return d.choose(m, d.at)
	}
	return nil
}

func (d *dialog) choose(m *Model, n int) tea.Cmd {
	m.dialog = nil
	switch n {
	case 0:
		m.outcome = Detached
		return tea.Quit
	case 1:
		return m.stop()
	}
	return nil
}

// cover draws the dialog over the lowest lines of the body.
func (d *dialog) cover(m *Model, lines []widget.Line) {
	box := []widget.Line{
		widget.Text(widget.Muted, widget.Repeat(m.theme.Glyph.Line, m.w)),
		widget.Spans(widget.In(widget.Title, " "+render.Count(d.clients, "client is connected.", "clients are connected."))),
	}
	for i, c := range d.choices() {
		l := widget.Text(widget.Plain, "   "+c)
		if i == d.at {
			l = widget.Text(widget.Plain, " > "+c)
			l.Selected = true
		}
		box = append(box, l)
	}
	box = append(box, widget.Text(widget.Muted, " up and down, enter; d, s, c at once"), widget.Blank())
	copy(lines[max(len(lines)-len(box), 0):], box[max(len(box)-len(lines), 0):])
}
