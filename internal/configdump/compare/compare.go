// Package compare holds what an Envoy holds against what it should hold: what the
// engine says that its client has accepted. It has no account of its own, and
// says nothing of what the one or the other does not know.
package compare

import (
	"cmp"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// State is what became of one resource.
type State string

// The states. Those up to Differs are differences.
const (
	NotSent State = "not-sent" // Envoy holds it, and was never sent it
	Removed State = "removed"  // Envoy holds it, and the server has taken it back
	NotHeld State = "not-held" // accepted, and Envoy does not hold it
	Warming State = "warming"  // accepted, and Envoy does not use it yet
	Differs State = "differs"  // accepted, and Envoy holds another content

	Kept     State = "kept"     // taken back, and Envoy keeps it for as long as something refers to it
	Rejected State = "rejected" // sent and rejected, so that Envoy need not hold it
	Partial  State = "partial"  // sent and rejected, and Envoy holds it: it takes what is good of a rejected response
	Awaited  State = "awaited"  // Envoy asked for it, and did not get it from anybody
	Unknown  State = "unknown"  // it cannot be told
)

// Difference says whether a state is one.
func (s State) Difference() bool {
	return s == NotSent || s == Removed || s == NotHeld || s == Warming || s == Differs
}

// Item is one resource that is not simply the same.
type Item struct {
	Type, Name string
	State      State
	// Why says more, "" if there is nothing to say.
	Why string
	// Accepted is what the client accepted last, nil for nothing.
	Accepted *engine.Held
	// Held is what Envoy holds, nil for nothing.
	Held *configdump.Resource
	// Changes are from what was accepted to what is held, of what Differs.
	Changes *diff.Result
}

// Result is what came of a comparison.
type Result struct {
	Items []Item // by type and name
	// Same are how many resources of each type are the same.
	Same map[string]int
	// Elsewhere are how many resources of each type Envoy holds that its client
	// never asked for here: another server, or a file, has them.
	Elsewhere map[string]int
	// NotDumped are the types that the client uses and the dump does not have.
	NotDumped []string
}

// Differs says whether there is any difference.
func (r *Result) Differs() bool {
	return slices.ContainsFunc(r.Items, func(it Item) bool { return it.State.Difference() })
}

// Name is that of a resource of a type.
type Name struct{ Type, Name string }

// Session is what is known of the client.
type Session struct {
	Engine *engine.Engine
	Client string
	// Sent are the names of the dump that the client was ever sent.
	Sent map[Name]bool
	// Bodies gets contents: of each Held the resource that its entry has. Only
	// those are asked for that are needed.
	Bodies func([]engine.Held) (map[engine.Held]*decode.Resource, error)
}

// With compares what the client has accepted with a dump of it.
func (s *Session) With(d *configdump.Dump) (*Result, error) {
	c := newComparison(s, d)
	var err error
	if needs := c.needs(); len(needs) > 0 {
		if c.bodies, err = s.Bodies(needs); err != nil {
			return nil, err
		}
	}
	for key, of := range c.all {
		c.judge(key, of)
	}
	slices.SortFunc(c.out.Items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(xds.Rank(a.Type), xds.Rank(b.Type)), strings.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
	})
	return c.out, nil
}

// sides are what both say of one name.
type sides struct {
	accepted []engine.Held // one for each stream that has it
	offered  *engine.Held  // what was sent last and is not accepted
	rejected bool          // that was
	gone     bool          // the server has taken it back, and the client has not accepted that

	held    map[configdump.State][]*configdump.Resource
	derived bool
}

type comparison struct {
	sent   map[Name]bool
	gone   bool // the client has left, and what it asked for is not all known any more
	dump   *configdump.Dump
	subs   map[string][]*engine.Subscription // by type
	all    map[Name]*sides
	bodies map[engine.Held]*decode.Resource
	out    *Result
}

