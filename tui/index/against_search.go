package index

import (
	"bytes"
	"context"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/session"
)

// search looks for the versions that the client had of some resources.
type search struct {
	f     *Fetcher
	of    *Fetched
	seeks map[string]*found // nil: not found yet
	full  bool              // each response has all that there is
	state *Fetched          // if full, what the client had
	stood Edition           // that it is
	read  map[session.Seq]bool
	known bool // all that the client had accepted was read

	whole             bool
	compared, weighed int
}

// found is the version of a resource that was there before.
type found struct {
	edition  Edition
	resource *decode.Resource // nil: it was removed
}

func (s *search) open() bool {
	if s.full {
		return s.state == nil
	}
	for _, have := range s.seeks {
		if have == nil {
			return true
		}
	}
	return false
}

// look reads what the client had accepted, the latest first, until there is
// nothing left to find; then what it was sent before.
func (s *search) look(ctx context.Context, of Row) error {
	x, r, ok := s.f.index, of, true
	last, none := x.Accepted(&of)
	for ; last != 0 && s.open(); last, none = x.AcceptedBefore(r) {
		if r, ok = x.BySeq(last); !ok || len(s.read) == maxSought || !s.take(ctx, r.Seq, x.Verdict(&r)) {
			return ctx.Err()
		}
	}
	s.known = none
	for range maxSteps {
		if of, ok = x.BySeq(of.Before()); !ok || !s.open() || len(s.read) == maxSought {
			break
		}
		verdict := Nothing // whether it was accepted by then is not known
		if x.Verdict(&of) == NACK {
			verdict = NACK
		}
		if !s.take(ctx, of.Seq, verdict) {
			break
		}
	}
	return ctx.Err()
}

// take reads a response, unless it was read, and takes what is sought from it. It
// is false if it cannot be read.
func (s *search) take(ctx context.Context, seq session.Seq, verdict What) bool {
	if s.read[seq] {
		return true
	}
	s.read[seq] = true
	got, err := s.f.fetchOne(ctx, seq)
	if err != nil || got.Change.Message == nil {
		return false
	}
	m := got.Change.Message
	edition := func(version string) Edition {
		if version == "" {
			version = m.Version
		}
		return Edition{seq, version, verdict}
	}
	if s.full {
		s.state, s.stood = got, edition("")
	}
	for i := range m.Resources {
		r := &m.Resources[i]
		if have, wanted := s.seeks[r.Name]; (wanted || s.full) && have == nil && !r.Empty {
			s.seeks[r.Name] = &found{edition(r.Version), r}
		}
	}
	for _, n := range m.Removed {
		if have, wanted := s.seeks[n]; wanted && have == nil {
			s.seeks[n] = &found{edition(""), nil}
		}
	}
	return true
}

func (s *search) compare() *Against {
	m := s.of.Change.Message
	seq := s.of.Entry.Seq
	verdict := Nothing
	if r, ok := s.f.index.BySeq(seq); ok {
		verdict = s.f.index.Verdict(&r)
	}
	out := &Against{Seq: seq, Type: s.of.Change.Type}
	for i := range m.Resources {
		r := &m.Resources[i]
		version := r.Version
		if version == "" {
			version = m.Version
		}
		c := Compared{Name: r.Name, Kind: diff.Added, New: Edition{seq, version, verdict}}
		have := s.seeks[r.Name]
		delete(s.seeks, r.Name)
		switch {
		case have != nil:
			c.Old = have.edition
		case s.state != nil: // the client had a state that it was not in
			c.Old = s.stood
		}
		switch {
		case r.Empty:
			c.Kind = diff.Same // a heartbeat: the content stays
		case have == nil || have.resource == nil:
			c.Lost = have == nil && s.state == nil && !s.known
			c.Only = s.only(r)
		case bytes.Equal(have.resource.Body, r.Body) && have.resource.TypeURL == r.TypeURL:
			c.Kind = diff.Same
		case !s.room(len(r.Body) + len(have.resource.Body)):
			c.Kind = diff.Changed
		default:
			old, now := have.resource.Decode(), r.Decode()
			c.Kind = diff.Changed
			c.Result = diff.Compare(&old.Root, &now.Root, diff.Options{})
			if c.Result.Same() {
				c.Kind = diff.Same
			}
		}
		out.add(c)
	}
	s.gone(out, m, verdict)
	return out
}

// room says whether so many bytes more may be decoded.
func (s *search) room(bytes int) bool {
	s.compared++
	s.weighed += bytes
	return s.compared <= maxCompared && s.weighed <= maxWeighed
}

// only is the content of a resource that there is one of.
func (s *search) only(r *decode.Resource) *document.Tree {
	if !s.whole || !s.room(len(r.Body)) {
		return nil
	}
	doc := r.Decode()
	return &doc.Root
}

// gone adds what the response takes away.
func (s *search) gone(out *Against, m *decode.Message, verdict What) {
	names := m.Removed
	if s.full && s.state != nil {
		for i := range s.state.Change.Message.Resources {
			if n := s.state.Change.Message.Resources[i].Name; s.seeks[n] != nil {
				names = append(names[:len(names):len(names)], n)
			}
		}
	}
	for _, n := range names {
		c := Compared{Name: n, Kind: diff.Removed, New: Edition{out.Seq, m.Version, verdict}}
		if have := s.seeks[n]; have != nil && have.resource != nil {
			c.Old, c.Only = have.edition, s.only(have.resource)
		}
		out.add(c)
	}
}

func (a *Against) add(c Compared) {
	a.Count[c.Kind]++
	a.Resources = append(a.Resources, c)
}
