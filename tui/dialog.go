package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// dialog asks one question before the screen goes, and nothing else.
type dialog struct {
	title   string
	choices []choice
	hint    string
	at      int
}

// choice is an answer: its keys, and how the screen is left; the last one does
// not leave it.
type choice struct {
	keys, text string
	outcome    Outcome
}

// leave ends the screen, or asks first if clients would be cut off, or if notes
// would go with it.
func (m *Model) leave() tea.Cmd {
	if p := m.log.Proxy; p != nil {
		if n := p.Clients(); n > 0 {
			return m.ask(render.Count(n, "client is connected.", "clients are connected."), "d, s, c at once",
				choice{"d", "detach: leave the screen, and go on proxying in the foreground", Detached},
				choice{"sy", fmt.Sprintf("stop: %s their control plane", render.Count(n, "client loses", "clients lose")), Stopped})
		}
	}
	if err := m.marks.Save(); err != nil {
		m.Complain(err)
	}
	if n, why := m.marks.Alone(); n > 0 {
		return m.ask("What you noted on "+render.Count(n, "entry", "entries")+" is kept nowhere else: "+why, "y, c at once",
			choice{"y", "leave: it goes with the screen", Stopped})
	}
	return m.stop()
}

func (m *Model) ask(title, hint string, choices ...choice) tea.Cmd {
	m.prompt, m.palette, m.dialog = nil, nil, &dialog{title: title, hint: hint, choices: append(choices, choice{text: "cancel"})}
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
		d.at = min(d.at+1, len(d.choices)-1)
	case "enter":
		return d.choose(m, d.at)
	default:
		for i, c := range d.choices {
			if strings.Contains(c.keys, name) && len(name) == 1 {
				return d.choose(m, i)
			}
		}
	}
	return nil
}

func (d *dialog) choose(m *Model, n int) tea.Cmd {
	m.dialog = nil
	if n == len(d.choices)-1 {
		return nil
	}
	m.outcome = d.choices[n].outcome
	return tea.Quit
}

// cover draws the dialog over the lowest lines of the body.
func (d *dialog) cover(m *Model, lines []widget.Line) {
	box := []widget.Line{
		widget.Text(widget.Muted, widget.Repeat(m.theme.Glyph.Line, m.w)),
		widget.Spans(widget.In(widget.Title, " "+d.title)),
	}
	for i, c := range d.choices {
		l := widget.Text(widget.Plain, "   "+c.text)
		if i == d.at {
			l = widget.Text(widget.Plain, " > "+c.text)
			l.Selected = true
		}
		box = append(box, l)
	}
	box = append(box, widget.Text(widget.Muted, " up and down, enter; "+d.hint), widget.Blank())
	copy(lines[max(len(lines)-len(box), 0):], box[max(len(box)-len(lines), 0):])
}
