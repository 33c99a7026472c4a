package pushes

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	maxReleases = 1024 // resources that a client's others let go of, as remembered
	maxWindows  = 256  // that are open at one client
	maxVia      = 8    // names in a swap
)

type resourceKey struct{ typ, name string }

// moment is a response, and when it was sent and accepted.
type moment struct {
	seq          session.Seq
	stream       session.StreamID
	sent, agreed time.Time // agreed is zero while it was not accepted
}

// release is that a resource which referred to another refers to it no more.
type release struct {
	moment
	byType, by string
	instead    string // what it refers to now, "" if nothing or several
}

// window is a time in which a client is without a resource that it needs.
type window struct {
	resourceKey
	client     string
	push       *push
	how        string
	byType, by string
	instead    string
	from       moment
	until      *moment // what closes it, nil while there is nothing
	refused    bool    // the client rejected what made it, or would have closed it
	closed     bool
	over       time.Time // when the client went away, zero while it is there
}

// swapped is a resource that was removed after others had let go of it.
type swapped struct {
	instead, via     map[string]bool
	clients, gapless int
	margin           time.Duration
}

// mind follows what a response takes away, and what still needs it.
func (g *Grouper) mind(k *engine.Engine, p *push, in *incoming) {
	n, cl, typ := in.n, in.client, in.sub.Type
	at := moment{seq: n.Seq, stream: n.On, sent: g.now}
	g.closing(k, in, at)
	if n.WasFirst {
		return
	}
	for i, it := range n.Changed {
		cl.letGo(typ, n.Before[i], it, at)
	}
	for _, it := range n.Removed {
		cl.letGo(typ, it, nil, at)
	}
	if typ != "CDS" {
		g.early(k, p, in, at)
	}
	if len(n.Removed) == 0 || len(xds.ByShort(typ).Parents) == 0 {
		return
	}
	names := make(map[string]struct{}, len(n.Removed))
	for _, it := range n.Removed {
		names[it.Name] = struct{}{}
	}
	by := g.referred(k, in.sub.Stream, typ, names)
	for _, it := range n.Removed {
		key := resourceKey{typ, it.Name}
		w := &window{resourceKey: key, client: cl.id, push: p, how: Cut, from: at}
		if r, is := by[it.Name]; is {
			w.byType, w.by = r.Sub.Type, r.Item.Name
			g.open(cl, w)
			continue
		}
		r, is := cl.released[key]
		switch {
		case !is || r.seq == n.Seq:
		case !r.agreed.IsZero(), r.stream == n.On: // a client takes what is on a stream in its order
			margin := g.now.Sub(r.sent)
			if !r.agreed.IsZero() {
				margin = g.now.Sub(r.agreed)
			}
			p.swap(key, r.instead, r.byType+" "+r.by, margin, true)
		default:
			w.byType, w.by, w.instead = r.byType, r.by, r.instead
			until := r.moment
			w.until = &until
			g.open(cl, w)
		}
		delete(cl.released, key)
	}
}

func (g *Grouper) open(cl *client, w *window) {
	p := w.push
	if len(p.gaps) >= maxGaps || len(cl.open) >= maxWindows {
		p.moreGaps++
		return
	}
	p.gaps = append(p.gaps, w)
	cl.open = append(cl.open, w)
	g.weigh(p, 1)
}

// referred are the resources that refer to those of some names, on all streams of
// the client, by these names.
func (g *Grouper) referred(k *engine.Engine, t *engine.Stream, typ string, names map[string]struct{}) map[string]engine.Referrer {
	out := make(map[string]engine.Referrer)
	seen := make(map[*engine.Stream]bool)
	for s := range k.TypesOf(t) {
		if s.Stream.Server != t.Server || s.Stream.Ended || seen[s.Stream] {
			continue
		}
		seen[s.Stream] = true
		for name, r := range s.Stream.Referred(typ, names) {
			old, known := out[name]
			if !known || cmp.Or(strings.Compare(r.Sub.Type, old.Sub.Type), strings.Compare(r.Item.Name, old.Item.Name)) < 0 {
				out[name] = r // the first by name, whatever the order of streams
			}
		}
	}
	return out
}

// letGo notes to what a resource refers no more, and to what instead.
func (c *client) letGo(typ string, was, is *engine.Resource, at moment) {
	after := make(map[resourceKey]bool)
	for _, r := range is.Refs() {
		if needs(r) {
			after[resourceKey{r.Type, r.Name}] = true
		}
	}
	before := make(map[resourceKey]bool)
	for _, r := range was.Refs() {
		if needs(r) {
			before[resourceKey{r.Type, r.Name}] = true
		}
	}
	instead := make(map[string]string)
	for key := range after {
		if before[key] {
			continue
		}
		if _, more := instead[key.typ]; more {
			instead[key.typ] = ""
			continue
		}
		instead[key.typ] = key.name
	}
	for key := range before {
		if after[key] {
			continue
		}
		if c.released == nil {
			c.released = make(map[resourceKey]release)
		}
		if len(c.released) >= maxReleases {
			clear(c.released)
		}
		c.released[key] = release{moment: at, byType: typ, by: was.Name, instead: instead[key.typ]}
	}
}

// needs says whether traffic is lost without what is referred to.
func needs(r inspect.Ref) bool {
	return r.Type != "CDS" && !r.Default || r.Use == inspect.UseTraffic
}

