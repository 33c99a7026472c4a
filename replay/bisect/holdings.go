package bisect

import (
	"bytes"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/replay/edit"
	"github.com/xdsproxy/xdsproxy/replay/standin"
	"github.com/xdsproxy/xdsproxy/session"
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
	typeURL  string
	whole    bool // in the state of the world, what a response leaves out is gone
	accepted bool // the recorded client had accepted a response by then
	items    map[string]*held
	order    []string // of their names
}

// list returns them in the order in which they came.
func (h *holdings) list() []*held {
	out := make([]*held, 0, len(h.items))
	for _, n := range h.order {
		out = append(out, h.items[n])
	}
	return out
}

func (h *holdings) put(it *held) {
	if _, is := h.items[it.name]; !is {
		h.order = append(h.order, it.name)
	}
	h.items[it.name] = it
}

// elements are the resources of a response that are asked for, with their bytes.
func elements(in *inspect.Inspector, m *decode.Message, message *session.Message, wanted func(*decode.Resource) bool) ([]*held, error) {
	var raws [][]byte
	delta := m.Kind == decode.DeltaResponse
	ok := edit.Each(message.Data.Bytes(), func(num protowire.Number, typ protowire.Type, _, body []byte) {
		if num == edit.ResourcesOfResponse && typ == protowire.BytesType {
			raws = append(raws, body)
		}
	})
	if !ok || len(raws) != len(m.Resources) {
		return nil, fmt.Errorf("its bytes are no message of which each resource could be sent again")
	}
	var out []*held
	for i := range m.Resources {
		r := &m.Resources[i]
		if r.Empty || !wanted(r) {
			continue // a heartbeat, or of no interest
		}
		masked := message.Masked && bytes.Contains(r.Body, []byte(standin.MaskHead))
		it := &held{
			name: r.Name + r.Constraints, version: r.Version, typeURL: r.TypeURL, aliases: r.Aliases,
			hash: in.Inspect(r.TypeURL, r.Body, masked).Hash, masked: masked,
			raw: slices.Clone(raws[i]), delta: delta, wrapped: r.Wrapped && !delta, body: slices.Clone(r.Body),
		}
		if it.name == "" {
			it.name = fmt.Sprintf("#%d", i) // one without a name is known by its place
		}
		out = append(out, it)
	}
	return out, nil
}

// element is a resource as a response has it.
func (h *held) element(delta bool) []byte {
	switch {
	case h.delta == delta:
		return h.raw
	case h.wrapped:
		return edit.Field(h.raw, edit.ValueOfAny)
	case h.delta:
		return edit.Field(h.raw, edit.ResourceOfWrapper)
	}
	out := edit.AppendString(nil, edit.VersionOfWrapper, fmt.Sprintf("%x", h.hash[:8]))
	out = protowire.AppendBytes(protowire.AppendTag(out, edit.ResourceOfWrapper, protowire.BytesType), h.raw)
	return edit.AppendString(out, edit.NameOfWrapper, h.name)
}

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
	out := edit.AppendString(make([]byte, 0, size), edit.VersionOfResponse, s.version)
	for _, it := range s.items {
		out = protowire.AppendBytes(protowire.AppendTag(out, edit.ResourcesOfResponse, protowire.BytesType), it.element(delta))
	}
	out = edit.AppendString(out, edit.TypeOfResponse, s.typeURL)
	out = edit.AppendString(out, edit.NonceOfResponse, s.nonce)
	if delta {
		for _, n := range s.removed {
			out = protowire.AppendString(protowire.AppendTag(out, edit.RemovedOfDelta, protowire.BytesType), n)
		}
	}
	return out
}
