package tui

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// lossShown is how long the banner tells of entries that were dropped last.
const lossShown = 10 * time.Second

// awayShown is how long it tells of a file that somebody else took away.
const awayShown = 10 * time.Minute

// banner is the line of a trouble that lasts, the gravest if there are several.
// It goes when the cause ends.
func (m *Model) banner() (widget.Line, bool) {
	l := widget.Text(widget.Bad, " ! ")
	switch err := m.log.Feed.Err(); {
	case err != nil:
		l.Join(m.unreadable(err))
	case m.log.Proxy != nil && m.log.Proxy.Stats().Failing:
		l.Add(widget.Bad, "the recording cannot be written; ")
		l.Add(widget.Plain, "forwarding is not affected, and recording goes on when it can")
	case m.log.Link != nil && m.log.Link() != "":
		l.Add(widget.Bad, m.aliases.Text(m.log.Link()))
	case !m.lostAt.IsZero() && m.now().Sub(m.lostAt) < lossShown:
		l.Add(widget.Bad, render.Count(m.lost, "entry was not recorded", "entries were not recorded"))
		l.Add(widget.Plain, ": the disk is slower than the traffic; forwarding is not affected")
	case !m.awayAt.IsZero() && m.now().Sub(m.awayAt) < awayShown:
		place := m.log.Proxy.Recording()
		if m.private() {
			place = filepath.Base(place)
		}
		l.Add(widget.Bad, "somebody removed, replaced or truncated the file of the recording; ")
		l.Add(widget.Plain, "it goes on in "+place)
	default:
		return widget.Line{}, false
	}
	return l, true
}

// unreadable says where a log ends to be readable, and how to mend it.
func (m *Model) unreadable(err error) widget.Line {
	damage, is := errors.AsType[*recorder.DamageError](err)
	if !is {
		return widget.Spans(widget.In(widget.Bad, "this is not read any further: "), widget.In(widget.Plain, m.aliases.Text(err.Error())))
	}
	l := widget.Text(widget.Bad, "damaged after entry "+render.Number(int64(damage.AfterSeq))+"; ")
	if damage.Path == "" {
		l.Add(widget.Plain, "nothing behind it can be read")
		return l
	}
	path := damage.Path
	if m.private() {
		path = filepath.Base(path)
	}
	fixed := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + "-fixed.xdsp"
	l.Add(widget.Plain, "mend it: xdsproxy export "+view.ShellWord(path)+" --repair -w "+view.ShellWord(fixed))
	return l
}

// losses looks whether the log has dropped more.
func (m *Model) losses() {
	if m.log.Proxy == nil {
		return
	}
	st := m.log.Proxy.Stats()
	if st.Lost > m.lost {
		m.lost, m.lostAt = st.Lost, m.now()
	}
	if st.Losses > m.away {
		m.away, m.awayAt = st.Losses, m.now()
	}
}
