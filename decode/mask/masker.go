// Package mask replaces secrets by masks of the same length, in messages at any
// depth and in metadata. It follows a table derived from the message types, so it
// needs none of them linked; what a secret looks like in a text, package secrets
// knows.
package mask

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/decode/mask/secrets"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Masker replaces secrets by masks of the same length, in messages at any
// depth and in metadata. It is the two hooks of a recorder: Transform must see
// every entry, in order, before anyone else does, and Content each distinct
// chunk of the messages that Transform left. It is not safe for concurrent use.
//
// A mask derives from the secret by an HMAC with a key that is made for this
// Masker and never leaves it. Equal secrets have equal masks and different
// ones, but for very short ones, different masks, so comparing, searching and
// replaying still tell the truth. Long masks begin with "[masked:". Masking a
// mask changes nothing.
//
// What cannot be read and may hold a secret is masked as a whole or cut off.
type Masker struct {
	streams *decode.Streams
	cutter  chunk.Cutter
	masks   *masks
	known   known
}

// New returns a Masker with a fresh key.
func New() *Masker {
	shapes()
	return &Masker{streams: decode.NewStreams(), masks: newMasks(), known: known{seed: maphash.MakeSeed()}}
}

func (k *Masker) walker(write bool) walker {
	return walker{masks: k.masks, shapes: shapes(), write: write}
}

// Free lets put have the memory that a message came in where nothing that
// Transform left refers to it.
func (k *Masker) Free(put func(session.Chunks)) { k.cutter.Free = put }

// Transform masks the secrets of one entry, except in the larger resources of
// discovery responses: it cuts these responses into chunks, each of which holds
// one resource or what lies between two, and leaves it to Content to mask the
// resources. Requests it masks as a whole and cuts where they say at length what
// they say again. Nobody may see a chunk of 48 bytes or more before Content has.
//
// It replaces the Message, the Headers, what was Sent, the Status and the GoAway by
// copies where it has to change them and never writes to what they refer to. The slice of chunks, but
// not the chunks, is used again by the next call. A resource that comes again may
// come in the same memory.
func (k *Masker) Transform(e *session.Entry) {
	if e.Headers != nil {
		if masked, ok := k.headers(e.Headers); ok {
			e.Headers = masked
		}
	}
	if e.Sent != nil {
		if masked, ok := k.headers(e.Sent); ok {
			e.Sent = masked
		}
	}
	st := k.streams.Known(e)
	switch e.Kind {
	case session.KindOpen:
		if path, ok := k.path(e.Method); ok {
			e.Method = path
		}
	case session.KindMessage, session.KindHeld:
		if e.Message != nil {
			k.message(e, st)
		}
	}
	if e.Status != nil {
		if text, ok := k.text(e.Status.Message); ok {
			status := *e.Status
			status.Message = text
			e.Status = &status
		}
	}
	if e.GoAway != nil {
		if text, ok := k.text(e.GoAway.Debug); ok {
			goAway := *e.GoAway
			goAway.Debug = text
			e.GoAway = &goAway
		}
	}
	if e.Held != nil {
		held := *e.Held
		held.Address, _ = k.text(held.Address)
		held.Failed, _ = k.text(held.Failed)
		e.Held = &held
	}
}

// Content masks the secrets in the resources of a chunk that Transform left.
// It returns the chunk itself if there are none, else a copy of the same
// length. The result depends on nothing but the bytes, and what has been masked
// already stays as it is.
func (k *Masker) Content(chunk []byte) []byte {
	return k.masked(chunk, func(w *walker, b []byte) { w.envelope(b, nil) })
}

// Glance is Glance of a message that Transform has left. Of the last one it is
// cheaper.
func (k *Masker) Glance(m xds.Method, side session.Side, msg *session.Message) chunk.Brief {
	return k.cutter.Glance(m, side, msg)
}

// masked returns b after a walk, or b itself if the walk finds nothing.
func (k *Masker) masked(b []byte, walk func(*walker, []byte)) []byte {
	return k.maskedIf(secrets.In(b), b, walk)
}

// maskedIf is masked of b, of which full says whether a text in it may look like a
// secret.
func (k *Masker) maskedIf(full bool, b []byte, walk func(*walker, []byte)) []byte {
	w := k.walker(false)
	w.full = full
	if walk(&w, b); !w.found() {
		return b
	}
	b = bytes.Clone(b)
	w.write = true
	walk(&w, b)
	return b
}

