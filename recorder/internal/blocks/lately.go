package blocks

import (
	"slices"
	"unsafe"

	"github.com/xdsproxy/xdsproxy/session"
)

// lately knows which contents the chunks of the latest long messages were, by
// where in memory each chunk is. Chunks never change, and these are kept alive: a
// chunk in the same place, of the same length, is the same content, and nobody
// need look at its bytes. That is the case of most of a message that repeats an
// earlier one, if Transform gives what it gave before.
type lately struct {
	rows []*row // that which was used last is last
}

// row is one message. Of a chunk that is no content there is nothing, and its id
// is none.
type row struct {
	chunks session.Chunks
	ids    []int32
	bytes  int64
	used   bool // something of it was met again
}

const none = -1

const (
	// longRow is how many chunks a long message has at least.
	longRow = 64
	// maxRows bounds the messages, idleRows those of which nothing came again,
	// maxRowBytes what is kept alive for all, and for one that is longer.
	maxRows, idleRows, maxRowBytes = 8, 4, 32 << 20
	// rowBytes is what a chunk takes beside its bytes.
	rowBytes = 28
	// strayed is by how many places a chunk may be from where it should be.
	strayed = 8
)

// rowOf is what a message may repeat, or an empty row; nil if the message is
// short, or too long to be kept.
func (l *lately) rowOf(data session.Chunks, bytes int64) *row {
	if len(data) < longRow || bytes+int64(len(data))*rowBytes > maxRowBytes {
		return nil
	}
	best, most := -1, 0
	for i, r := range l.rows {
		if n := r.alike(data); n > most {
			best, most = i, n
		}
	}
	if best < 0 {
		l.rows = append(l.rows, new(row))
		return l.rows[len(l.rows)-1]
	}
	r := l.rows[best]
	r.used = true
	l.rows = append(slices.Delete(l.rows, best, best+1), r)
	return r
}

// alike counts places, of some, where data is as the row is.
func (r *row) alike(data session.Chunks) (n int) {
	for i := 1; i < len(data); i += len(data) / 16 {
		for k := max(i-1, 0); k < min(i+2, len(r.chunks)); k++ {
			if sameChunk(r.chunks[k], data[i]) {
				n++
				break
			}
		}
	}
	return n
}

func sameChunk(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// near is where a chunk is, not far from where it should be; none if it is not.
func (r *row) near(place int, chunk []byte) int {
	for i := max(place-strayed, 0); i < min(place+strayed, len(r.chunks)); i++ {
		if sameChunk(r.chunks[i], chunk) {
			return i
		}
	}
	return none
}

// match follows a message along a row, and makes the row that of the message.
type match struct {
	row   *row // nil if the message is not to be known
	done  int  // chunks of the message that were passed
	place int  // where in the row the next one should be
	// Up to here the row is that of the message, unless chunks have moved. Then
	// ids are their contents.
	moved bool
	ids   []int32
}

// run passes chunks that the row has where they should be, or near, and that are
// contents which follow each other. It returns the first of these, and how many.
func (m *match) run(data session.Chunks) (first, n int) {
	r, place := m.row, m.place
	if r == nil {
		return none, 0
	}
	if place >= len(r.chunks) || !sameChunk(r.chunks[place], data[0]) {
		if place = r.near(place, data[0]); place == none {
			return none, 0
		}
		if !m.moved {
			m.moved, m.ids = true, append(m.ids[:0], r.ids[:m.done]...)
		}
	}
	chunks, ids := r.chunks[place:], r.ids[place:]
	first = int(ids[0])
	for n < len(data) && n < len(chunks) && int(ids[n]) == first+n && sameChunk(chunks[n], data[n]) {
		n++
	}
	if m.moved {
		m.ids = append(m.ids, ids[:n]...)
	}
	m.done, m.place = m.done+n, place+n
	return first, n
}

// pass passes a chunk that run does not find, of this content or none.
func (m *match) pass(chunk []byte, id int) {
	r := m.row
	if r == nil {
		return
	}
	if id == none {
		chunk = nil
	}
	switch {
	case m.moved:
		m.ids = append(m.ids, int32(id))
	case m.place == len(r.chunks):
		r.chunks, r.ids = append(r.chunks, chunk), append(r.ids, int32(id))
	default:
		r.chunks[m.place], r.ids[m.place] = chunk, int32(id)
	}
	m.done++
	m.place++ // one that changed stands where the old one stood
}

// end is to be called after the last chunk.
func (m *match) end(data session.Chunks, bytes int64) {
	r := m.row
	if r == nil {
		return
	}
	r.bytes = bytes
	if !m.moved {
		clear(r.chunks[m.done:])
		r.chunks, r.ids = r.chunks[:m.done], r.ids[:m.done]
		return
	}
	clear(r.chunks)
	r.chunks, r.ids = append(r.chunks[:0], data...), append(r.ids[:0], m.ids...)
	for i, id := range r.ids {
		if id == none {
			r.chunks[i] = nil
		}
	}
}

// bound forgets what was not used for longest.
func (l *lately) bound() {
	var kept, idle int
	var sum int64
	for i := len(l.rows) - 1; i >= 0; i-- {
		r := l.rows[i]
		if !r.used {
			idle++
		}
		bytes := r.bytes + int64(len(r.ids))*rowBytes
		if kept > 0 && (sum+bytes > maxRowBytes || kept == maxRows || !r.used && idle > idleRows) {
			l.rows[i] = nil
			continue
		}
		kept, sum = kept+1, sum+bytes
	}
	l.rows = slices.DeleteFunc(l.rows, func(r *row) bool { return r == nil })
}
