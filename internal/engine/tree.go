package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/decode/origin"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// ResourceState is where a client stands with one resource, mostly in the words of
// client status discovery (CSDS).
type ResourceState string

// The states of a resource.
const (
	Sent     ResourceState = "SENT" // and not answered yet, in time or not
	Acked    ResourceState = "ACKED"
	Rejected ResourceState = "NACKED"
	Missing  ResourceState = "MISSING" // referred to or asked for, and not sent
	// Uncertain: part of the conversation was not seen, or the client has taken
	// its acceptance back.
	Uncertain ResourceState = "UNCERTAIN"
	// NotOverXDS is a cluster that is not sent, and is mostly of the bootstrap.
	NotOverXDS ResourceState = "not over xDS"
)

// Node is a resource of a client and what it refers to.
type Node struct {
	Type, Name string
	State      ResourceState
	Version    string
	// Seq is the response that had it last, and At when that was; 0 where that
	// is not known any more.
	Seq      session.Seq
	At       time.Time
	Children []*Node
	// Sources are the objects of a control plane that it was made of.
	Sources     []origin.Source
	MoreSources bool
	// Again says that the children are shown where the resource came first.
	Again bool
}

// Tree is what a client has, by reference.
type Tree struct {
	Client string
	// Roots are listeners, then what only a client asks for that nothing
	// refers to by type, such as runtime layers.
	Roots    []*Node
	Dangling []*Node // sent, but nothing refers to them
	Missing  []*Node // referred to or asked for by name, but not sent
}

// Tree returns what a client has, or had when it was seen last; nil if it is not
// known.
func (k *Engine) Tree(id string) *Tree {
	c := k.clients.byID[id]
	if c == nil {
		c = k.nameless()[id]
	}
	if c == nil {
		return nil
	}
	g := &grower{
		elsewhere: k.known(),
		subs:      make(map[string][]*Subscription), shown: make(map[typedName]bool),
		missing: make(map[typedName]*Node), states: make(map[*Subscription]states), carriers: make(map[*Subscription]carriers),
	}
	for s := range c.known() {
		if !s.Exempt() {
			g.subs[s.Type] = append(g.subs[s.Type], s)
			g.elsewhere.learn(s)
		}
	}
	return g.grow(id)
}

type typedName struct{ typ, name string }

// grower makes the tree of one client.
type grower struct {
	subs    map[string][]*Subscription
	shown   map[typedName]bool
	missing map[typedName]*Node
	states  map[*Subscription]states

	carriers  map[*Subscription]carriers
	elsewhere Elsewhere
}

// maxTreeDepth is more than references go: listener, scope, routes, cluster,
// its parts, endpoints, localities.
const maxTreeDepth = 16

func (g *grower) grow(id string) *Tree {
	t := &Tree{Client: id}
	for _, name := range g.names("LDS") {
		t.Roots = append(t.Roots, g.node("LDS", name, 0))
	}
	types := slices.SortedFunc(maps.Keys(g.subs), func(a, b string) int {
		return cmp.Or(cmp.Compare(xds.Rank(a), xds.Rank(b)), strings.Compare(a, b))
	})
	for _, typ := range types {
		for _, name := range g.names(typ) {
			if g.shown[typedName{typ, name}] {
				continue
			}
			n := g.node(typ, name, 0)
			if xds.ByShort(typ).Parents == nil {
				t.Roots = append(t.Roots, n)
			} else {
				t.Dangling = append(t.Dangling, n)
			}
		}
		for _, s := range g.subs[typ] {
			for name := range s.Names.All() {
				if key := (typedName{typ, name}); !g.shown[key] && g.missing[key] == nil && !IsGlob(name) && s.Given(name) == nil {
					g.missing[key] = &Node{Type: typ, Name: name, State: Missing}
				}
			}
		}
	}
	for _, n := range g.missing {
		if !g.shown[typedName{n.Type, n.Name}] {
			t.Missing = append(t.Missing, n)
		}
	}
	slices.SortFunc(t.Missing, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(xds.Rank(a.Type), xds.Rank(b.Type)), strings.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
	})
	return t
}

