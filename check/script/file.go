package script

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// fileLine reads F:.
func (p *player) fileLine(l *line) (action, int64, error) {
	f := l.fields("type", "V", "N", "res", "errs", "alias", "cp", "body", "watched", "seen", "replaced")
	if err := f.done(3); err != nil {
		return nil, 0, err
	}
	var words []string
	for _, w := range f.bare {
		v, err := l.textOf(w.value)
		f.fail(err)
		words = append(words, v)
	}
	switch {
	case len(words) < 2:
		f.fail(l.fail(l.at, "the event or the file is missing").hint("such as F: rename cds.yaml.tmp cds.yaml"))
		return nil, 0, f.err
	case !slices.Contains(xds.FileEvents(), words[0]):
		f.fail(l.fail(f.bare[0].off, "%s does not happen to a file", quoteShort(words[0])).meant(words[0], xds.FileEvents()))
	case len(words) == 3 && words[0] != xds.FileRenamed && words[0] != xds.FileSwapped:
		f.fail(l.fail(f.bare[2].off, "only a rename or a swap has two names"))
	}
	name := words[len(words)-1]
	headers := []session.Field{{Name: xds.FileEvent, Value: words[0]}}
	if len(words) == 3 {
		headers = append(headers, session.Field{Name: xds.FileFrom, Value: words[1]})
	}
	headers = append(headers, session.Field{Name: xds.FilePath, Value: name})
	for _, field := range []string{xds.FileWatched, xds.FileSeen, xds.FileReplaced} {
		if word := field[1:]; f.has(word) {
			headers = append(headers, session.Field{Name: field, Value: f.text(word)})
		}
	}
	r := f.response(nil)
	body := r.Marshal
	switch {
	case f.has("body"):
		body = f.body()
	case words[0] == xds.FileDeleted:
		if body = nil; len(f.list) > 0 {
			f.fail(l.fail(f.list[0].off, "a file that is deleted has no content"))
		}
	}
	return func() error {
		p.change(name, headers, body)
		return nil
	}, weight(r.Resources), f.err
}

// change makes the entries of a change of a file, whose stream has no
// connection.
func (p *player) change(name string, headers []session.Field, body func() []byte) {
	s := p.files[name]
	if s == nil {
		p.nstr++
		s = &stream{id: p.nstr, conn: &conn{}, shape: file}
		p.files[name] = s
		e := s.on(session.Proxy, session.KindOpen)
		e.Method = xds.FilePrefix + name
		p.add(e, nil)
	}
	e := s.on(session.Server, session.KindHeader)
	e.Headers = headers
	p.add(e, nil)
	if body != nil && len(body()) > 0 {
		p.add(s.on(session.Server, session.KindMessage), body)
	}
}
