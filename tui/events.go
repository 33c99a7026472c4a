package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// message is something that the message line says.
type message struct {
	at   time.Time
	role widget.Role
	text string
	// notice says that nobody asked for it.
	notice bool
}

const (
	messageTime = 6 * time.Second
	maxEvents   = 1000
)

// events are what the message line said, the latest last.
type events struct {
	all []message
	// over is how many of them keys came after: these are not shown any longer,
	// but for notices.
	over int
	said uint64 // how many there ever were
}

// answered says that another key was pressed.
func (e *events) answered() { e.over = len(e.all) }

// shown is the message that the line shows. A notice waits until the answer to a
// key has been there for its time.
func (e *events) shown(at time.Time) (message, bool) {
	if len(e.all) == 0 {
		return message{}, false
	}
	last := e.all[len(e.all)-1]
	if !last.notice {
		return last, len(e.all) > e.over && at.Sub(last.at) <= messageTime
	}
	from := last.at
	for i := len(e.all) - 2; i >= e.over; i-- {
		before := e.all[i]
		if before.notice {
			continue
		}
		if at.Sub(before.at) <= messageTime {
			return before, true
		}
		if until := before.at.Add(messageTime); until.After(from) {
			from = until
		}
		break
	}
	return last, at.Sub(from) <= messageTime
}

// now is what the message line says.
func (e *events) now(at time.Time) (widget.Line, bool) {
	msg, is := e.shown(at)
	if !is {
		return widget.Line{}, false
	}
	return widget.Text(msg.role, " "+msg.text), true
}

// fresh says whether a message was still shown at a time.
func (e *events) fresh(at time.Time) bool {
	_, is := e.shown(at)
	return is
}

func (m *Model) Say(format string, args ...any) {
	m.tell(message{role: widget.Accent, text: fmt.Sprintf(format, args...)})
}

func (m *Model) Complain(err error) { m.tell(message{role: widget.Bad, text: err.Error()}) }

func (m *Model) tell(msg message) {
	if msg.at.IsZero() {
		msg.at = m.now()
	}
	if len(m.events.all) >= maxEvents {
		m.events.all, m.events.over = m.events.all[1:], max(m.events.over-1, 0)
	}
	m.events.all = append(m.events.all, msg)
	m.events.said++
}

// notice passes what others have to say on to the message line.
func (m *Model) notice() bool {
	lines := m.log.Notices.Take()
	for _, l := range lines {
		r := widget.Accent
		if strings.Contains(l, "warning") || strings.Contains(l, "WARN") || strings.Contains(strings.ToLower(l), "error") {
			r = widget.Warned
		}
		m.tell(message{role: r, text: l, notice: true})
	}
	return len(lines) > 0
}

// eventParagraphs are the messages as the event log has them.
func (m *Model) eventParagraphs() []widget.Paragraph {
	var out []widget.Paragraph
	for _, e := range m.events.all {
		out = append(out, widget.Paragraph{Head: render.ShortTime(e.at), Look: widget.Muted, Text: m.aliases.Text(e.text), Tone: e.role})
	}
	return out
}
