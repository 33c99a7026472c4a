package script

import (
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// poll is one request of a REST client: an HTTP/1.1 stream of its own.
type poll struct {
	id       session.StreamID
	answered bool

	path, verb string
	request    synth.Request
	v2         bool
	accepted   string // version of the last 200
}

// pollLine reads P>.
func (p *player) pollLine(l *line) (action, int64, error) {
	f := l.fields(append([]string{"path", "verb", "type", "V", "N", "R", "err", "code", "body"}, nodeWords...)...)
	next := poll{path: f.text("path"), verb: f.text("verb"), request: synth.Request{
		TypeURL: f.typeURL("type"), Version: f.text("V"), Nonce: f.text("N"), Node: f.node(), Error: f.status(),
	}}
	next.request.Names, next.request.Locators = f.located("R")
	if next.path == "" {
		next.path = restPath(next.request.TypeURL)
	}
	if next.path == "" {
		f.fail(l.fail(l.at, "the poll has no path").hint("such as path=/v3/discovery:clusters"))
	}
	if w := f.get("path"); w != nil && !strings.HasPrefix(next.path, "/") {
		f.fail(l.fail(w.value.from, "a path begins with a slash"))
	}
	if next.verb == "" {
		next.verb = "POST"
	}
	next.v2 = xds.LookupMethod(next.path).V2
	next.accepted = next.request.Version
	body := next.request.JSON
	if f.has("body") {
		body = f.body()
	}
	return func() error {
		p.poll(l.stream, next, body)
		return nil
	}, 0, f.done(0)
}

// restPath is the path at which a type is polled, or "".
func restPath(typeURL string) string {
	short, v2 := xds.ShortType(typeURL), strings.HasPrefix(xds.TypeWord(typeURL), "v2.")
	for _, m := range xds.Methods() {
		if m.Variant == xds.VariantREST && m.Type == short && m.V2 == v2 && xds.TypeWord(typeURL) != "" {
			return m.Path
		}
	}
	return ""
}

// body is body=, as it stands there.
func (f *fields) body() func() []byte {
	raw := []byte(f.text("body"))
	return func() []byte { return raw }
}

// poll makes the entries of a request.
func (p *player) poll(s *stream, next poll, body func() []byte) {
	c := p.connect(s)
	p.nstr++
	next.id = p.nstr
	s.poll, s.id, s.h2, s.headed = &next, next.id, 0, false
	e := s.on(session.Client, session.KindOpen)
	e.Method = next.path
	e.Headers = pollHeaders(next.verb, next.path, c.peer.Listen, s.userAgent())
	p.add(e, nil)
	if len(body()) > 0 {
		p.add(s.on(session.Client, session.KindMessage), body)
	}
	p.add(s.on(session.Client, session.KindHalfClose), nil)
}

// pollHeaders are those of a request.
func pollHeaders(verb, path, host, ua string) []session.Field {
	return []session.Field{
		{Name: ":method", Value: verb},
		{Name: ":path", Value: path},
		{Name: "host", Value: host},
		{Name: "content-type", Value: jsonType},
		{Name: "user-agent", Value: ua},
	}
}

// answerLine reads p<.
func (p *player) answerLine(l *line) (action, int64, error) {
	f := l.fields("type", "V", "N", "res", "errs", "alias", "cp", "body")
	if err := f.done(1); err != nil {
		return nil, 0, err
	}
	if len(f.bare) == 0 {
		return nil, 0, l.fail(l.at, "the status is missing").hint("such as p< 200")
	}
	status, err := l.number(f.bare[0].value, 599)
	if err == nil && status < 100 {
		err = l.fail(f.bare[0].off, "%d is no status of HTTP", status)
	}
	f.fail(err)
	r := f.response(nil)
	body := r.JSON
	switch {
	case f.has("body"):
		body = f.body()
	case status != 200:
		body = nil
		if len(f.list) > 0 {
			f.fail(l.fail(f.list[0].off, "an answer with status %d has no resources", status).hint(`body="..." is what else it says`))
		}
	}
	return func() error {
		s := l.stream
		if s.poll == nil {
			return l.fail(l.at, "there is no poll that this could answer").hint("P> before this line asks")
		}
		if s.poll.answered {
			next := *s.poll
			next.answered = false
			next.request.Version, next.request.Nonce, next.request.Error = next.accepted, "", nil
			p.poll(s, next, next.request.JSON)
		}
		p.answer(s, int(status), r, body)
		return nil
	}, weight(r.Resources) * 2, f.done(1)
}

// answer makes the entries of a response.
func (p *player) answer(s *stream, status int, r *synth.Response, body func() []byte) {
	s.id, s.h2 = s.poll.id, 0
	r.V2 = s.poll.v2
	e := s.on(session.Server, session.KindHeader)
	e.Headers = []session.Field{{Name: ":status", Value: strconv.Itoa(status)}}
	if body != nil {
		e.Headers = append(e.Headers, session.Field{Name: "content-type", Value: jsonType})
	}
	p.add(e, nil)
	if body != nil && len(body()) > 0 {
		p.add(s.on(session.Server, session.KindMessage), body)
	}
	e = s.on(session.Server, session.KindTrailer)
	e.Status = &session.Status{Code: -1, HTTP: status}
	p.add(e, nil)
	s.poll.answered = true
	if status == 200 {
		s.poll.accepted = r.Version
	}
}
