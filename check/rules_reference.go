package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/session"
)

// unsent are the clusters that routes of a stream name and that were not sent.
type unsent struct{ byName map[string]*reference }

// reference is where a cluster was named first.
type reference struct {
	sub   *engine.Subscription
	item  string // the resource
	place string // in it, "" if that was not looked for
	from  session.Seq
	since time.Time
	// refused says that it was due while the resource was rejected: it waits for
	// what is sent next.
	refused bool
}

const (
	// maxUnsent bounds the clusters that are waited for on one stream, maxPlaces
	// those of one resource of which it is said where they are named.
	maxUnsent = 256
	maxPlaces = 8
)

// noteReferences begins to wait for clusters, and ends it for those that come.
func noteReferences(x *event) {
	t, s, n := x.stream, x.sub, x.resp
	if !t.ADS() {
		return
	}
	u := unsentOf(t)
	switch s.Type {
	case "CDS":
		maps.DeleteFunc(u.byName, func(name string, _ *reference) bool { return sent(s, name) })
		if !n.WasFirst {
			return
		}
		for _, r := range u.byName { // nothing could come before
			r.since = x.now
		}
		// There may have been no room for what is still missing, and a client that
		// reconnected may have routes that do not come again.
		for _, typ := range [...]string{"LDS", "RDS", "VHDS"} {
			if from := t.Sub(typ); from != nil && !from.Lost {
				x.noteAll(u, from)
			}
		}
		if len(u.byName) == 0 {
			return
		}
	case "LDS", "RDS", "VHDS":
		look := false
		for _, r := range u.byName {
			if r.refused { // what comes now may be accepted
				r.since, r.refused, look = x.now, false, true
			}
		}
		before := len(u.byName)
		if n.WasFirst && s.Seeded {
			x.noteAll(u, s) // the stream before did not last until it was told
		} else {
			for _, it := range n.Added {
				x.noteReference(u, s, it, nil)
			}
			for i, it := range n.Changed {
				x.noteReference(u, s, it, n.Before[i])
			}
		}
		if len(u.byName) == before && !look {
			return
		}
	default:
		return
	}
	x.after(x.k.timers.DNE, neverSent)
}

// noteAll does that for all that the client has of a type.
func (x *event) noteAll(u *unsent, from *engine.Subscription) {
	for _, name := range from.Have.Names() { // in order: the first that names a cluster is told
		x.noteReference(u, from, from.Have.Get(name), nil)
	}
}

// noteReference begins to wait for the clusters that a resource names, and did
// not name before, and that the client does not have.
func (x *event) noteReference(u *unsent, s *engine.Subscription, it, before *engine.Resource) {
	cds := x.stream.Sub("CDS")
	from := x.resp.Seq
	if n := s.Newest(); n != nil {
		from = n.Seq
	}
	var names []string
	old := before.Refs()
	for _, ref := range it.Refs() {
		if !trafficTo(ref) || cds != nil && sent(cds, ref.Name) || u.byName[ref.Name] != nil || len(u.byName) == maxUnsent ||
			slices.ContainsFunc(old, func(o inspect.Ref) bool { return trafficTo(o) && o.Name == ref.Name }) {
			continue
		}
		put(&u.byName, ref.Name, &reference{sub: s, item: it.Name, from: from, since: x.now})
		names = append(names, ref.Name)
	}
	if len(names) == 0 {
		return
	}
	places := x.places(s, it, names[:min(len(names), maxPlaces)])
	for _, name := range names {
		u.byName[name].place = places[name]
	}
}

func trafficTo(ref inspect.Ref) bool { return ref.Type == "CDS" && ref.Use == inspect.UseTraffic }

// sent says whether the client has a cluster of that name.
func sent(cds *engine.Subscription, name string) bool {
	return cds.Have.Get(decode.NormalName(name)) != nil
}

// unable says that the server had no turn to send a cluster since it was named:
// it waits for the verdict on the response before, which the client may hold back
// while clusters warm up.
func (r *reference) unable(last *engine.Response) bool {
	return last != nil && last.Nonce != "" && (last.WasFirst || last.Seq < r.from)
}

// sinceVerdict lets the time begin with the verdict that the server waited for.
func sinceVerdict(x *event) {
	s, r := x.sub, x.req
	if s.Type != "CDS" || !x.stream.ADS() || r.Verdict == engine.Unjudged || r.Echoed == nil || r.Echoed != s.Newest() {
		return
	}
	held := false
	for _, of := range unsentOf(x.stream).byName {
		if of.unable(r.Echoed) {
			of.since, held = x.now, true
		}
	}
	if held {
		x.after(x.k.timers.DNE, neverSent)
	}
}

