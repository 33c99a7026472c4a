package decode

import (
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// Splitter cuts discovery responses into one chunk for each resource, and puts
// the long fields of requests into chunks of their own, so that a recorder stores
// each distinct resource, node and list of names once. It changes no byte. Like
// a Masker, which does the same on its way, it must see every entry in order and
// is not safe for concurrent use.
type Splitter struct {
	streams  *Streams
	splitter splitter
}

// NewSplitter returns a Splitter.
func NewSplitter() *Splitter { return &Splitter{streams: NewStreams()} }

// Transform cuts the message of an entry if it is a discovery message in
// protobuf. It replaces the Message by a copy; the slice of chunks, but not the
// chunks, is used again by the next call.
func (k *Splitter) Transform(e *session.Entry) {
	st := k.streams.known(e)
	m := e.Message
	if e.Kind != session.KindMessage || m == nil || m.Compressed || len(m.Data) == 0 || st.JSON(e.Side, m.Data) {
		return
	}
	kind, sure := kindOf(st.Method, e.Side)
	if !sure {
		kind = sniff(e.Side, m.Data.Bytes())
	}
	p := &k.splitter
	switch kind {
	case SotwRequest, DeltaRequest:
		p.request(e)
	case SotwResponse, DeltaResponse:
		p.split(m.Data)
		if p.size == m.Data.Len() && len(p.chunks)+len(m.Data) > 2 {
			p.give(e)
		}
	}
}

// minChunk is the length from which on a resource is a chunk of its own: less
// is not worth a reference.
const minChunk = 48

// splitter cuts a message between its fields. The chunks are parts of the
// message, but for fields that lie across its chunks: these are copied.
type splitter struct {
	chunks   session.Chunks
	resource []bool // the chunk is one resource, field 2
	size     int64  // of all chunks: up to here the message could be read
	typeURL  []byte // field 4
}

// reset forgets the message before.
func (p *splitter) reset() {
	clear(p.chunks)
	*p = splitter{chunks: p.chunks[:0], resource: p.resource[:0]}
}

// split cuts data. It stops before the first field that is not whole.
func (p *splitter) split(data session.Chunks) {
	p.reset()
	var b []byte // what is left of the chunk before i
	for i := 0; ; {
		if len(b) == 0 {
			if i == len(data) {
				return
			}
			b, i = data[i], i+1
		}
		b = b[p.cut(b):]
		if len(b) == 0 {
			continue
		}
		field := across(b, data[i:])
		if field == nil || p.cut(field) == 0 {
			return
		}
		over := len(field) - len(b)
		for b = nil; over > 0; i++ {
			if over < len(data[i]) {
				b = data[i][over:]
			}
			over -= min(over, len(data[i]))
		}
	}
}

// cut takes the whole fields that b begins with and returns their length.
func (p *splitter) cut(b []byte) int {
	start := 0
	s := protoscan.Of(b)
	for s.Next() {
		body, ok := s.Bytes()
		switch {
		case !ok:
		case s.Num == 4:
			p.typeURL = body
		case s.Num == 2 && s.Off-s.At >= minChunk:
			p.add(b[start:s.At:s.At], false)
			p.add(b[s.At:s.Off:s.Off], true)
			start = s.Off
		case s.Num == 5:
			// The nonce, which is never the same again, stands alone: what is
			// around it is.
			p.add(b[start:s.At:s.At], false)
			p.add(b[s.At:s.Off:s.Off], false)
			start = s.Off
		}
	}
	p.add(b[start:s.Off:s.Off], false)
	return s.Off
}

func (p *splitter) add(b []byte, resource bool) {
	if len(b) > 0 {
		p.chunks, p.resource = append(p.chunks, b), append(p.resource, resource)
		p.size += int64(len(b))
	}
}

// across copies the field that begins with b and ends in one of the chunks that
// follow; nil if it does not end there.
func across(b []byte, more session.Chunks) []byte {
	head := slices.Clip(b)
	for i := 0; i < len(more) && len(head) < 2*binary.MaxVarintLen64; i++ {
		head = append(head, more[i][:min(len(more[i]), 2*binary.MaxVarintLen64)]...)
	}
	num, typ, n := protowire.ConsumeTag(head)
	if n < 0 {
		return nil
	}
	left := int64(len(b)) + more.Len()
	size := 0
	switch typ {
	case protowire.BytesType:
		body, m := protowire.ConsumeVarint(head[n:])
		if m < 0 || body > uint64(left) || int64(body)+int64(n+m) > left {
			return nil
		}
		size = n + m + int(body)
	case protowire.StartGroupType: // it has no length: look at everything
		head = append(head[:len(b):len(b)], more.Bytes()...)
		fallthrough
	default:
		if size = protowire.ConsumeFieldValue(num, typ, head[n:]); size < 0 {
			return nil
		}
		size += n
	}
	field := append(make([]byte, 0, size), b[:min(size, len(b))]...)
	for i := 0; len(field) < size; i++ {
		field = append(field, more[i][:min(len(more[i]), size-len(field))]...)
	}
	return field
}

// minRun is the length from which on what a request says in one field, or in
// several of the same number after each other, is a chunk of its own. A client
// says its node and the names that it asks for again and again.
const minRun = 512

// maxRequest is how long a request may be to be cut: it is put into one piece
// for that.
const maxRequest = 4 << 20

// request cuts a request, if it can be read and something in it is long.
func (p *splitter) request(e *session.Entry) {
	if n := e.Message.Data.Len(); n < minRun || n > maxRequest {
		return
	}
	p.reset()
	b := e.Message.Data.Bytes()
	start, run, num := 0, 0, protowire.Number(0) // num is that of the fields from run on
	end := func(at int) {
		if at-run >= minRun {
			p.add(b[start:run:run], false)
			p.add(b[run:at:at], false)
			start = at
		}
		run = at
	}
	s := protoscan.Of(b)
	for s.Next() {
		if s.Num != num {
			end(s.At)
			num = s.Num
		}
	}
	if s.Err != "" {
		return
	}
	end(len(b))
	if p.add(b[start:], false); len(p.chunks) > 1 {
		p.give(e)
	}
}

// give makes the chunks those of the entry, in a Message of its own.
func (p *splitter) give(e *session.Entry) {
	next := *e.Message
	next.Data = p.chunks
	e.Message = &next
	if p.size > 1<<20 { // too large to be kept alive until the next one comes
		p.chunks, p.typeURL = nil, nil
	}
}
