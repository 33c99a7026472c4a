package index

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// Edition is a content as it came with a response.
type Edition struct {
	Seq     session.Seq // 0: there is none
	Version string
	Verdict What // ACK, NACK, or Nothing if there is no answer
}

// Compared is a resource of a response beside the one that the client had
// before.
type Compared struct {
	Name string
	Kind diff.Kind // Same, Added, Removed or Changed
	Old  Edition
	New  Edition
	// Result is what differs; nil if it was not looked into, because only one of
	// the two is there, or because there are too many.
	Result *diff.Result
	// Only is the content where only one of the two has any, if it was asked for.
	Only *decode.Tree
	// Lost says that there may have been a version before that was not found.
	Lost bool
}

// Against is a response beside what the client had before it.
type Against struct {
	Seq       session.Seq
	Type      string
	Resources []Compared // those of the response in their order, then those that are gone
	Count     [diff.Moved + 1]int
}

const (
	// maxSought is how many responses are read to find the versions before.
	maxSought = 64
	// maxCompared is how many resources are compared in depth, and maxWeighed
	// how many bytes.
	maxCompared = 500
	maxWeighed  = 16 << 20
)

// Against compares a response with what its client had accepted before, or, of
// what it had accepted nothing, with what it was sent before. whole asks for the
// contents of what only one of the two has.
func (f *Fetcher) Against(ctx context.Context, seq session.Seq, whole bool) (*Against, error) {
	got, err := f.fetchOne(ctx, seq)
	if err != nil {
		return nil, err
	}
	m := got.Change.Message
	if m == nil || !m.Response() {
		return nil, fmt.Errorf("%d is no response", seq)
	}
	s := search{f: f, of: got, seeks: make(map[string]*found), whole: whole}
	for i := range m.Resources {
		s.seeks[m.Resources[i].Name] = nil
	}
	for _, n := range m.Removed {
		s.seeks[n] = nil
	}
	here, elsewhere := f.index.ResponsesBefore(seq, maxSought)
	s.full = m.Kind == decode.SotwResponse && isFull(got.Change.Type)
	for _, rows := range [][]Row{here, elsewhere} {
		for _, verdict := range []What{ACK, Nothing, NACK} {
			if err := s.look(ctx, rows, verdict); err != nil {
				return nil, err
			}
		}
	}
	return s.compare(), nil
}

// isFull says whether a state-of-the-world response of a type is complete.
func isFull(typ string) bool { return typ == "LDS" || typ == "CDS" || typ == "SRDS" }

func (f *Fetcher) fetchOne(ctx context.Context, seq session.Seq) (*Fetched, error) {
	all, err := f.Fetch(ctx, seq)
	if got := all[seq]; got != nil {
		return got, nil
	}
	if err == nil {
		err = errAbsent
	}
	return nil, fmt.Errorf("cannot show %d: %w", seq, err)
}

