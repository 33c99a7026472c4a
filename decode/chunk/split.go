// Package chunk has messages in pieces: it cuts them between their fields, so that
// a recorder stores each distinct resource, node and list of names once, and reads
// them again piece by piece, so that what was there before is not read twice. It
// changes no byte.
package chunk

import (
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Splitter cuts discovery responses into one chunk for each resource, and puts
// the long fields of requests into chunks of their own, so that a recorder stores
// each distinct resource, node and list of names once. It changes no byte. Like
// a Masker, which does the same on its way, it must see every entry in order and
// is not safe for concurrent use.
type Splitter struct {
	streams *decode.Streams
	cutter  Cutter
}

// Free lets put have the memory that a message came in where nothing that
// Transform left refers to it.
func (k *Splitter) Free(put func(session.Chunks)) { k.cutter.Free = put }

// NewSplitter returns a Splitter.
func NewSplitter() *Splitter { return &Splitter{streams: decode.NewStreams()} }

// Transform cuts the message of an entry if it is a discovery message in
// protobuf, or a report of load. It replaces the Message by a copy; the slice of chunks, but not the
// chunks, is used again by the next call. A resource that comes again may come in
// the same memory.
func (k *Splitter) Transform(e *session.Entry) {
	st := k.streams.Known(e)
	m := e.Message
	if e.Kind == session.KindHeld && m != nil {
		k.cutter.Held(e)
		return
	}
	if e.Kind != session.KindMessage || m == nil || m.Compressed || len(m.Data) == 0 || st.JSON(e.Side, m.Data) {
		return
	}
	c := &k.cutter
	switch kind, _ := decode.KindOf(st.Method, e.Side, m.Data); {
	case kind == decode.SotwRequest, kind == decode.DeltaRequest, RepeatsNode(st.Method, e.Side):
		c.Request(e)
	case kind == decode.SotwResponse, kind == decode.DeltaResponse:
		c.Response(kind, m.Data)
		if c.Size == m.Data.Len() && len(c.Chunks)+len(m.Data) > 2 {
			c.Keep()
			c.Give(e)
		}
	}
}

// Glance is Glance of a message that Transform has left. Of the last one it is
// cheaper.
func (k *Splitter) Glance(m xds.Method, side session.Side, msg *session.Message) Brief {
	return k.cutter.Glance(m, side, msg)
}

// minChunk is the length from which on a resource is a chunk of its own: less
// is not worth a reference.
const minChunk = 48

// Cutter cuts one message after the other between its fields. The chunks are parts
// of the message, but for fields that lie across its chunks, which are copied, and
// for resources that were given before.
type Cutter struct {
	Chunks  session.Chunks
	Between []int  // those of the chunks that are not one resource, field 2
	Size    int64  // of all chunks: up to here the message could be read
	TypeURL []byte // field 4
	// Free takes the memory that a message came in where nothing refers to it any
	// more; nil: nobody wants it.
	Free func(session.Chunks)

	kind    decode.Kind
	repeats repeats
	kept    bool // the chunks are in memory that repeats keeps
	given   *session.Message
}

// reset forgets the message before.
func (c *Cutter) reset() {
	clear(c.Chunks)
	c.Chunks, c.Between = c.Chunks[:0], c.Between[:0]
	c.Size, c.TypeURL, c.kept, c.given = 0, nil, false, nil
	c.repeats.reset()
}

// Response cuts a response. It stops before the first field that is not whole.
func (c *Cutter) Response(kind decode.Kind, data session.Chunks) {
	c.reset()
	c.kind = kind
	var b []byte // what is left of the chunk before i
	for i := 0; ; {
		if len(b) == 0 {
			if i == len(data) {
				return
			}
			b, i = data[i], i+1
		}
		b = b[c.cut(b):]
		if len(b) == 0 {
			continue
		}
		field := across(b, data[i:])
		if field == nil || c.cut(field) == 0 {
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
func (c *Cutter) cut(b []byte) int {
	start := 0
	s := protoscan.Of(b)
	for {
		if again := c.repeats.next(b[s.Off:]); again != nil {
			c.add(b[start:s.Off:s.Off])
			c.resource(again)
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
			c.TypeURL = body
		case s.Num == 2 && s.Off-s.At >= minChunk:
			c.add(b[start:s.At:s.At])
			c.fresh(b[s.At:s.Off:s.Off])
			start = s.Off
		case s.Num == 5:
			// The nonce, which is never the same again, stands alone: what is
			// around it is.
			c.add(b[start:s.At:s.At])
			c.add(b[s.At:s.Off:s.Off])
			start = s.Off
		}
	}
	c.add(b[start:s.Off:s.Off])
	return s.Off
}

// fresh adds a resource that is not where it was. The first of all says where to
// look for the others.
func (c *Cutter) fresh(b []byte) {
	r := &c.repeats
	if !r.chosen {
		if r.choose(c.kind, b); r.at != nil {
			if again := r.next(b); again != nil && len(again) == len(b) {
				c.resource(again)
				return
			}
		}
	}
	r.miss(len(c.Chunks))
	c.resource(b)
}

func (c *Cutter) resource(b []byte) {
	c.Chunks = append(c.Chunks, b)
	c.Size += int64(len(b))
}

// add adds what is between two resources.
func (c *Cutter) add(b []byte) {
	if len(b) > 0 {
		c.Between = append(c.Between, len(c.Chunks))
		c.Chunks = append(c.Chunks, b)
		c.Size += int64(len(b))
	}
}

// Keep lets the next response be compared with this one.
func (c *Cutter) Keep() { c.kept = c.repeats.keep(c.kind, c.Chunks, c.Between) }

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

// RepeatsNode says whether side says its node with each message of the method: an
// Envoy does with every report of its load.
func RepeatsNode(m xds.Method, side session.Side) bool {
	return m.Variant == xds.VariantLRS && side == session.Client
}

// Request cuts a request, if it can be read and something in it is long.
func (c *Cutter) Request(e *session.Entry) {
	if n := e.Message.Data.Len(); n < minRun || n > maxRequest {
		return
	}
	c.reset()
	b := e.Message.Data.Bytes()
	start, run, num := 0, 0, protowire.Number(0) // num is that of the fields from run on
	end := func(at int) {
		if at-run >= minRun {
			c.add(b[start:run:run])
			c.add(b[run:at:at])
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
	if c.add(b[start:]); len(c.Chunks) > 1 {
		c.Give(e)
	}
}

// maxHeld is how long what a client says that it holds may be to be cut.
const maxHeld = 64 << 20

// Held cuts what a client says that it holds, a ClientStatusResponse, around the
// contents of its resources: what it says about them differs each time.
func (c *Cutter) Held(e *session.Entry) {
	if e.Message.Data.Len() > maxHeld {
		return
	}
	c.reset()
	b := e.Message.Data.Bytes()
	at := 0 // up to here it is cut
	inside(b, 1, 0, func(config []byte, off int) {
		inside(config, 3, off, func(resource []byte, off int) {
			for s := protoscan.Of(resource); s.Next(); {
				if from, to := off+s.At, off+s.Off; s.Num == 4 && to-from >= minChunk && from >= at {
					c.add(b[at:from:from])
					c.add(b[from:to:to])
					at = to
				}
			}
		})
	})
	if c.add(b[at:]); len(c.Chunks) > 1 {
		c.Give(e)
	}
}

// inside calls f with what each field of a number holds, and where that is: off is
// where b is.
func inside(b []byte, num protowire.Number, off int, f func(body []byte, off int)) {
	for s := protoscan.Of(b); s.Next(); {
		if body, ok := s.Bytes(); ok && s.Num == num {
			f(body, off+s.Off-len(body))
		}
	}
}

// Give makes the chunks those of the entry, in a Message of its own.
func (c *Cutter) Give(e *session.Entry) {
	next, came := *e.Message, e.Message.Data
	next.Data = c.Chunks
	e.Message, c.given = &next, &next
	if c.kept && c.Free != nil {
		c.TypeURL = nil
		c.Free(came)
	}
	if c.Size > 1<<20 && !c.kept { // too large to be kept alive until the next one comes
		c.Chunks, c.TypeURL, c.given = nil, nil, nil
	}
}

// Glance is Glance. Of a response that was cut last it does not even pass by the
// resources.
func (c *Cutter) Glance(m xds.Method, side session.Side, msg *session.Message) Brief {
	kind, _ := decode.KindOf(m, side, nil)
	if at, ok := briefFields[kind]; ok && kind == c.kind && msg == c.given {
		envelope := make(session.Chunks, len(c.Between))
		for i, k := range c.Between {
			envelope[i] = c.Chunks[k]
		}
		if b, whole := at.read(envelope); whole {
			b.Kind = kind
			return b
		}
	}
	return Glance(m, side, msg.Data)
}
