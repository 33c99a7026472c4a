package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// eventLog is everything that the message line ever said, the latest last.
type eventLog struct {
	all func() []widget.Paragraph
	sheetView
	held bool // the selection was moved: it stays where it is
}

func newEventLog(all func() []widget.Paragraph) view { return &eventLog{all: all} }

func (v *eventLog) title() string { return "Events" }

func (v *eventLog) keys() []key.Offer {
	return append(v.Offers(), key.Offer{Act: key.Copy, Hint: "copy", Help: "copy all of it"})
}

func (v *eventLog) do(scr Screen, a key.Action) tea.Cmd {
	all := v.all()
	if cmd, done := v.sheetView.do(scr, a, all); done {
		v.held = v.Win.At < len(v.Lines(all))-1
		return cmd
	}
	if a == key.Copy {
		return scr.Copy(v.PlainText(all), "the events")
	}
	return nil
}

func (v *eventLog) draw(scr Screen, w, h int) []widget.Line {
	all := v.all()
	if len(all) == 0 {
		return []widget.Line{widget.Blank(), widget.Text(widget.Plain, "   Nothing has been said yet.")}
	}
	v.W = w
	if !v.held {
		v.Win.At = len(v.Lines(all)) - 1
	}
	return v.Sheet.Draw(all, w, h)
}

func (v *eventLog) where(scr Screen) string { return v.Sheet.Where(v.all()) }

func (v *eventLog) click(scr Screen, _, y int, _ bool) tea.Cmd {
	v.held = v.Sheet.Click(v.all(), y) || v.held
	return nil
}