// neverSent reports the clusters that did not come in time.
func neverSent(x *event) {
	t, u := x.stream, unsentOf(x.stream)
	cds := t.Sub("CDS")
	if !t.Alive() || cds == nil || cds.Lost || cds.Responses == 0 && !cds.Seeded || cds.Wild == engine.NotWild {
		return
	}
	x.sub = cds
	due := make(map[string]struct{})
	last := cds.Newest()
	waits := last != nil && last.Verdict == engine.Unjudged
	for name, r := range u.byName {
		if !r.refused && !(waits && r.unable(last)) && x.now.Sub(r.since) >= x.k.timers.DNE {
			due[name] = struct{}{}
		}
	}
	if len(due) == 0 {
		return
	}
	by, elsewhere := x.referred("CDS", due), x.k.Elsewhere(t)
	var alone, more []string
	for _, name := range slices.Sorted(maps.Keys(due)) {
		r, referred := by[name]
		if referred && r.Sub.Refused(r.Item.Name) {
			u.byName[name].refused = true
			delete(due, name)
			continue
		}
		// What the client asks for by name is told by requested-resource-timeout
		// and delta-subscribe-unanswered.
		if !referred || elsewhere.Has(name) || cds.Names.Has(decode.NormalName(name)) {
			continue
		}
		if len(alone) < maxPlaces {
			alone = append(alone, name)
		} else {
			more = append(more, name)
		}
	}
	var near neighbours
	for _, name := range alone {
		x.neverCame(name, u.byName[name], by[name], &near)
	}
	if len(more) > 0 {
		r := by[more[0]]
		x.report(more, "%s not sent within %v, and %s %q names %q", words.List(more), words.Round(x.k.timers.DNE), r.Sub.Type, words.Clip(r.Item.Name), words.Clip(more[0]))
	}
	for name := range due {
		delete(u.byName, name)
	}
}

// neverCame reports one cluster, and the resource that named it first, if it
// still does.
func (x *event) neverCame(name string, from *reference, by engine.Referrer, among *neighbours) {
	if x.again(Warning, name) {
		return
	}
	typ, item, place := by.Sub.Type, by.Item.Name, ""
	first := from.sub.Have.Get(from.item)
	if slices.ContainsFunc(first.Refs(), func(o inspect.Ref) bool { return trafficTo(o) && o.Name == name }) {
		typ, item, place = from.sub.Type, from.item, from.place
	}
	if place != "" {
		place = " at " + words.Clip(place)
	}
	like := ""
	if near := x.nearestCluster(name, among); near != "" {
		like = fmt.Sprintf("; the nearest name that was sent is %q", words.Clip(near))
	}
	x.provef(proof{severity: Warning, names: []string{name}, cause: name, seqs: []session.Seq{from.from}},
		"%s %q names cluster %q%s, and it was not sent within %v%s", typ, words.Clip(item), words.Clip(name), place, words.Round(x.k.timers.DNE), like)
}

// lookups are what was looked for in resources and names. Many clients may have
// the same fault.
type lookups struct {
	places map[[16]byte]map[string]string // by content
	near   map[nearKey]string
}

// nearKey is a name among clusters, which a response tells that has all of them.
type nearKey struct {
	name     string
	clusters [2]uint64
}

const maxLookups = 64

// places says where a resource names clusters, as far as it is of the response,
// or was looked at before.
func (x *event) places(s *engine.Subscription, it *engine.Resource, names []string) map[string]string {
	l, hash := &x.k.lookups, it.Content.Facts.Hash
	have := l.places[hash]
	if _, known := have[names[0]]; known {
		return have
	}
	if s != x.sub {
		return nil
	}
	for i := range x.resp.Message.Resources {
		r := &x.resp.Message.Resources[i]
		if r.Empty || decode.NormalName(r.Name) != it.Name {
			continue
		}
		if len(l.places) >= maxLookups || l.places == nil {
			l.places = make(map[[16]byte]map[string]string)
		}
		have = x.k.Contents.Places(r, x.entry.Message.Masked, names)
		l.places[hash] = have
		return have
	}
	return nil
}

// neighbours are the names of the clusters of a client, once one is looked for.
type neighbours struct{ names, lower []string }

func (c *neighbours) nearest(cds *engine.Subscription, name string) string {
	if c.names == nil {
		c.names = cds.Have.Names()
		c.lower = make([]string, len(c.names))
		for i, n := range c.names {
			c.lower[i] = strings.ToLower(n)
		}
	}
	best := nearest.Name(name, c.lower)
	if best == "" {
		return ""
	}
	return c.names[slices.Index(c.lower, best)]
}

// nearestCluster is the cluster that was probably meant, "" if there is none, or
// there is no room for the finding.
func (x *event) nearestCluster(name string, among *neighbours) string {
	if !x.k.ledger.Room(int(Warning), x.now) {
		return ""
	}
	l, key := &x.k.lookups, nearKey{name: engine.Short(name)}
	n := x.sub.Newest()
	whole := n != nil && n.Twice == 0 && n.Count == x.sub.Have.Len()
	if whole {
		key.clusters = n.Sum
		if near, known := l.near[key]; known {
			return near
		}
	}
	near := among.nearest(x.sub, name)
	if whole {
		if len(l.near) >= maxLookups || l.near == nil {
			l.near = make(map[nearKey]string)
		}
		l.near[key] = near
	}
	return near
}
