package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	maxHolders     = 10_000
	maxHolderBytes = 256 << 20 // of what they say, all together
)

// Holders are the clients that say what they hold and have not asked for anything, and
// what they said last. Of the others more is known elsewhere.
type Holders struct {
	by    map[string]*holder
	asked map[string]bool // clients of which nothing is kept, since they asked for something
	bytes int
	more  bool // there was no room for another client
}

// holder is what a client said last: of each resource the last item of its answers.
type holder struct {
	last    session.Entry // without its message
	answers [][]byte
	cut     bool // there is more: it was too much, or began before what is recorded
}

// See looks at an entry, and at what it means.
func (h *Holders) See(e *session.Entry, c *check.Change) {
	if c.Sub != nil && c.Client != "" && !h.asked[c.Client] {
		if h.asked == nil {
			h.asked = map[string]bool{}
		}
		if len(h.asked) < maxHolders {
			h.asked[c.Client] = true
		}
		h.drop(h.by[c.Client])
		delete(h.by, c.Client)
	}
	if e.Kind != session.KindHeld || e.Held == nil || e.Held.Failed != "" || e.Message == nil || !e.Message.Whole() || h.asked[e.Held.Node] {
		return
	}
	of := h.by[e.Held.Node]
	if of == nil {
		if h.by == nil {
			h.by = map[string]*holder{}
		}
		if len(h.by) >= maxHolders {
			h.more = true
			return
		}
		of = &holder{cut: true}
		h.by[e.Held.Node] = of
	}
	data := e.Message.Data.Bytes()
	if e.Held.Whole {
		h.drop(of)
	}
	of.last = *e
	of.last.Message = nil
	if h.bytes+len(data) > maxHolderBytes {
		of.cut = true
		return
	}
	h.bytes += len(data)
	of.answers = append(of.answers, slices.Clone(data))
}

// drop lets go of what a client said.
func (h *Holders) drop(of *holder) {
	if of == nil {
		return
	}
	for _, a := range of.answers {
		h.bytes -= len(a)
	}
	of.answers, of.cut = nil, false
}

// Alone are the clients that say what they hold and asked for nothing, in the order of
// their names, as far as OneClient needs to know them.
func (h *Holders) Alone(asked []engine.ClientStatus) (out []engine.ClientStatus) {
	for _, id := range slices.Sorted(maps.Keys(h.by)) {
		if !slices.ContainsFunc(asked, func(c engine.ClientStatus) bool { return c.Client == id }) {
			out = append(out, engine.ClientStatus{Client: id})
		}
	}
	return out
}

// items are what a client says last, by type and name. A resource may be there in several
// states.
func (of *holder) items() map[typedName][]decode.ResourceStatus {
	all := map[typedName][]decode.ResourceStatus{}
	for _, a := range of.answers {
		now := map[typedName]bool{}
		for _, c := range decode.PeekClientStatus(a).Configs {
			for _, r := range c.Resources {
				if strings.HasPrefix(r.TypeURL, xds.AdminPrefix) {
					continue
				}
				at := typedName{xds.ShortType(r.TypeURL), decode.NormalName(r.Name)}
				if !now[at] {
					now[at], all[at] = true, nil
				}
				all[at] = append(all[at], r)
			}
		}
	}
	return all
}

type typedName struct{ typ, name string }

// Holding is a client that asked for nothing, and what it says that it holds.
type Holding struct {
	Client string `json:"client"`
	Of
	Seq     uint64 `json:"seq"` // where it says so last
	At      string `json:"at"`
	Source  string `json:"source"`
	Address string `json:"address,omitempty"`
	// InUse is how many resources of each type are in use, Static how many it has from
	// elsewhere than a management server.
	InUse  map[string]int `json:"in_use"`
	Static int            `json:"static,omitempty"`
	// Part says that it holds more, which is not known here.
	Part bool `json:"part,omitempty"`
}

