package tui

import (
	"fmt"
	"time"
)

// message is something that the message line says.
type message struct {
	at   time.Time
	role role
	text string
}

// saidMsg is a message from a command.
type saidMsg message

const (
	messageTime = 6 * time.Second
	maxEvents   = 1000
)

// events are what the message line said, the latest last.
type events struct {
	all []message
	// cleared says that the latest is not to be shown any longer.
	cleared bool
}

// now is what the message line says.
func (e *events) now(at time.Time) (line, bool) {
	if len(e.all) == 0 || e.cleared {
		return line{}, false
	}
	last := e.all[len(e.all)-1]
	if at.Sub(last.at) > messageTime {
		return line{}, false
	}
	return text(last.role, " "+last.text), true
}

// fresh says whether a message was still shown at a time.
func (e *events) fresh(at time.Time) bool {
	return len(e.all) > 0 && !e.cleared && at.Sub(e.all[len(e.all)-1].at) <= messageTime
}

func (m *Model) say(format string, args ...any) {
	m.tell(message{role: accent, text: fmt.Sprintf(format, args...)})
}

func (m *Model) complain(err error) { m.tell(message{role: bad, text: err.Error()}) }

func (m *Model) tell(msg message) {
	if msg.at.IsZero() {
		msg.at = m.now()
	}
	if len(m.events.all) >= maxEvents {
		m.events.all = m.events.all[1:]
	}
	m.events.all, m.events.cleared = append(m.events.all, msg), false
}