// closing looks which windows of a client end with a response: what was missing is
// there again, or nothing refers to it any more.
func (g *Grouper) closing(k *engine.Engine, in *incoming, at moment) {
	cl, n := in.client, in.n
	if len(cl.open) == 0 || len(n.Added)+len(n.Changed)+len(n.Removed) == 0 {
		return
	}
	byType := make(map[string]map[string]struct{})
	for _, w := range cl.open {
		if w.until == nil {
			if byType[w.typ] == nil {
				byType[w.typ] = make(map[string]struct{})
			}
			byType[w.typ][w.name] = struct{}{}
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(byType)) {
		names := byType[typ]
		parents := slices.Contains(xds.ByShort(typ).Parents, in.sub.Type)
		if typ != in.sub.Type && !parents {
			continue
		}
		var still map[string]engine.Referrer
		if parents {
			still = g.referred(k, in.sub.Stream, typ, names)
		}
		for _, w := range cl.open {
			if w.typ != typ || w.until != nil {
				continue
			}
			switch _, held := still[w.name]; {
			case typ == in.sub.Type && in.sub.Have.Get(w.name) != nil:
			case parents && !held:
				w.instead = insteadOf(n, w.byType == in.sub.Type, w)
			default:
				continue
			}
			until := at
			w.until = &until
			w.push.touch()
		}
	}
}

// insteadOf is what the resource that referred to what is missing refers to now.
func insteadOf(n *engine.Response, same bool, w *window) string {
	for i, it := range n.Changed {
		if !same || it.Name != w.by {
			continue
		}
		var c client
		c.letGo(w.byType, n.Before[i], it, moment{})
		return c.released[w.resourceKey].instead
	}
	return ""
}

// early opens windows for clusters to which a response refers and that the client
// was not sent, where it gets all clusters that there are.
func (g *Grouper) early(k *engine.Engine, p *push, in *incoming, at moment) {
	var cds *engine.Subscription
	for s := range k.TypesOf(in.sub.Stream) {
		if s.Type == "CDS" && !s.Stream.Ended && s.Stream.Server == in.sub.Stream.Server {
			cds = s
		}
	}
	if cds == nil || cds.Lost || cds.Responses == 0 || !cds.Everything() {
		return
	}
	var elsewhere *engine.Elsewhere
	for it := range in.n.AddedOrChanged() {
		for _, r := range it.Refs() {
			if r.Type != "CDS" || r.Use != inspect.UseTraffic || cds.Have.Get(r.Name) != nil || in.client.misses(r.Name) {
				continue
			}
			if elsewhere == nil {
				e := k.Elsewhere(in.sub.Stream)
				elsewhere = &e
			}
			if !elsewhere.Has(r.Name) {
				g.open(in.client, &window{
					resourceKey: resourceKey{"CDS", r.Name}, client: in.client.id, push: p, how: Early,
					byType: in.sub.Type, by: it.Name, from: at,
				})
			}
		}
	}
}

// misses says whether a window for a cluster is open.
func (c *client) misses(name string) bool {
	return slices.ContainsFunc(c.open, func(w *window) bool { return w.typ == "CDS" && w.name == name })
}

// settleGaps enters a verdict on a response into what waits for it.
func (g *Grouper) settleGaps(cl *client, seq session.Seq, ok bool) {
	for key, r := range cl.released {
		switch {
		case r.seq != seq:
		case ok:
			r.agreed = g.now
			cl.released[key] = r
		default:
			delete(cl.released, key)
		}
	}
	kept := cl.open[:0]
	for _, w := range cl.open {
		switch {
		case w.from.seq == seq && ok:
			w.from.agreed = g.now
		case w.from.seq == seq:
			w.refused = true
		}
		if w.until != nil && w.until.seq == seq {
			if ok {
				w.until.agreed, w.closed = g.now, true
				if w.how == Cut && w.instead != "" {
					w.push.swap(w.resourceKey, w.instead, w.byType+" "+w.by, -w.most(g.now), false)
				}
			} else {
				w.until, w.refused = nil, true
			}
		}
		w.push.touch()
		if !w.closed && !w.push.gone {
			kept = append(kept, w)
		}
	}
	clear(cl.open[len(kept):])
	cl.open = kept
}

// lasts says whether nothing closed it yet, of a client that is there.
func (w *window) lasts() bool { return !w.closed && w.over.IsZero() }

// most is the longest that a window can have been open.
func (w *window) most(now time.Time) time.Duration {
	switch {
	case w.until != nil && !w.until.agreed.IsZero():
		now = w.until.agreed
	case !w.over.IsZero():
		now = w.over
	}
	return max(0, now.Sub(w.from.sent))
}

// least is for how long a window was open in any case: from when the client had
// taken what opened it until what closed it was sent.
func (w *window) least(now time.Time) time.Duration {
	if w.from.agreed.IsZero() {
		return 0
	}
	switch {
	case w.until != nil:
		now = w.until.sent
	case !w.over.IsZero():
		now = w.over
	}
	return max(0, now.Sub(w.from.agreed))
}

func (p *push) swap(key resourceKey, instead, via string, margin time.Duration, gapless bool) {
	if instead == "" || len(p.swaps) >= maxChanges {
		return
	}
	if p.swaps == nil {
		p.swaps = make(map[resourceKey]*swapped)
	}
	s := p.swaps[key]
	if s == nil {
		s = &swapped{instead: make(map[string]bool), via: make(map[string]bool), margin: margin}
		p.swaps[key] = s
	}
	if len(s.instead) < maxVia {
		s.instead[instead] = true
	}
	if len(s.via) < maxVia {
		s.via[via] = true
	}
	s.clients++
	if gapless {
		s.gapless++
	}
	s.margin = min(s.margin, margin)
	p.touch()
}
