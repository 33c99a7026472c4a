package tui

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// lossShown is how long the banner tells of entries that were dropped last.
const lossShown = 10 * time.Second

// awayShown is how long it tells of a file that somebody else took away.
const awayShown = 10 * time.Minute

// banner is the line of a trouble that lasts, the gravest if there are several.
// It goes when the cause ends.
func (m *Model) banner() (line, bool) {
	l := text(bad, " ! ")
	switch err := m.feed.Err(); {
	case err != nil:
		l.join(m.unreadable(err))
	case m.src.Proxy != nil && m.src.Proxy.Stats().Failing:
		l.add(bad, "the recording cannot be written; ")
		l.add(plain, "forwarding is not affected, and recording goes on when it can")
	case m.src.Link != nil && m.src.Link() != "":
		l.add(bad, m.aliasText(m.src.Link()))
	case !m.lostAt.IsZero() && m.now().Sub(m.lostAt) < lossShown:
		l.add(bad, render.Count(m.lost, "entry was not recorded", "entries were not recorded"))
		l.add(plain, ": the disk is slower than the traffic; forwarding is not affected")
	case !m.awayAt.IsZero() && m.now().Sub(m.awayAt) < awayShown:
		place := m.src.Proxy.Recording()
		if m.private() {
			place = filepath.Base(place)
		}
		l.add(bad, "somebody removed, replaced or truncated the file of the recording; ")
		l.add(plain, "it goes on in "+place)
	default:
		return line{}, false
	}
	return l, true
}

// unreadable says where a log ends to be readable, and how to mend it.
func (m *Model) unreadable(err error) line {
	damage, is := errors.AsType[*recorder.DamageError](err)
	if !is {
		return spans(span{bad, "this is not read any further: "}, span{plain, m.aliasText(err.Error())})
	}
	l := text(bad, "damaged after entry "+render.Number(int64(damage.AfterSeq))+"; ")
	if damage.Path == "" {
		l.add(plain, "nothing behind it can be read")
		return l
	}
	path := damage.Path
	if m.private() {
		path = filepath.Base(path)
	}
	fixed := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + "-fixed.xdsp"
	l.add(plain, "mend it: xdsproxy export "+shellWord(path)+" --repair -w "+shellWord(fixed))
	return l
}

// shellWord writes a word as a shell reads it.
func shellWord(s string) string {
	for _, c := range s {
		if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-", c) {
			return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
	}
	return s
}

// losses looks whether the log has dropped more.
func (m *Model) losses() {
	if m.src.Proxy == nil {
		return
	}
	st := m.src.Proxy.Stats()
	if st.Lost > m.lost {
		m.lost, m.lostAt = st.Lost, m.now()
	}
	if st.Losses > m.away {
		m.away, m.awayAt = st.Losses, m.now()
	}
}