// message decides how a message is read.
func (k *Masker) message(e *session.Entry, st *decode.Stream) {
	m := e.Message
	if m.Data.Len() == 0 {
		return
	}
	if m.Compressed {
		k.replace(e, nil, "it is compressed and may hold secrets: its bytes were not kept")
		return
	}
	if st.JSON(e.Side, m.Data) {
		k.json(e, bytes.Clone(m.Data.Bytes()))
		return
	}
	kind, _ := decode.KindOf(st.Method, e.Side, m.Data)
	if kind == decode.SotwResponse || kind == decode.DeltaResponse {
		k.response(e, kind, st.Method.Type == "SDS")
		return
	}
	name := st.Method.Message(e.Side)
	if name == "" && kind != decode.Other {
		name = xds.PackageV3 + kind.String()
	}
	sh := shapes()[name]
	data := m.Data.Bytes()
	if sh != nil {
		s := protoscan.Of(data)
		for s.Next() {
		}
		if s.Err != "" {
			k.replace(e, data[:s.Off], "its end cannot be read and may hold secrets: it was cut off")
			data = e.Message.Data.Bytes()
		}
	}
	opaque := false
	full := sh != nil && k.known.hasSecret(data) || sh == nil && secrets.In(data) // which may be one text
	masked := k.maskedIf(full, data, func(w *walker, b []byte) {
		if sh != nil {
			w.message(b, sh, false, 0)
		} else {
			w.sweep(b, 0)
		}
		opaque = w.opaque > 0
	})
	if len(data) > 0 && &masked[0] != &data[0] {
		problem := ""
		if opaque {
			problem = "a secret cannot be read: it was masked as a whole"
		}
		k.replace(e, masked, problem)
	}
	switch {
	case e.Kind == session.KindHeld:
		k.cutter.Held(e)
	case kind == decode.SotwRequest, kind == decode.DeltaRequest, chunk.RepeatsNode(st.Method, e.Side):
		k.cutter.Request(e)
	}
	if e.Message == m {
		join(e, data)
	}
}

// join makes one chunk of a message that nobody has cut: Content must not take the
// pieces in which it came for messages, which begin and end anywhere.
func join(e *session.Entry, data []byte) {
	if len(e.Message.Data) > 1 {
		whole := *e.Message
		whole.Data = session.Chunks{data}
		e.Message = &whole
	}
}

// response cuts a discovery response into chunks and masks those that Content
// will not see, or could not understand on its own.
func (k *Masker) response(e *session.Entry, kind decode.Kind, sds bool) {
	m := e.Message
	c := &k.cutter
	c.Response(kind, m.Data)
	sds = sds || xds.ByURL(string(c.TypeURL)).Short == "SDS"
	look := c.Between
	if sds {
		look = make([]int, len(c.Chunks))
		for i := range look {
			look[i] = i
		}
	} else {
		c.Keep()
	}
	masked, opaque := false, false
	for _, i := range look {
		chunk := c.Chunks[i]
		out := k.masked(chunk, func(w *walker, b []byte) {
			w.sds = sds
			w.envelope(b, w.shapes[xds.PackageV3+kind.String()])
			opaque = opaque || w.opaque > 0
		})
		if &out[0] != &chunk[0] {
			c.Chunks[i], masked = out, true
		}
	}
	cut := c.Size < m.Data.Len()
	if !masked && !cut && len(c.Chunks) == 1 && len(m.Data) == 1 {
		return
	}
	c.Give(e)
	e.Message.Masked, e.Message.Truncated = m.Masked || masked || cut, m.Truncated || cut
	if opaque {
		e.Problems = append(slices.Clip(e.Problems), "a secret cannot be read: it was masked as a whole")
	}
	if cut {
		e.Problems = append(slices.Clip(e.Problems), "its end cannot be read and may hold secrets: it was cut off")
	}
}

// replace gives the entry a new message with other bytes.
func (k *Masker) replace(e *session.Entry, data []byte, problem string) {
	m := *e.Message
	if int64(len(data)) < m.Data.Len() {
		m.Truncated = true
	}
	m.Data, m.Masked = nil, true
	if len(data) > 0 {
		m.Data = session.Chunks{data}
	}
	e.Message = &m
	if problem != "" {
		e.Problems = append(slices.Clip(e.Problems), problem)
	}
}
