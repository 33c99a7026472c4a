package page

import (
	"bytes"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// builder keeps the entries for which there is room: those that a finding is about
// or that explain it, and the last ones.
type builder struct {
	bounds    bounds
	pool      *pool
	documents *render.Documents
	table     *render.Table
	ladder    *render.Ladder
	told      *convert.Told
	sizes     *sizes
	needed    map[session.Seq]bool
	nodes     nodes

	chosen, oldestHead, oldestBody int // entries that were chosen so far; rows before which nothing can go
	heads, bodies                  int // bytes; bodies is without pieces
	rows                           []*row
	large                          []session.Seq
}

func (b *builder) visit(e *session.Entry, c *check.Change, chosen bool) error {
	b.documents.See(e)
	b.table.See(e, c)
	b.ladder.See(e, c)
	b.told.Meet(e, c)
	b.nodes.meet(b, e, c)
	needed := b.needed[e.Seq]
	if !chosen && !needed {
		return nil
	}
	late, whole := needed, needed
	if chosen {
		late, whole = late || b.sizes.line(b.chosen), whole || b.sizes.whole(b.chosen)
		b.chosen++
	}
	if !late {
		b.skip(e, c)
		return nil
	}
	if whole && e.Message != nil && (e.Message.Data.Len() > maxWhole || e.Message.Large()) {
		b.large, whole = append(b.large, e.Seq), false
	}
	r, err := b.entry(e, c, whole)
	if err != nil {
		return err
	}
	r.needed = needed
	b.heads += len(r.head)
	b.bodies += len(r.body)
	b.rows = append(b.rows, r)
	b.fit()
	return nil
}

func (b *builder) skip(e *session.Entry, c *check.Change) {
	s := sumOf(e, c)
	if n := len(b.rows); n > 0 && b.rows[n-1].head == nil {
		b.rows[n-1].sum.add(&s)
		return
	}
	b.rows = append(b.rows, &row{sum: s})
}

// fit leaves out messages, and then entries, until the rest has room: the oldest of
// those that nothing needs first, and if there is no other the oldest of all.
func (b *builder) fit() {
	for b.bodies+b.pool.size > b.bounds.bodies {
		r := b.oldest(&b.oldestBody, func(r *row) bool { return r.body != nil })
		if r == nil {
			break
		}
		b.leave(r)
	}
	for b.heads > b.bounds.heads || b.bodies+b.pool.size > b.bounds.bodies { // then what entries have in common is too much
		r := b.oldest(&b.oldestHead, func(r *row) bool { return r.head != nil })
		if r == nil {
			break
		}
		b.leave(r)
		for _, id := range r.ids {
			b.pool.drop(id)
		}
		b.heads -= len(r.head)
		r.head, r.ids = nil, nil
	}
}

// leave takes the message out of a row.
func (b *builder) leave(r *row) {
	for _, id := range r.ids[r.ofHead:] {
		b.pool.drop(id)
	}
	b.bodies -= len(r.body)
	r.body, r.ids = nil, r.ids[:r.ofHead]
}

// oldest is the first row that may go. Before from there is none but needed ones.
func (b *builder) oldest(from *int, has func(*row) bool) *row {
	for ; *from < len(b.rows); *from++ {
		if r := b.rows[*from]; !r.needed && has(r) {
			return r
		}
	}
	for _, r := range b.rows {
		if has(r) {
			return r
		}
	}
	return nil
}

// entries are the rows as a list of JSON, and what is left out between them.
func (b *builder) entries() (list []byte, out []sum) {
	var w bytes.Buffer
	w.WriteByte('[')
	out = []sum{}
	before := false // the row before was left out
	for _, r := range b.rows {
		if r.head == nil {
			if before {
				out[len(out)-1].add(&r.sum)
			} else {
				out = append(out, r.sum)
			}
			before = true
			continue
		}
		before = false
		if w.Len() > 1 {
			w.WriteString(",\n")
		}
		w.Write(r.head)
		w.Write(r.body)
		w.WriteByte('}')
	}
	w.WriteByte(']')
	return w.Bytes(), out
}

// sizes knows from the first walk which of the chosen entries come late enough to
// have a row, and which to be decoded.
type sizes struct {
	bounds bounds
	last   []int64 // of the messages of the last entries, a ring
	count  int
	from   int // the first one that is decoded; -1: not known yet
}

func (s *sizes) see(e *session.Entry) {
	n := int64(0)
	if e.Message != nil {
		n = e.Message.Data.Len()
	}
	if len(s.last) < s.bounds.entries {
		s.last = append(s.last, n)
	} else {
		s.last[s.count%len(s.last)] = n
	}
	s.count++
}

func (s *sizes) line(n int) bool { return n >= s.count-s.bounds.entries }

func (s *sizes) whole(n int) bool {
	if s.from < 0 {
		room := s.bounds.decoded
		for s.from = s.count; s.from > max(0, s.count-len(s.last)); s.from-- {
			if room -= s.last[(s.from-1)%len(s.last)]; room < 0 {
				break
			}
		}
	}
	return n >= s.from
}
