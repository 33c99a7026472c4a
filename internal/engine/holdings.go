package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Holdings are what each client of a session accepted last, by type and name.
// It must be given every entry and what a Tracker or a Checker says of it, in
// order. Clients that were sent the same share it.
type Holdings struct {
	clients map[string]map[string]*inventory // by client and type
	lanes   int
	open    map[session.Seq]*proposal // responses without an answer
	order   []session.Seq
	bases   map[*decode.Batch]map[string]*Resource
	content contents
	full    bool
}

// proposal is what a response would change in what a client holds.
type proposal struct {
	key     laneKey
	whole   bool // it replaces all there is
	base    map[string]*Resource
	removed []string
}

// maxBases bounds the responses whose resources are shared.
const maxBases = 64

// NewHoldings returns Holdings that have seen nothing.
func NewHoldings() *Holdings {
	return &Holdings{
		clients: make(map[string]map[string]*inventory), open: make(map[session.Seq]*proposal),
		bases: make(map[*decode.Batch]map[string]*Resource), content: newContents(),
	}
}

// Step takes the next entry and what it changed.
func (h *Holdings) Step(e *session.Entry, c *Change) {
	m := c.Message
	switch {
	case m == nil:
	case m.Response():
		o := h.propose(e, c)
		if c.Variant == xds.VariantFile { // what is read is in use
			h.accept(o)
			return
		}
		h.await(e.Seq, o)
	case c.Answers != 0:
		o := h.open[c.Answers]
		delete(h.open, c.Answers)
		if o != nil && c.What == ACK {
			h.accept(o)
		}
	}
}

func (h *Holdings) propose(e *session.Entry, c *Change) *proposal {
	m := c.Message
	o := &proposal{key: laneKey{c.Client, c.Type}, removed: m.Removed}
	sotw := m.Kind == decode.SotwResponse
	o.whole = sotw && (c.Type == "LDS" || c.Type == "CDS" || c.Type == "SRDS") && len(m.Problems) == 0
	shared := c.batch != nil && (o.whole || !sotw)
	if shared {
		o.base = h.bases[c.batch]
	}
	if o.base == nil {
		o.base = make(map[string]*Resource, len(m.Resources))
		for i := range m.Resources {
			r := &m.Resources[i]
			if r.Empty {
				o.whole = false // a heartbeat is not the state of the world
				continue
			}
			version := r.Version
			if version == "" {
				version = m.Version
			}
			name := decode.NormalName(r.Name)
			o.base[name] = &Resource{Name: name, Version: version, Content: h.content.Of(r.TypeURL, r.Body, e.Message.Masked), Stamp: uint64(e.Seq)}
		}
		if shared && len(o.base) == len(m.Resources) {
			if len(h.bases) >= maxBases {
				clear(h.bases)
			}
			h.bases[c.batch] = o.base
		}
	}
	return o
}

// await keeps what a response would change until it is answered.
func (h *Holdings) await(seq session.Seq, o *proposal) {
	h.open[seq] = o
	h.order = append(h.order, seq)
	if len(h.order) >= 2*maxUnjudged {
		h.order = slices.DeleteFunc(h.order, func(s session.Seq) bool { return h.open[s] == nil })
		for len(h.order) > maxUnjudged {
			delete(h.open, h.order[0])
			h.order = h.order[1:]
		}
	}
}

func (h *Holdings) accept(o *proposal) {
	has := h.clients[o.key.client][o.key.typ]
	if has == nil {
		if h.lanes >= maxLanes {
			h.full = true
			return
		}
		h.lanes++
		has = &inventory{}
		if h.clients[o.key.client] == nil {
			h.clients[o.key.client] = make(map[string]*inventory)
		}
		h.clients[o.key.client][o.key.typ] = has
	}
	if o.whole {
		*has = inventory{base: o.base, size: len(o.base)}
		return
	}
	for name, it := range o.base {
		if was := has.Get(name); was == nil || !was.Content.SameAs(it.Content) || was.Version != it.Version {
			has.put(it)
		}
	}
	for _, name := range o.removed {
		has.remove(decode.NormalName(name))
	}
}

// Full says that there were more clients than could be remembered.
func (h *Holdings) Full() bool { return h.full }

// Clients are the clients that accepted anything, sorted.
func (h *Holdings) Clients() []string { return slices.Sorted(maps.Keys(h.clients)) }

// Types are the types of which a client accepted anything, in the order in
// which they are shown.
func (h *Holdings) Types(client string) []string {
	return slices.SortedFunc(maps.Keys(h.clients[client]), func(a, b string) int {
		return cmp.Or(cmp.Compare(xds.Rank(a), xds.Rank(b)), strings.Compare(a, b))
	})
}

// Of are the resources of a type that a client holds, by name.
func (h *Holdings) Of(client, typ string) []Held {
	has := h.clients[client][typ]
	if has == nil {
		return nil
	}
	out := make([]Held, 0, has.Len())
	for _, it := range has.All() {
		out = append(out, Held{Type: typ, Name: it.Name, Version: it.Version, Seq: session.Seq(it.Stamp), Hash: it.Content.Facts.Hash})
	}
	slices.SortFunc(out, func(a, b Held) int { return strings.Compare(a.Name, b.Name) })
	return out
}
