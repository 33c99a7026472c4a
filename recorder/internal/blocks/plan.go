package blocks

import (
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// plan is how the data of a message goes into an entry: a row of fields that
// are literal bytes, new content, or a run of earlier content. The bytes
// themselves are not copied: parts says where they come between the heads.
type plan struct {
	heads  []byte
	parts  []part
	bytes  int64 // of all parts
	fresh  int   // contents that it defines
	stored int64 // their bytes
	data   int64 // of the message
	masked bool  // something of it was masked by the content hook

	literal      session.Chunks // not yet in parts
	first, count int            // a run that is not yet in heads

	match match
}

// part is bytes that follow heads[:after], and earlier parts.
type part struct {
	after int
	bytes []byte
}

// keepParts is how many parts a plan keeps room for.
const keepParts = 64 << 10

func (p *plan) reset() {
	if cap(p.parts) > keepParts {
		*p = plan{}
	}
	clear(p.parts)
	*p = plan{heads: p.heads[:0], parts: p.parts[:0], literal: p.literal[:0], match: match{ids: p.match.ids[:0]}}
}

// LoneContent is from which length on a message that nobody has cut, or a part
// of what a client says, is content: short ones, such as acknowledgements and
// nonces, are seldom the same again, and each would be kept in memory by whoever
// reads the epoch.
const LoneContent = 512

// size is how many bytes the fields take up.
func (p *plan) size() int64 { return int64(len(p.heads)) + p.bytes }

var errContent = errors.New("the content hook did not keep the length")

// make plans the data of a message of side, on a plan that was reset. Each chunk
// that is to be stored passes hook. An error, or a panic of hook, leaves
// definitions behind that drop takes back.
func (p *plan) make(side session.Side, data session.Chunks, known *contents, hook func([]byte) []byte) error {
	p.data = data.Len()
	define := p.data <= format.EpochBytes/2
	least := format.MinContent
	if len(data) == 1 || side == session.Client {
		least = LoneContent
	}
	m := &p.match
	if side != session.Client {
		m.row = known.lately.rowOf(data, p.data)
	}
	for i := 0; i < len(data); i++ {
		chunk := data[i]
		if len(chunk) == 0 {
			m.pass(nil, none)
			continue
		}
		var sum [2]uint64
		if len(chunk) >= least {
			if first, n := m.run(data[i:]); n > 0 {
				p.run(first, n)
				p.masked = p.masked || slices.Contains(known.masked[first:first+n], true)
				known.guess = first + n
				i += n - 1
				continue
			}
			var id int
			if sum, id = known.find(chunk); id != none {
				m.pass(chunk, id)
				p.run(id, 1)
				p.masked = p.masked || known.masked[id]
				continue
			}
		}
		stored := chunk
		if hook != nil {
			stored = hook(chunk)
			if len(stored) != len(chunk) {
				return errContent
			}
		}
		changed := &stored[0] != &chunk[0] && string(stored) != string(chunk)
		p.masked = p.masked || changed
		if len(chunk) < least || !define || !known.room(len(chunk)) {
			p.flushRun()
			p.literal = append(p.literal, stored)
			m.pass(nil, none)
			continue
		}
		m.pass(chunk, len(known.Sums))
		known.add(sum, len(chunk), changed)
		p.flush()
		p.fresh++
		p.stored += int64(len(stored))
		p.head(format.FieldContent, uint64(len(stored)))
		p.part(stored)
	}
	p.flush()
	if m.end(data, p.data); m.row != nil {
		known.lately.bound()
	}
	return nil
}

// drop takes back what the plan defined.
func (p *plan) drop(known *contents) {
	if p.fresh > 0 {
		known.forget(len(known.Sums)-p.fresh, p.stored)
	}
	known.lately = lately{} // a row may have been begun
	p.reset()
}

// run adds n contents that follow each other.
func (p *plan) run(first, n int) {
	if p.count > 0 && first == p.first+p.count {
		p.count += n
		return
	}
	p.flush()
	p.first, p.count = first, n
}

// flush ends the run or the literal that is open; there is at most one.
func (p *plan) flush() {
	p.flushRun()
	if len(p.literal) == 0 {
		return
	}
	p.head(format.FieldData, uint64(p.literal.Len()))
	for _, c := range p.literal {
		p.part(c)
	}
	clear(p.literal)
	p.literal = p.literal[:0]
}

func (p *plan) flushRun() {
	if p.count == 0 {
		return
	}
	n := protowire.SizeVarint(uint64(p.first)) + protowire.SizeVarint(uint64(p.count))
	p.head(format.FieldRun, uint64(n))
	p.heads = protowire.AppendVarint(p.heads, uint64(p.first))
	p.heads = protowire.AppendVarint(p.heads, uint64(p.count))
	p.count = 0
}

func (p *plan) head(num protowire.Number, n uint64) {
	p.heads = protowire.AppendTag(p.heads, num, protowire.BytesType)
	p.heads = protowire.AppendVarint(p.heads, n)
}

func (p *plan) part(b []byte) {
	p.parts = append(p.parts, part{len(p.heads), b})
	p.bytes += int64(len(b))
}

// write gives the fields to w, piece by piece.
func (p *plan) write(w func([]byte)) {
	from := 0
	for _, part := range p.parts {
		w(p.heads[from:part.after])
		w(part.bytes)
		from = part.after
	}
	w(p.heads[from:])
}