// AddHolders adds the clients that asked for nothing.
func (s *Standing) AddHolders(h *Holders, asked []engine.ClientStatus) {
	s.HoldingMore = h.more
	for _, c := range h.Alone(asked) {
		of := h.by[c.Client]
		own := Holding{
			Client: c.Client, Seq: uint64(of.last.Seq), At: Timestamp(of.last.Time), Source: of.last.Held.Source, Address: of.last.Held.Address,
			InUse: map[string]int{}, Part: of.cut,
		}
		for at, all := range of.items() {
			for i := range all {
				switch all[i].Held() {
				case decode.HeldStatic:
					own.Static++
				case decode.HeldActive:
					own.InUse[at.typ]++
				}
			}
		}
		s.Holding = append(s.Holding, own)
	}
}

// text is what a person reads.
func (h *Holding) text() string {
	own := holding{inUse: h.InUse, static: h.Static}
	from := Safe(h.Source)
	if h.Address != "" {
		from += " " + Safe(h.Address)
	}
	held := own.counts()
	if h.Part {
		held = "at least " + held
	}
	return fmt.Sprintf("%s asked for nothing here. It holds %s (%s, %s)", strings.TrimSpace(Safe(h.Proxy)+" "+OrDash(Safe(h.Client))), held, h.entry(h.Seq), from)
}

// Tree is what a client says that it holds, by reference; nil if it is not known.
func (h *Holders) Tree(client string, seq session.Seq) *Tree {
	of := h.by[client]
	if of == nil {
		return nil
	}
	g := &heldTree{in: inspect.New(nil), all: of.items(), shown: map[typedName]bool{}, seq: uint64(of.last.Seq), missing: map[typedName]bool{}}
	t := &Tree{Schema: Schema, Client: client, Seq: uint64(seq), Roots: []*Node{}, Dangling: []*Node{}, Missing: []*Node{}, held: true}
	keys := slices.SortedFunc(maps.Keys(g.all), func(a, b typedName) int { return cmp.Or(byRank(a.typ, b.typ), strings.Compare(a.name, b.name)) })
	for _, at := range keys {
		if at.typ == "LDS" {
			t.Roots = append(t.Roots, g.node(at, 0))
		}
	}
	for _, at := range keys {
		if !g.shown[at] {
			t.Dangling = append(t.Dangling, g.node(at, 0))
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(g.missing), func(a, b typedName) int { return cmp.Or(byRank(a.typ, b.typ), strings.Compare(a.name, b.name)) }) {
		t.Missing = append(t.Missing, g.node(at, 0))
	}
	return t
}

type heldTree struct {
	in      *inspect.Inspector
	all     map[typedName][]decode.ResourceStatus
	shown   map[typedName]bool
	missing map[typedName]bool
	seq     uint64
}

// maxHeldDepth is more than references go.
const maxHeldDepth = 16

func (g *heldTree) node(at typedName, depth int) *Node {
	n := &Node{Type: at.typ, Name: at.name, Seq: g.seq, State: "not held", Effective: effect.Unknown.Answer()}
	items := g.all[at]
	if len(items) == 0 {
		return n
	}
	if g.shown[at] || depth > maxHeldDepth {
		n.Again = true
	}
	again := n.Again
	g.shown[at] = true
	var states []string
	for i := range items {
		r := &items[i]
		if s := string(r.Held()); !slices.Contains(states, s) {
			states = append(states, s)
		}
		n.Version = cmp.Or(n.Version, r.Version)
		if again || len(r.Body) == 0 || r.Held() == decode.HeldFailed {
			continue
		}
		facts := g.in.Inspect(r.BodyURL, r.Body, true)
		for _, ref := range facts.Refs {
			if ref.Name == "" {
				continue
			}
			to := typedName{ref.Type, decode.NormalName(ref.Name)}
			if slices.ContainsFunc(n.Children, func(c *Node) bool { return c.Type == to.typ && c.Name == to.name }) {
				continue
			}
			if len(g.all[to]) == 0 {
				g.missing[to] = true
			}
			n.Children = append(n.Children, g.node(to, depth+1))
		}
	}
	n.State = strings.Join(states, ", ")
	return n
}
