package replay

import (
	"bytes"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// held is a resource as it was recorded.
type held struct {
	name, version, typeURL string
	aliases                []string
	hash                   [16]byte
	masked                 bool
	body                   []byte // of the payload

	raw     []byte // the element of the response
	delta   bool   // raw is a Resource, not an Any
	wrapped bool   // raw is an Any with a Resource in it
}

// holdings are the resources of one type that a client has.
type holdings struct {
	key, typeURL string
	items        map[string]*held
	order        []string // names, some of which may be gone
	accepted     bool     // the recorded client had accepted a response by then
}

// list returns them in the order in which they came.
func (h *holdings) list() []*held {
	out := make([]*held, 0, len(h.items))
	for _, n := range h.order {
		if it := h.items[n]; it != nil {
			out = append(out, it)
		}
	}
	return out
}

func (h *holdings) put(it *held) {
	if _, is := h.items[it.name]; !is {
		h.order = append(h.order, it.name)
	}
	h.items[it.name] = it
}

func (h *holdings) remove(name string) {
	if _, is := h.items[name]; is {
		delete(h.items, name)
		h.order = slices.DeleteFunc(h.order, func(n string) bool { return n == name })
	}
}

// gathering collects what a client holds while a recording is read.
type gathering struct {
	r     *Rejection
	in    *decode.Inspector
	open  map[session.Seq]*pending // without an answer so far
	past  bool                     // the rejected response was read
	bytes int64
}

// pending is a response that was not answered yet.
type pending struct {
	h       *holdings
	list    []*held
	removed []string
	full    bool
}

const maxPending = 256

func (g *gathering) step(e *session.Entry, c *check.Change) error {
	m := c.Message
	switch {
	case m.Request() && c.Answers != 0:
		p := g.open[c.Answers]
		delete(g.open, c.Answers)
		if p != nil && m.Error == nil && !g.past {
			return g.accept(p)
		}
	case m.Response() && !e.Message.Truncated && !e.Message.Compressed:
		return g.response(e, c)
	case m.Response() && e.Seq == g.r.Response:
		return fmt.Errorf("entry %d was recorded in part: it cannot be sent again", e.Seq)
	}
	return nil
}

func (g *gathering) response(e *session.Entry, c *check.Change) error {
	m := c.Message
	key := decode.TypeKey(m.TypeURL)
	if m.TypeURL == "" {
		key = c.Method.Type
	}
	delta := m.Kind == decode.DeltaResponse
	if e.Seq != g.r.Response && g.past && key == g.r.key {
		return nil
	}
	list, err := g.elements(m, e.Message.Data.Bytes(), e.Message.Masked, delta)
	if err != nil {
		if e.Seq == g.r.Response {
			return fmt.Errorf("entry %d: %w", e.Seq, err)
		}
		return nil
	}
	h := g.r.world[key]
	if h == nil {
		h = &holdings{key: key, typeURL: m.TypeURL, items: map[string]*held{}}
		g.r.world[key] = h
	}
	switch {
	case e.Seq == g.r.Response:
		return g.rejected(key, h, list, m, delta)
	case g.past:
		// What came later is given to a client that asks for it now: it may ask
		// for more than the recorded one did by then.
		for _, it := range list {
			if h.items[it.name] == nil {
				if err := g.put(h, it); err != nil {
					return err
				}
			}
		}
	case len(g.open) < maxPending:
		g.open[e.Seq] = &pending{h: h, list: list, removed: m.Removed, full: !delta && wholeState(key)}
	}
	return nil
}

// rejected takes the response that it is about.
func (g *gathering) rejected(key string, h *holdings, list []*held, m *decode.Message, delta bool) error {
	r := g.r
	var seqs []session.Seq
	for seq, p := range g.open {
		if p.h.key != key {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs) // of other types what was not answered yet counts as accepted
	for _, seq := range seqs {
		if err := g.accept(g.open[seq]); err != nil {
			return err
		}
	}
	g.past = true
	r.key, r.typeURL, r.delta, r.base = key, m.TypeURL, delta, h
	if m.TypeURL == "" {
		r.typeURL = decode.TypeURL(key)
	}
	r.suspect(g.in, list, m.Removed)
	return nil
}

// accept enters what a client has accepted.
func (g *gathering) accept(p *pending) error {
	p.h.accepted = true
	if p.full {
		p.h.items, p.h.order = map[string]*held{}, nil
	}
	for _, it := range p.list {
		if err := g.put(p.h, it); err != nil {
			return err
		}
	}
	for _, n := range p.removed {
		p.h.remove(n)
	}
	return nil
}

func (g *gathering) put(h *holdings, it *held) error {
	size := int64(len(it.raw))
	if old := h.items[it.name]; old != nil {
		size -= int64(len(old.raw))
	}
	if g.bytes += size; g.bytes > mostBodies {
		return fmt.Errorf("the client holds more than %d MiB of resources: too much to bisect", mostBodies>>20)
	}
	h.put(it)
	return nil
}

// elements are the resources of a response, with their bytes.
func (g *gathering) elements(m *decode.Message, data []byte, masked, delta bool) ([]*held, error) {
	var raws [][]byte
	ok := fields(data, func(num protowire.Number, typ protowire.Type, _, body []byte) {
		if num == resourcesOfResponse && typ == protowire.BytesType {
			raws = append(raws, body)
		}
	})
	if !ok || len(raws) != len(m.Resources) {
		return nil, fmt.Errorf("its bytes are no message of which each resource could be sent again")
	}
	var out []*held
	for i := range m.Resources {
		r := &m.Resources[i]
		if r.Empty {
			continue // a heartbeat
		}
		masked := masked && bytes.Contains(r.Body, []byte(maskHead))
		it := &held{
			name: r.Name + r.Constraints, version: r.Version, typeURL: r.TypeURL, aliases: r.Aliases,
			hash: g.in.Inspect(r.TypeURL, r.Body, masked).Hash, masked: masked,
			raw: slices.Clone(raws[i]), delta: delta, wrapped: r.Wrapped && !delta, body: slices.Clone(r.Body),
		}
		if it.name == "" {
			it.name = fmt.Sprintf("#%d", i) // one without a name is known by its place
		}
		out = append(out, it)
	}
	return out, nil
}

// The numbers of the fields of a Resource and of an Any.
const (
	nameOfWrapper    = 3
	versionOfWrapper = 1
	valueOfAny       = 2
)

// element is a resource as a response has it.
func (h *held) element(delta bool) []byte {
	switch {
	case h.delta == delta:
		return h.raw
	case h.wrapped:
		return field(h.raw, valueOfAny)
	case h.delta:
		return field(h.raw, resourceOfWrapper)
	}
	out := appendString(nil, versionOfWrapper, fmt.Sprintf("%x", h.hash[:8]))
	out = protowire.AppendBytes(protowire.AppendTag(out, resourceOfWrapper, protowire.BytesType), h.raw)
	return appendString(out, nameOfWrapper, h.name)
}

// field is the body of a field of a message, nil if it is not there.
func field(data []byte, num protowire.Number) (out []byte) {
	fields(data, func(n protowire.Number, typ protowire.Type, _, body []byte) {
		if n == num && typ == protowire.BytesType {
			out = body
		}
	})
	return out
}

// The numbers of more fields of a response, the same in both variants but for
// the last.
const (
	versionOfResponse = 1
	typeOfResponse    = 4
	removedOfDelta    = 6
)

// said is a response that is sent.
type said struct {
	typeURL, version, nonce string
	items                   []*held
	removed                 []string // of a delta response
}

func (s *said) bytes(delta bool) []byte {
	size := 1024
	for _, it := range s.items {
		size += len(it.raw) + 64
	}
	out := appendString(make([]byte, 0, size), versionOfResponse, s.version)
	for _, it := range s.items {
		out = protowire.AppendBytes(protowire.AppendTag(out, resourcesOfResponse, protowire.BytesType), it.element(delta))
	}
	out = appendString(out, typeOfResponse, s.typeURL)
	out = appendString(out, nonceOfResponse, s.nonce)
	if delta {
		for _, n := range s.removed {
			out = protowire.AppendString(protowire.AppendTag(out, removedOfDelta, protowire.BytesType), n)
		}
	}
	return out
}
