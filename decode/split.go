package decode

import (
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/xds"
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

// Free lets put have the memory that a message came in where nothing that
// Transform left refers to it.
func (k *Splitter) Free(put func(session.Chunks)) { k.splitter.free = put }

// NewSplitter returns a Splitter.
func NewSplitter() *Splitter { return &Splitter{streams: NewStreams()} }

// Transform cuts the message of an entry if it is a discovery message in
// protobuf. It replaces the Message by a copy; the slice of chunks, but not the
// chunks, is used again by the next call. A resource that comes again may come in
// the same memory.
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
		p.split(kind, m.Data)
		if p.size == m.Data.Len() && len(p.chunks)+len(m.Data) > 2 {
			p.keep()
			p.give(e)
		}
	}
}

// Glance is Glance of a message that Transform has left. Of the last one it is
// cheaper.
func (k *Splitter) Glance(m xds.Method, side session.Side, msg *session.Message) Brief {
	return k.splitter.glance(m, side, msg)
}

// minChunk is the length from which on a resource is a chunk of its own: less
// is not worth a reference.
const minChunk = 48

// splitter cuts a message between its fields. The chunks are parts of the
// message, but for fields that lie across its chunks, which are copied, and for
// resources that were given before.
type splitter struct {
	kind    Kind
	chunks  session.Chunks
	between []int  // those of the chunks that are not one resource, field 2
	size    int64  // of all chunks: up to here the message could be read
	typeURL []byte // field 4
	repeats repeats
	kept    bool // the chunks are in memory that repeats keeps
	given   *session.Message
	free    func(session.Chunks) // nil: nobody wants it
}

// reset forgets the message before.
func (p *splitter) reset() {
	clear(p.chunks)
	p.chunks, p.between = p.chunks[:0], p.between[:0]
	p.size, p.typeURL, p.kept, p.given = 0, nil, false, nil
	p.repeats.reset()
}

// split cuts a response. It stops before the first field that is not whole.
func (p *splitter) split(kind Kind, data session.Chunks) {
	p.reset()
	p.kind = kind
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
	for {
		if again := p.repeats.next(b[s.Off:]); again != nil {
			p.add(b[start:s.Off:s.Off])
			p.resource(again)
			s.Off += len(again)
			start = s.Off
			continue
		}
		if !s.Next() {
			break
		}
		body, ok := s.Bytes()
		switch {
		case !ok:
		case s.Num == 4:
			p.typeURL = body
		case s.Num == 2 && s.Off-s.At >= minChunk:
			p.add(b[start:s.At:s.At])
			p.fresh(b[s.At:s.Off:s.Off])
			start = s.Off
		case s.Num == 5:
			// The nonce, which is never the same again, stands alone: what is
			// around it is.
			p.add(b[start:s.At:s.At])
			p.add(b[s.At:s.Off:s.Off])
			start = s.Off
		}
	}
	p.add(b[start:s.Off:s.Off])
	return s.Off
}

// fresh adds a resource that is not where it was. The first of all says where to
// look for the others.
func (p *splitter) fresh(b []byte) {
	r := &p.repeats
	if !r.chosen {
		if r.choose(p.kind, b); r.at != nil {
			if again := r.next(b); again != nil && len(again) == len(b) {
				p.resource(again)
				return
			}
		}
	}
	r.miss(len(p.chunks))
	p.resource(b)
}

func (p *splitter) resource(b []byte) {
	p.chunks = append(p.chunks, b)
	p.size += int64(len(b))
}

// add adds what is between two resources.
func (p *splitter) add(b []byte) {
	if len(b) > 0 {
		p.between = append(p.between, len(p.chunks))
		p.chunks = append(p.chunks, b)
		p.size += int64(len(b))
	}
}

// keep lets the next response be compared with this one.
func (p *splitter) keep() { p.kept = p.repeats.keep(p.kind, p.chunks, p.between) }

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
			p.add(b[start:run:run])
			p.add(b[run:at:at])
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
	if p.add(b[start:]); len(p.chunks) > 1 {
		p.give(e)
	}
}

// give makes the chunks those of the entry, in a Message of its own.
func (p *splitter) give(e *session.Entry) {
	next, came := *e.Message, e.Message.Data
	next.Data = p.chunks
	e.Message, p.given = &next, &next
	if p.kept && p.free != nil {
		p.typeURL = nil
		p.free(came)
	}
	if p.size > 1<<20 && !p.kept { // too large to be kept alive until the next one comes
		p.chunks, p.typeURL, p.given = nil, nil, nil
	}
}

// glance is Glance. Of a response that was cut last it does not even pass by the
// resources.
func (p *splitter) glance(m xds.Method, side session.Side, msg *session.Message) Brief {
	kind, sure := kindOf(m, side)
	if at, ok := briefFields[kind]; ok && at.node == 0 && sure && kind == p.kind && msg == p.given {
		envelope := make(session.Chunks, len(p.between))
		for i, k := range p.between {
			envelope[i] = p.chunks[k]
		}
		if b, whole := at.read(envelope); whole {
			b.Kind = kind
			return b
		}
	}
	return Glance(m, side, msg.Data)
}
