package page

import (
	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// eventLog is everything that the message line ever said, the latest last.
type eventLog struct {
	all func() []widget.Paragraph
	view.Page
	held bool // the selection was moved: it stays where it is
}

func NewEvents(all func() []widget.Paragraph) view.View { return &eventLog{all: all} }

func (v *eventLog) Title() string { return "Events" }

func (v *eventLog) Keys() []key.Offer {
	return append(v.Offers(), key.Offer{Act: key.Copy, Hint: "copy", Help: "copy all of it"})
}

func (v *eventLog) Do(scr view.Screen, a key.Action) tea.Cmd {
	all := v.all()
	if cmd, done := v.Page.Do(scr, a, all); done {
		v.held = v.Win.At < len(v.Lines(all))-1
		return cmd
	}
	if a == key.Copy {
		return scr.Copy(v.PlainText(all), "the events")
	}
	return nil
}

func (v *eventLog) Draw(scr view.Screen, w, h int) []widget.Line {
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

func (v *eventLog) Where(scr view.Screen) string { return v.Sheet.Where(v.all()) }

func (v *eventLog) Click(scr view.Screen, _, y int, _ bool) tea.Cmd {
	v.held = v.Sheet.Click(v.all(), y) || v.held
	return nil
}