func newComparison(of *Session, d *configdump.Dump) *comparison {
	k, client := of.Engine, of.Client
	c := &comparison{
		dump: d, sent: of.Sent, subs: map[string][]*engine.Subscription{}, all: map[Name]*sides{},
		out: &Result{Same: map[string]int{}, Elsewhere: map[string]int{}},
	}
	for _, s := range k.Status() {
		c.gone = c.gone || s.Client == client && !s.Gone.IsZero()
	}
	for s := range k.TypesOfClient(client) {
		if s.Exempt() {
			continue
		}
		c.subs[s.Type] = append(c.subs[s.Type], s)
		if !d.Has(s.Type) {
			if !slices.Contains(c.out.NotDumped, s.Type) && s.Active() {
				c.out.NotDumped = append(c.out.NotDumped, s.Type)
			}
			continue
		}
		for name, offer := range s.Offered() {
			of := c.of(s.Type, name)
			if of.rejected = offer.Rejected; offer.Resource == nil {
				of.gone = true
			} else if offer.Content != nil {
				of.offered = &engine.Held{Type: s.Type, Name: name, Version: offer.Version, Seq: offer.Seq, Hash: offer.Content.Facts.Hash}
			}
		}
	}
	for h := range k.Held(client) {
		if d.Has(h.Type) {
			of := c.of(h.Type, h.Name)
			of.accepted = append(of.accepted, h)
		}
	}
	for i := range d.Resources {
		r := &d.Resources[i]
		of := c.of(r.Type, r.Name)
		state := r.State
		if r.Type == "EDS" && state == configdump.Static {
			state = configdump.Active // of a static cluster, by EDS all the same
		}
		if of.derived = r.Derived; !of.derived {
			of.held[state] = append(of.held[state], r)
		}
	}
	slices.Sort(c.out.NotDumped)
	return c
}

func (c *comparison) of(typ, name string) *sides {
	of := c.all[Name{typ, name}]
	if of == nil {
		of = &sides{held: map[configdump.State][]*configdump.Resource{}}
		c.all[Name{typ, name}] = of
	}
	return of
}

// needs are the contents that hashes do not settle.
func (c *comparison) needs() (out []engine.Held) {
	for _, of := range c.all {
		use := slices.Concat(of.held[configdump.Active], of.held[configdump.Warming])
		if len(use) == 0 {
			continue
		}
		list := of.accepted
		if of.offered != nil {
			list = append(slices.Clone(list), *of.offered)
		}
		for _, h := range list {
			if slices.ContainsFunc(use, func(r *configdump.Resource) bool { return r.Hash != h.Hash || r.Body == nil }) {
				out = append(out, h)
			}
		}
	}
	return out
}

func (c *comparison) judge(k Name, of *sides) {
	subs := c.subs[k.Type]
	active, warming := of.held[configdump.Active], of.held[configdump.Warming]
	holds := len(active)+len(warming) > 0
	it := Item{Type: k.Type, Name: k.Name}
	for _, list := range [][]*configdump.Resource{of.held[configdump.Failed], warming, active} {
		if len(list) > 0 {
			it.Held = list[0]
		}
	}
	if len(of.accepted) > 0 {
		it.Accepted = &of.accepted[0]
	}
	unsure := slices.ContainsFunc(subs, func(s *engine.Subscription) bool { return s.Unsure() || s.Lost })
	wanted := slices.ContainsFunc(subs, func(s *engine.Subscription) bool { return s.Wants(k.Name) })
	switch {
	case it.Accepted != nil && holds:
		c.content(it, of)
	case it.Accepted != nil && (of.gone || of.derived || !wanted):
		// It is on its way out, or was sent though nobody asked for it.
	case it.Accepted != nil:
		c.lacks(it, of, unsure)
	case holds && of.offered != nil:
		c.notAccepted(it, of)
	case holds && c.gone && !wanted:
		c.add(it, Unknown, "the client left before the session was over")
	case holds && (len(subs) == 0 || !wanted && !of.gone):
		c.out.Elsewhere[k.Type]++
	case holds && (unsure || of.gone):
		c.add(it, Unknown, "part of the session was not seen, or not answered")
	case holds && it.Held.Empty():
		// Its cluster came into use without them.
	case holds && !c.sent[k]:
		c.add(it, NotSent, "")
	case holds && (k.Type == "LDS" || k.Type == "CDS"):
		c.add(it, Removed, "")
	case holds: // Envoy does not delete it before what refers to it
		c.add(it, Kept, "")
	case of.offered != nil && of.rejected:
		c.add(it, Rejected, c.reason(of))
	case len(of.held[configdump.Awaited]) > 0:
		c.add(it, Awaited, "")
	case of.offered != nil && wanted:
		c.add(it, Unknown, "it was sent, and not answered")
	}
}

