package check

import "github.com/xdsproxy/xdsproxy/internal/engine"

// referrers are what refers to the resources of one type on one stream. The
// last that were asked for are kept: of many names that are not answered in
// time each comes with a question of its own.
type referrers struct {
	stream *engine.Stream
	typ    string
	moved  uint64                     // see stream.moved
	by     map[string]engine.Referrer // nil until they were asked for twice
}

// referred finds, for names of a type, a resource on the stream that refers to
// each, as it was sent last.
func (x *event) referred(typ string, names map[string]struct{}) map[string]engine.Referrer {
	r, t := &x.k.referrers, x.stream
	switch {
	case r.stream != t || r.typ != typ || r.moved != t.Moved:
		*r = referrers{stream: t, typ: typ, moved: t.Moved}
		return t.Referred(typ, names)
	case r.by == nil:
		r.by = t.Referred(typ, nil)
	}
	var out map[string]engine.Referrer
	for name := range names {
		if by, ok := r.by[name]; ok {
			put(&out, name, by)
		}
	}
	return out
}
