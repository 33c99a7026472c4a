package script

import (
	"fmt"
	"strconv"

	"github.com/xdsproxy/xdsproxy/session"
)

// end writes the end of a stream, or of the client's half.
func (w *writer) end(e *session.Entry) {
	st := w.streams[e.Stream]
	if st == nil {
		return
	}
	switch st.shape {
	case rest:
		w.pollEnd(st, e)
		return
	case file: // it has no end
		delete(w.streams, st.id)
		return
	}
	status := session.Status{Code: -1}
	if e.Status != nil {
		status = *e.Status
	}
	switch {
	case e.Kind == session.KindHalfClose:
		w.on(st, e.Time, "-- client-half-close")
		return
	case e.Kind == session.KindTrailer && status.Code < 0:
		w.on(st, e.Time, fmt.Sprintf("-- server-end http=%d%s", max(0, min(status.HTTP, 1<<31-1)), w.optional("msg", status.Message)))
	case e.Kind == session.KindTrailer:
		w.on(st, e.Time, "-- server-end code="+strconv.Itoa(int(status.Code))+w.optional("msg", status.Message))
	default:
		w.on(st, e.Time, w.cancelText(e.Side, &status))
	}
	st.ended = true
	w.ended = append(w.ended, st.id)
	if len(w.ended) > maxEnded {
		delete(w.streams, w.ended[0])
		w.ended = append(w.ended[:0], w.ended[1:]...)
	}
}

// cancelText is the irregular end of a stream.
func (w *writer) cancelText(side session.Side, s *session.Status) string {
	out := "-- cut by=" + sideText(side)
	if side == session.Client && s.WasReset {
		out = "-- client-end"
		if s.Code >= 0 {
			out += " code=" + strconv.Itoa(int(s.Code))
		}
		if s.Reset != cancelCode {
			out += " reset=" + strconv.FormatUint(uint64(s.Reset), 10)
		}
	} else if s.WasReset {
		out += " reset=" + strconv.FormatUint(uint64(s.Reset), 10)
	}
	return out + w.optional("msg", s.Message)
}

// sideText is by=. What nobody is known to have done is the proxy's.
func sideText(s session.Side) string {
	if s == session.SideUnknown || s > session.Proxy {
		s = session.Proxy
	}
	return s.String()
}

// connEvent writes what happens to a connection, on behalf of its first stream.
func (w *writer) connEvent(e *session.Entry) {
	c := w.conns[e.Conn]
	if c == nil || c.label == "" {
		w.lost[lostConns]++
		return
	}
	text := ""
	switch {
	case e.Kind == session.KindGoAway && e.GoAway != nil:
		text = fmt.Sprintf("-- goaway by=%s code=%d last=%d%s", sideText(e.Side), e.GoAway.Code, e.GoAway.LastStream, w.optional("msg", e.GoAway.Debug))
	case e.Kind == session.KindDisconnect:
		msg := ""
		if e.Status != nil {
			msg = e.Status.Message
		}
		text = fmt.Sprintf("-- disconnect by=%s%s", sideText(e.Side), w.optional("msg", msg))
	default:
		return
	}
	w.line(e.Time, c.label, text)
	if e.Kind == session.KindDisconnect {
		for _, id := range c.streams {
			delete(w.streams, id)
		}
		delete(w.conns, e.Conn)
	}
}