// search looks for the versions that the client had of some resources.
type search struct {
	f     *Fetcher
	of    *Fetched
	seeks map[string]*found // nil: not found yet
	full  bool              // each response has all that there is
	state *Fetched          // if full, the state that was accepted
	as    What
	read  int
	ended bool // not everything was read

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

// look reads responses with a verdict until there is nothing left to find.
func (s *search) look(ctx context.Context, rows []Row, verdict What) error {
	for i := range rows {
		if !s.open() {
			return nil
		}
		if s.f.index.Verdict(&rows[i]) != verdict {
			continue
		}
		if s.read >= maxSought {
			s.ended = true
			return nil
		}
		s.read++
		got, err := s.f.fetchOne(ctx, rows[i].Seq)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || got.Change.Message == nil {
			s.ended = true
			continue
		}
		if s.full {
			s.state, s.as = got, verdict
		}
		s.take(got, verdict)
	}
	return nil
}

func (s *search) take(got *Fetched, verdict What) {
	m := got.Change.Message
	edition := func(version string) Edition {
		if version == "" {
			version = m.Version
		}
		return Edition{got.Entry.Seq, version, verdict}
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
			c.Old = s.f.edition(s.state)
		}
		switch {
		case r.Empty:
			c.Kind = diff.Same // a heartbeat: the content stays
		case have == nil || have.resource == nil:
			c.Lost = have == nil && s.ended
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
func (s *search) only(r *decode.Resource) *decode.Tree {
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

// Messages compares two messages as a whole. Versions and nonces make no
// difference.
func (f *Fetcher) Messages(ctx context.Context, old, new session.Seq) (*Compared, error) {
	got, err := f.fetchOne(ctx, old)
	if err != nil {
		return nil, err
	}
	now, err := f.fetchOne(ctx, new)
	if err != nil {
		return nil, err
	}
	for _, one := range []*Fetched{got, now} {
		if one.Entry.Message == nil {
			return nil, fmt.Errorf("%d is no message: there is nothing to compare", one.Entry.Seq)
		}
	}
	a, b := got.Decoded(), now.Decoded()
	c := &Compared{Kind: diff.Changed, Old: f.edition(got), New: f.edition(now)}
	c.Result = diff.Compare(&a.Root, &b.Root, diff.Options{Type: now.Change.Method.Message(now.Entry.Side), Ignore: diff.Envelope()})
	if c.Result.Same() {
		c.Kind = diff.Same
	}
	return c, nil
}

func (f *Fetcher) edition(got *Fetched) Edition {
	e := Edition{Seq: got.Entry.Seq}
	if m := got.Change.Message; m != nil {
		e.Version = m.Version
	}
	if r, ok := f.index.BySeq(e.Seq); ok {
		e.Verdict = f.index.Verdict(&r)
	}
	return e
}

// Resources compares the resource of this name in two responses. One of them
// may be 0.
func (f *Fetcher) Resources(ctx context.Context, name string, old, new session.Seq) (*Compared, error) {
	c := &Compared{Name: name, Kind: diff.Changed}
	var trees [2]*decode.Tree
	for i, seq := range []session.Seq{old, new} {
		if seq == 0 {
			continue
		}
		got, err := f.fetchOne(ctx, seq)
		if err != nil {
			return nil, err
		}
		e := f.edition(got)
		if r := got.Change.Resource(name); r != nil && !r.Empty {
			doc := r.Decode()
			trees[i] = &doc.Root
			if r.Version != "" {
				e.Version = r.Version
			}
		}
		*[]*Edition{&c.Old, &c.New}[i] = e
	}
	switch {
	case trees[0] == nil && trees[1] == nil:
		c.Kind = diff.Same
	case trees[0] == nil:
		c.Kind, c.Only = diff.Added, trees[1]
	case trees[1] == nil:
		c.Kind, c.Only = diff.Removed, trees[0]
	default:
		if c.Result = diff.Compare(trees[0], trees[1], diff.Options{}); c.Result.Same() {
			c.Kind = diff.Same
		}
	}
	return c, nil
}

// Around is what one needs to say what a message means: the entry it answers or
// that answers it, and who it was sent to.
type Around struct {
	Partner *Fetched // nil: there is none
	Held    *Row     // the response that the client had accepted before
	Peer    *session.Peer
}

// Around reads what is around an entry.
func (f *Fetcher) Around(ctx context.Context, seq session.Seq) Around {
	var a Around
	if at := f.index.Connection(seq); at != 0 {
		if got, err := f.fetchOne(ctx, at); err == nil {
			a.Peer = got.Entry.Peer
		}
	}
	r, ok := f.index.BySeq(seq)
	if !ok {
		return a
	}
	of := seq
	if p := r.Partner(); p != 0 {
		a.Partner, _ = f.fetchOne(ctx, p)
		of = min(of, p)
	}
	here, elsewhere := f.index.ResponsesBefore(of, maxSought)
	rows := append(here, elsewhere...)
	i := slices.IndexFunc(rows, func(r Row) bool { return f.index.Verdict(&r) == ACK })
	if i >= 0 {
		a.Held = &rows[i]
	}
	return a
}

// Findings are those of all that involve an entry.
func Findings(all []check.Finding, seq session.Seq) []check.Finding {
	var out []check.Finding
	for i := range all {
		if f := &all[i]; f.LastSeq == seq || slices.Contains(f.Seqs, seq) {
			out = append(out, *f)
		}
	}
	return out
}
