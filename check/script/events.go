package script

import (
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/session"
)

// event is the name of an event.
func (l *line) event() string {
	if l.kind.word != "--" || len(l.words) == 0 || l.words[0].key != "" {
		return ""
	}
	return l.str(l.words[0].value)
}

// reset is the HTTP/2 error code CANCEL, with which clients leave a stream.
const cancelCode = 8

func (p *player) eventLine(l *line) (action, int64, error) {
	name := l.event()
	k := wordOf(eventKinds, name)
	switch {
	case l.times != 1 && (k == nil || !k.repeats):
		return nil, 0, l.fail(l.at, "this event happens once")
	case k != nil:
		act, err := k.read(p, l)
		return act, 0, err
	case len(l.words) == 0:
		return nil, 0, l.fail(l.at, "the event is missing").hint("one of %s", strings.Join(wordsOf(eventKinds), ", "))
	}
	w := l.str(l.words[0].value)
	return nil, 0, l.fail(l.words[0].off, "%s is no event", quoteShort(w)).meant(w, wordsOf(eventKinds))
}

func (p *player) serverHeaders(l *line) (action, error) {
	return p.onStream(l, p.headers), l.fields().done(1)
}

func (p *player) halfClose(l *line) (action, error) {
	return p.onStream(l, func(s *stream) {
		p.add(s.on(session.Client, session.KindHalfClose), nil)
	}), l.fields().done(1)
}

func (p *player) cut(l *line) (action, error) {
	f := l.fields("by", "msg", "reset")
	side, st := f.side(), session.Status{Code: -1, Message: f.text("msg"), WasReset: f.has("reset")}
	st.Reset = uint32(f.number("reset", 1<<32-1))
	return p.cancel(l, side, &st), f.done(1)
}

// cancel is the irregular end of a stream.
func (p *player) cancel(l *line, side session.Side, st *session.Status) action {
	return p.onStream(l, func(s *stream) {
		e := s.on(side, session.KindCancel)
		e.Status = st
		p.add(e, nil)
		s.ended = true
	})
}

func (p *player) disconnect(l *line) (action, error) {
	f := l.fields("by", "msg")
	e := session.Entry{Side: f.side(), Kind: session.KindDisconnect, Status: &session.Status{Code: -1, Message: f.text("msg")}}
	return p.onConn(l, e), f.done(1)
}

func (p *player) tick(l *line) (action, error) {
	return func() error {
		p.add(session.Entry{Side: session.Proxy, Kind: session.KindTime}, nil)
		return nil
	}, l.fields().done(1)
}

// open is a stream that a line opens by name. That of a REST client is a
// connection only.
func (p *player) open(s *stream) error {
	if s.shape == rest {
		p.connect(s)
	} else {
		p.openGRPC(s)
	}
	return nil
}

// onStream is the action of an event on a live stream.
func (p *player) onStream(l *line, do func(*stream)) action {
	return func() error {
		s := l.stream
		if err := s.alive(l); err != nil {
			return err
		}
		if s.shape == rest {
			if s.poll == nil {
				return l.fail(l.at, "there is no poll yet that this could be about")
			}
			s.id, s.h2 = s.poll.id, 0
		} else {
			p.openGRPC(s)
		}
		do(s)
		if s.shape == rest && s.ended { // the next poll is another stream
			s.ended, s.poll.answered = false, true
		}
		return nil
	}
}

// onConn is the action of an event on the connection of a stream.
func (p *player) onConn(l *line, e session.Entry) action {
	return func() error {
		e.Conn = p.connect(l.stream).id
		p.add(e, nil)
		return nil
	}
}

// side is by=; the server's by default.
func (f *fields) side() session.Side {
	w := f.get("by")
	if w == nil {
		return session.Server
	}
	for _, s := range []session.Side{session.Client, session.Server, session.Proxy} {
		if s.String() == f.l.str(w.value) {
			return s
		}
	}
	f.fail(f.l.fail(w.value.from, "%s is neither client nor server nor proxy", quoteShort(f.l.str(w.value))))
	return session.SideUnknown
}

func (p *player) serverEnd(l *line) (action, error) {
	f := l.fields("code", "msg", "http")
	code, msg, http := f.code("code"), f.text("msg"), int(f.number("http", 1<<31-1))
	return p.onStream(l, func(s *stream) {
		if f.has("http") {
			p.add(s.trailer(-1, msg, http), nil)
		} else {
			p.add(s.trailer(code, msg, 200), nil)
		}
		s.ended = true
	}), f.done(1)
}

func (p *player) clientEnd(l *line) (action, error) {
	f := l.fields("code", "msg", "reset")
	st := session.Status{Code: -1, Message: f.text("msg"), Reset: cancelCode, WasReset: true}
	if f.has("code") {
		st.Code = f.code("code")
	}
	if f.has("reset") {
		st.Reset = uint32(f.number("reset", 1<<32-1))
	}
	return p.cancel(l, session.Client, &st), f.done(1)
}

// trailer ends a stream from the server's side; what never had headers has them
// here.
func (s *stream) trailer(code int32, msg string, http int) session.Entry {
	e := s.on(session.Server, session.KindTrailer)
	e.Status = &session.Status{Code: code, Message: msg, HTTP: http}
	if !s.headed {
		e.Headers = append(e.Headers, session.Field{Name: ":status", Value: strconv.Itoa(http)})
		if code >= 0 {
			e.Headers = append(e.Headers, session.Field{Name: "content-type", Value: "application/grpc"})
		}
	}
	if code >= 0 {
		e.Headers = append(e.Headers, session.Field{Name: "grpc-status", Value: strconv.Itoa(int(code))})
		if msg != "" {
			e.Headers = append(e.Headers, session.Field{Name: "grpc-message", Value: percentEncode(msg)})
		}
	}
	return e
}

func (p *player) goAway(l *line) (action, error) {
	f := l.fields("by", "code", "last", "msg")
	e := session.Entry{Side: f.side(), Kind: session.KindGoAway, GoAway: &session.GoAway{
		LastStream: uint32(f.number("last", 1<<32-1)), Code: uint32(f.number("code", 1<<32-1)), Debug: f.text("msg"),
	}}
	return p.onConn(l, e), f.done(1)
}
