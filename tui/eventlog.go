package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/key"
)

// eventLog is everything that the message line ever said, the latest last.
type eventLog struct {
	plainView
	sheet
	held bool // the selection was moved: it stays where it is
}

func newEventLog() view { return &eventLog{} }

func (v *eventLog) title() string { return "Events" }

func (v *eventLog) keys() []key.Offer {
	return append(v.offers(), key.Offer{Act: key.Copy, Hint: "copy", Help: "copy all of it"})
}

func (v *eventLog) do(m *Model, a key.Action) tea.Cmd {
	all := v.paragraphs(m)
	if cmd, done := v.sheet.do(m, a, all); done {
		v.held = v.win.at < len(v.lines(all))-1
		return cmd
	}
	if a == key.Copy {
		return m.copy(v.plainText(all), "the events")
	}
	return nil
}

func (v *eventLog) paragraphs(m *Model) []paragraph {
	var out []paragraph
	for _, e := range m.events.all {
		out = append(out, paragraph{head: e.at.UTC().Format("15:04:05"), look: muted, text: m.aliasText(e.text), tone: e.role})
	}
	return out
}

func (v *eventLog) draw(m *Model, w, h int) []line {
	all := v.paragraphs(m)
	if len(all) == 0 {
		return []line{blank(), text(plain, "   Nothing has been said yet.")}
	}
	v.w = w
	if !v.held {
		v.win.at = len(v.lines(all)) - 1
	}
	return v.sheet.draw(all, w, h)
}

func (v *eventLog) where(m *Model) string { return v.sheet.where(v.paragraphs(m)) }

func (v *eventLog) click(m *Model, _, y int, _ bool) tea.Cmd {
	v.held = v.sheet.click(v.paragraphs(m), y) || v.held
	return nil
}