// names are the resources of a type that the client has, sorted.
func (g *grower) names(typ string) []string {
	var out []string
	for _, s := range g.subs[typ] {
		for name := range s.Have.All() {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// find finds a resource that the client has; on the stream where it stands
// worst, if it has it on several.
func (g *grower) find(typ, name string) (of *Subscription, found *Resource) {
	worst := -1
	for _, s := range g.subs[typ] {
		if it := s.Have.Get(name); it != nil {
			if bad := slices.Index(betterFirst, g.stateOf(s, name)); bad > worst {
				of, found, worst = s, it, bad
			}
		}
	}
	return of, found
}

// betterFirst are the states of a resource that was sent.
var betterFirst = []ResourceState{Acked, Sent, Uncertain, Rejected}

// node makes the node of a resource that is there.
func (g *grower) node(typ, name string, depth int) *Node {
	s, it := g.find(typ, name)
	n := &Node{Type: typ, Name: name, State: g.stateOf(s, name), Version: it.Version}
	n.Sources, n.MoreSources = it.Sources()
	if last := s.Newest(); n.Version == "" && last != nil && last.Kind == decode.SotwResponse {
		if n.Version = last.Version; n.State == Acked && last.Verdict != ACKed && s.Accepted != nil {
			n.Version = s.Accepted.Version
		}
	}
	if from := g.carrier(s, it); from != nil {
		n.Seq, n.At = from.Seq, from.At
	}
	key := typedName{typ, name}
	if g.shown[key] || depth >= maxTreeDepth {
		n.Again = len(it.Refs()) > 0
		return n
	}
	g.shown[key] = true
	seen := make(map[typedName]bool)
	for _, ref := range it.Refs() {
		child := typedName{ref.Type, ref.Name}
		if seen[child] {
			continue
		}
		seen[child] = true
		if among := Collection(ref); among != nil {
			for _, name := range g.names(ref.Type) {
				if among(name) {
					n.Children = append(n.Children, g.node(ref.Type, name, depth+1))
				}
			}
			continue
		}
		if s, _ := g.find(ref.Type, ref.Name); s != nil {
			n.Children = append(n.Children, g.node(ref.Type, ref.Name, depth+1))
			continue
		}
		if ref.Source == inspect.SourceOther || ref.Source == inspect.SourceFile || ref.Default {
			continue // it comes from elsewhere, or may be left out
		}
		if ref.Type == "CDS" && g.subs["CDS"] == nil {
			continue // clusters are configured elsewhere
		}
		m := &Node{Type: ref.Type, Name: ref.Name, State: Missing}
		n.Children = append(n.Children, m)
		if _, is := g.elsewhere.names[ref.Name]; is && ref.Type == "CDS" {
			m.State = NotOverXDS
			continue
		}
		g.missing[child] = m
	}
	return n
}

// Collection says which resources a reference is to that names no single one; nil
// if it does. A collection may be empty. To the context parameters of a reference
// a client adds those of its node.
func Collection(ref inspect.Ref) func(name string) bool {
	switch name := decode.NormalName(ref.Name); {
	case ref.Type == "SRDS" && name == "":
		return func(string) bool { return true }
	case ref.Type == "VHDS":
		return func(of string) bool { return strings.HasPrefix(of, name+"/") }
	case IsGlob(name):
		return func(of string) bool {
			glob, given := globOf(of), strings.Contains(name, "?")
			return glob == name || !given && strings.HasPrefix(glob, name+"?")
		}
	}
	return nil
}

// carriers are the responses of a type on a stream by their stamps.
type carriers map[uint64]*Response

// carrier is the response that had a resource last, nil if that is not known. A
// resource that clients share has the stamp of whichever got it last.
func (g *grower) carrier(s *Subscription, it *Resource) *Response {
	known, ok := g.carriers[s]
	if !ok {
		known = make(carriers, len(s.Sent))
		for _, n := range s.Sent {
			known[n.stamp] = n
		}
		g.carriers[s] = known
	}
	if from := known[it.Stamp]; from != nil {
		return from
	}
	if n := s.Newest(); n != nil && n.Kind == decode.SotwResponse && s.Full() {
		return n // it had everything
	}
	return nil
}

// states says where a client stands with resources that it has not accepted as
// they were sent last.
type states map[string]ResourceState

// stateOf says where the client stands with a resource that was sent.
func (g *grower) stateOf(s *Subscription, name string) ResourceState {
	if s.Lost {
		return Uncertain
	}
	known, ok := g.states[s]
	if !ok {
		known = s.states()
		g.states[s] = known
	}
	if state, ok := known[name]; ok {
		return state
	}
	if !s.open.knows(name) {
		return Uncertain
	}
	return Acked
}

func (s *Subscription) states() states {
	known := make(states)
	for name, u := range s.open.all() {
		switch {
		case u.rejected():
			known[name] = Rejected
		case u.unclear():
			known[name] = Uncertain
		default:
			known[name] = Sent
		}
	}
	return known
}
