package index

import (
	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// Answerable says whether rows alone can answer a filter. Others need the
// entries themselves.
func Answerable(f *filter.Filter) bool {
	n := f.Needs()
	return !n.Summary && !n.Body && !n.Node && !n.Content
}

// Matcher asks a filter about rows. One goroutine may use it.
type Matcher struct {
	filter  *filter.Filter
	entry   session.Entry
	message session.Message
	change  check.Change
	peeked  decode.Message
	row     filter.Row
	count   int32 // of the row
}

// NewMatcher returns a Matcher for a filter that is Answerable and has begun.
func NewMatcher(f *filter.Filter) *Matcher {
	m := &Matcher{filter: f}
	m.row = filter.Row{Entry: &m.entry, Change: &m.change}
	m.row.Count = func() (int, bool) { return int(m.count), m.count != None }
	return m
}

// Scan appends the positions of the rows from from to before to that the filter
// takes.
func (x *Index) Scan(m *Matcher, dst []uint32, from, to int) []uint32 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for i := from; i < min(to, x.n); i++ {
		if m.takes(x, x.row(i)) {
			dst = append(dst, uint32(i))
		}
	}
	return dst
}

func (m *Matcher) takes(x *Index, r *Row) bool {
	p := &x.places.all[r.place]
	m.entry = session.Entry{
		Seq: r.Seq, Time: r.At(), Conn: p.conn, Stream: p.stream, Side: r.Side, Kind: r.Kind, Method: p.method.Path,
	}
	m.change = check.Change{Change: engine.Change{
		Method: p.method, Variant: p.method.Variant, Client: x.clientOf(r), Type: x.kinds.list[r.typ],
		What: r.What.String(), Also: m.change.Also[:0],
	}}
	for w := NACK; w <= DELTA; w++ {
		if r.Also(w) {
			m.change.Also = append(m.change.Also, w.String())
		}
	}
	if r.Kind == session.KindMessage {
		m.message.Size, m.entry.Message = int64(r.Size), &m.message
		if r.What != Nothing {
			m.peeked = decode.Message{Version: x.texts.text(r.version), Nonce: x.texts.text(r.nonce)}
			m.change.Message = &m.peeked
		}
	}
	m.row.Findings, m.row.Marked = x.proofs[r.Seq], x.marked(r.Seq)
	m.row.Waited = r.Waited()
	m.count = r.Count
	return m.filter.Takes(&m.row)
}
