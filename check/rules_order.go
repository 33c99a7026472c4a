package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// ahead is a reference to a cluster that the client does not have.
type ahead struct {
	from *engine.Response
	item *engine.Resource
	sub  *engine.Subscription
	cds  *engine.Response // that brought the cluster, once it did
}

// aheads are the clusters that routes name and that were not sent yet.
type aheads struct{ byName map[string]*ahead }

// maxAhead bounds the clusters that are waited for on one stream.
const maxAhead = 4096

func referenceBeforeCluster(x *event) {
	t, s, n := x.stream, x.sub, x.resp
	if !t.ADS() {
		return
	}
	waiting := aheadOf(t)
	switch s.Type {
	case "CDS":
		for _, it := range n.Added {
			a := waiting.byName[it.Name]
			if a == nil {
				continue
			}
			if x.now.Sub(a.from.At) > x.k.timers.Retro || a.from.Verdict == engine.NACKed {
				delete(waiting.byName, it.Name)
				continue
			}
			a.cds = n
			if a.from.Verdict == engine.ACKed {
				x.cameAhead(it.Name, a)
			}
		}
	case "LDS", "RDS", "VHDS":
		cds := t.Sub("CDS")
		if cds == nil || cds.Lost || cds.Responses == 0 || n.WasFirst || cds.Wild == engine.NotWild {
			return
		}
		for it := range n.AddedOrChanged() {
			for _, ref := range it.Refs() {
				if ref.Type != "CDS" || ref.Use != inspect.UseTraffic || cds.Have.Get(ref.Name) != nil || waiting.byName[ref.Name] != nil || len(waiting.byName) >= maxAhead {
					continue
				}
				put(&waiting.byName, ref.Name, &ahead{from: n, item: it, sub: s})
			}
		}
	}
}

// referenceAccepted reports what waited for its verdict only.
func referenceAccepted(x *event) {
	if x.req.Verdict != engine.ACKed || len(aheadOf(x.stream).byName) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(aheadOf(x.stream).byName)) {
		if a := aheadOf(x.stream).byName[name]; a.cds != nil && a.from.Verdict == engine.ACKed {
			x.cameAhead(name, a)
		}
	}
}

func (x *event) cameAhead(name string, a *ahead) {
	delete(aheadOf(x.stream).byName, name)
	x.provef(proof{severity: Warning, names: []string{name}, typ: a.sub.Type, seqs: []session.Seq{a.from.Seq, a.cds.Seq}},
		"%s %q referred to cluster %q %v before the cluster was sent", a.sub.Type, a.item.Name, name, words.Round(a.cds.At.Sub(a.from.At)))
}

func clusterRemovedWhileReferenced(x *event) {
	if x.sub.Type == "CDS" && x.stream.ADS() {
		x.removedInUse("CDS")
	}
}

func dependentRemovedInUse(x *event) {
	if x.resp.Message.Kind == decode.DeltaResponse && !x.sub.Full() {
		x.removedInUse(x.sub.Type)
	}
}

// removedInUse reports what a response removes and others still refer to.
func (x *event) removedInUse(typ string) {
	if len(x.resp.Removed) == 0 {
		return
	}
	by := x.referred(typ, nameSet(itemNames(x.resp.Removed)))
	if len(by) == 0 {
		return
	}
	names, what := slices.Sorted(maps.Keys(by)), "it"
	first := by[names[0]]
	if typ == "CDS" {
		what = fmt.Sprintf("%q", names[0])
	}
	x.report(names, "%s removed, but %s %q still refers to %s", words.List(names), first.Sub.Type, first.Item.Name, what)
}

// awaitEndpoints waits for what clusters have begun to wait for.
func awaitEndpoints(x *event) {
	if x.warm() {
		x.after(x.k.timers.DNE, warmingStarved)
	}
}

// warmingStarved reports the clusters that have waited from x on.
func warmingStarved(x *event) {
	t := x.stream
	eds := t.Sub("EDS")
	if t.Ended || eds == nil || eds.Lost {
		return
	}
	var names []string
	for name, w := range warmingOf(t).byName {
		if w.asked && !w.told && w.from == x.seq() && eds.Wants(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	for _, name := range names {
		warmingOf(t).byName[name].told = true
	}
	w := warmingOf(t).byName[names[0]]
	seqs := []session.Seq{w.cds.Seq, w.from}
	if w.cds.Seq == w.from {
		seqs = seqs[:1]
	}
	x.provef(proof{severity: Warning, names: names, typ: "EDS", seqs: seqs},
		"no endpoints for %s within %v: %s", words.List(names), words.Round(x.k.timers.DNE), waiting(t, names))
}

// waiting says which clusters wait for endpoints of these names.
func waiting(t *engine.Stream, names []string) string {
	const most = 3
	var who []string
	for _, name := range names[:min(len(names), most)] {
		w := warmingOf(t).byName[name]
		who = append(who, fmt.Sprintf("%q of entry %d", words.Clip(w.cluster), w.cds.Seq))
	}
	text := strings.Join(who, ", ")
	switch more := len(names) - most; {
	case len(names) == 1:
		return "cluster " + text + " waits for them"
	case more > 0:
		text += fmt.Sprintf(" and %d more", more)
	}
	return "clusters " + text + " wait for them"
}

func dependentWarmingStarved(x *event) {
	s := x.sub
	if !x.stream.ADS() || s.Type != "RDS" && s.Type != "SDS" && s.Type != "ECDS" {
		return
	}
	var names []string
	by := x.referred(s.Type, nameSet(x.wait.left))
	for _, name := range x.wait.left {
		if r, ok := by[name]; ok && r.Ref.Source == inspect.SourceADS && !r.Ref.Default && !s.EverSent(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	r := by[names[0]]
	x.report(names, "%s %q waits for %s, asked for %v ago and not sent since", r.Sub.Type, r.Item.Name, words.List(names), words.Round(x.k.timers.DNE))
}

func edsForUnknownCluster(x *event) {
	t, s := x.stream, x.sub
	cds := t.Sub("CDS")
	if s.Type != "EDS" || !t.ADS() || cds == nil || cds.Lost || cds.Responses == 0 {
		return
	}
	var names []string
	for _, it := range x.resp.Added {
		if !s.WantedLately(it.Name, x.now, x.flight()) {
			names = append(names, it.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	known := x.referred("EDS", nameSet(names))
	names = without(names, func(n string) bool { _, ok := known[n]; return ok })
	if len(names) > 0 {
		x.report(names, "endpoints %s belong to no cluster that was sent, and were not asked for", words.List(names))
	}
}