func (c *comparison) add(it Item, s State, why string) {
	it.State, it.Why = s, why
	c.out.Items = append(c.out.Items, it)
}

func (c *comparison) reason(of *sides) string {
	if failed := of.held[configdump.Failed]; len(failed) > 0 {
		return failed[0].Details
	}
	return ""
}

// lacks judges what was accepted and is not in use.
func (c *comparison) lacks(it Item, of *sides, unsure bool) {
	switch {
	case unsure:
		c.add(it, Unknown, "part of the session was not seen")
	case it.Type == "EDS" && c.dump.Source(it.Name) == configdump.Warming:
		c.add(it, Unknown, "its cluster is warming, and Envoy does not dump its endpoints until then")
	case len(of.held[configdump.Static]) > 0:
		c.add(it, NotHeld, "there is a static one of this name")
	case len(of.held[configdump.Awaited]) > 0:
		c.add(it, NotHeld, "Envoy still waits for it")
	case len(of.held[configdump.Draining]) > 0:
		c.add(it, NotHeld, "it is draining")
	default:
		c.add(it, NotHeld, c.reason(of))
	}
}

// notAccepted judges what is in use though the client accepted nothing of it.
func (c *comparison) notAccepted(it Item, of *sides) {
	same, _, why := c.alike(*of.offered, it.Held)
	switch {
	case !same && why == "":
		c.add(it, Unknown, "what was sent last was not accepted, and what is held is none of that")
	case !same:
		c.add(it, Unknown, why)
	case of.rejected:
		c.add(it, Partial, "")
	default:
		c.add(it, Unknown, "it was sent, and not answered")
	}
}

// content judges what both have.
func (c *comparison) content(it Item, of *sides) {
	var worst *Item
	for _, r := range of.held[configdump.Active] {
		if one := c.one(it, of, r); one.State != "" && (worst == nil || one.State.Difference()) {
			worst = &one
		}
	}
	// What is warming will be in use in place of what is.
	if warming := of.held[configdump.Warming]; len(warming) > 0 && (worst == nil || worst.State == Differs) {
		if one := c.one(it, of, warming[0]); len(of.held[configdump.Active]) == 0 || one.State == "" && worst != nil {
			it.Held = warming[0]
			c.add(it, Warming, "")
			return
		}
	}
	if worst != nil {
		c.out.Items = append(c.out.Items, *worst)
		return
	}
	c.out.Same[it.Type]++
}

// one compares one resource of the dump with what was accepted; the state is ""
// if they are the same.
func (c *comparison) one(it Item, of *sides, r *configdump.Resource) Item {
	it.Held = r
	for i := range of.accepted {
		same, changes, why := c.alike(of.accepted[i], r)
		if same {
			it.State = ""
			return it
		}
		it.State, it.Why, it.Accepted, it.Changes = Differs, why, &of.accepted[i], changes
		if changes == nil {
			it.State = Unknown
		}
	}
	if of.offered != nil {
		if same, _, _ := c.alike(*of.offered, r); same {
			it.State, it.Why, it.Changes = Unknown, "it was sent, and not answered", nil
			if of.rejected {
				it.State, it.Why = Partial, ""
			}
		}
	}
	return it
}

// alike says whether a content that was sent is what Envoy holds. Without changes
// and why it is not known.
func (c *comparison) alike(h engine.Held, r *configdump.Resource) (same bool, changes *diff.Result, why string) {
	if r.Body != nil && r.Hash == h.Hash {
		return true, nil, ""
	}
	sent := c.bodies[h]
	if sent == nil {
		return false, nil, "its content is not in the recording any more, or did not fit into memory"
	}
	return configdump.Alike(sent, r)
}
