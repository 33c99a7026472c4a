package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// eventLog is everything that the message line ever said, the latest last.
type eventLog struct {
	sheetView
	held bool // the selection was moved: it stays where it is
}

func newEventLog() view { return &eventLog{} }

func (v *eventLog) title() string { return "Events" }

func (v *eventLog) keys() []key.Offer {
	return append(v.Offers(), key.Offer{Act: key.Copy, Hint: "copy", Help: "copy all of it"})
}

func (v *eventLog) do(m *Model, a key.Action) tea.Cmd {
	all := v.paragraphs(m)
	if cmd, done := v.sheetView.do(m, a, all); done {
		v.held = v.Win.At < len(v.Lines(all))-1
		return cmd
	}
	if a == key.Copy {
		return m.copy(v.PlainText(all), "the events")
	}
	return nil
}

func (v *eventLog) paragraphs(m *Model) []widget.Paragraph {
	var out []widget.Paragraph
	for _, e := range m.events.all {
		out = append(out, widget.Paragraph{Head: e.at.UTC().Format("15:04:05"), Look: widget.Muted, Text: m.aliases.Text(e.text), Tone: e.role})
	}
	return out
}

func (v *eventLog) draw(m *Model, w, h int) []widget.Line {
	all := v.paragraphs(m)
	if len(all) == 0 {
		return []widget.Line{widget.Blank(), widget.Text(widget.Plain, "   Nothing has been said yet.")}
	}
	v.W = w
	if !v.held {
		v.Win.At = len(v.Lines(all)) - 1
	}
	return v.Sheet.Draw(all, w, h)
}

func (v *eventLog) where(m *Model) string { return v.Sheet.Where(v.paragraphs(m)) }

func (v *eventLog) click(m *Model, _, y int, _ bool) tea.Cmd {
	v.held = v.Sheet.Click(v.paragraphs(m), y) || v.held
	return nil
}
