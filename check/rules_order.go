package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

const groupOrder = "Order and warming"

// orderRules look at resources that refer to each other. They need decoded
// payloads and all types on one stream.
func orderRules() []*Rule {
	return []*Rule{
		{
			ID: "reference-before-cluster", Title: "a route came before its cluster", Group: groupOrder,
			Fault: ServerFault, Severity: Warning, Confidence: Guessed, Scope: "ADS",
			Spec:     "Eventual consistency considerations",
			Means:    "A route or listener named a cluster that the client did not have, and the cluster came a little later. Routes do not wait for clusters: requests that matched in between were answered with 503 or 500.",
			Causes:   "A control plane that pushes types in no fixed order, or as each one changes. go-control-plane's plain mux sends them as its watches fire (go-control-plane#526, #800).",
			Next:     "Push in the order CDS, EDS, LDS, RDS when adding. The time in the message is how long traffic could fail.",
			response: referenceBeforeCluster, request: referenceAccepted,
		},
		{
			ID: "cluster-removed-while-referenced", Title: "a cluster was removed that routes still name", Group: groupOrder,
			Fault: ServerFault, Severity: Warning, Confidence: Guessed, Scope: "ADS",
			Spec:     "Eventual consistency considerations",
			Means:    "The server took away a cluster while the newest routes or listeners that it had sent still pointed to it. Until they change, matching requests fail with 503 (NC, no cluster).",
			Causes:   "Additions and removals pushed in the same order of types. Removals need the reverse one: routes first, stale clusters last. A cluster replaced under a new name in one push has the same effect (kuma#4556).",
			Next:     "Let the server send the routes without the reference first, and remove the cluster after they were accepted.",
			response: clusterRemovedWhileReferenced,
		},
		{
			ID: "cluster-warming-starved", Title: "a cluster waits for endpoints that do not come", Group: groupOrder,
			Fault: ServerFault, Severity: Warning, Confidence: Timed, Scope: "ADS",
			Spec:     "Resource warming",
			Means:    "A cluster that takes its endpoints over ADS was added or changed. Envoy keeps it warming, and keeps the old one in use, until endpoints for it are sent, even if these did not change. None came.",
			Causes:   "A server that compares endpoints with what it sent before and finds nothing new (go-control-plane#1035, envoy#13009), or that has no endpoints under the name the cluster asks for: look at service_name.",
			Next:     "Send the endpoints again whenever their cluster changes. If the name is one that the server does not know, mend the name; if there are no endpoints, send an empty ClusterLoadAssignment.",
			response: awaitEndpoints, request: awaitEndpoints,
		},
		{
			ID: "dependent-warming-starved", Title: "a listener or cluster waits for a resource that does not come", Group: groupOrder,
			Fault: ServerFault, Severity: Warning, Confidence: Timed, Scope: "ADS",
			Spec:       "Resource warming",
			Means:      "A delivered resource refers to this one, the client has asked for it, and it was never sent. The client holds back what refers to it: a listener without its routes or certificate does not serve.",
			Causes:     "A secret or route that does not exist under that name, a control plane that answers SDS from elsewhere, or one that waits until all names of its snapshot are asked for.",
			Next:       "Compare the name in the reference with what the server has. While a name is wrong, an answer that says so (removed_resources, or resource_errors) lets the client go on.",
			unanswered: dependentWarmingStarved,
		},
		{
			ID: "dependent-removed-in-use", Title: "a resource was removed that others still refer to", Group: groupOrder,
			Fault: ServerFault, Severity: Warning, Confidence: Guessed, Scope: "Delta",
			Spec:     "Deleting Resources; Eventual consistency considerations",
			Means:    "The server removed a resource to which one that the client has still refers. What happens depends on the type: Envoy drops a filter configuration at once and answers with errors (envoy#32823), keeps a removed secret, and empties a removed set of endpoints.",
			Causes:   "A control plane that cleans up what belongs to a deleted object before it has changed what refers to it.",
			Next:     "Change or remove the referring resource first.",
			response: dependentRemovedInUse,
		},
		{
			ID: "eds-for-unknown-cluster", Title: "endpoints of a cluster that nobody knows", Group: groupOrder,
			Fault: ServerFault, Severity: Info, Confidence: Guessed, Scope: "ADS", Off: true,
			Spec:     "Eventual consistency considerations",
			Means:    "The server sent endpoints under a name that no delivered cluster uses and that the client did not ask for. The client ignores them.",
			Causes:   "Endpoints pushed for everything the control plane has, or before their cluster.",
			Next:     "Nothing, unless responses are large: then send only what is asked for.",
			response: edsForUnknownCluster,
		},
	}
}

// ahead is a reference to a cluster that the client does not have.
type ahead struct {
	from *response
	item *item
	sub  *subscription
	cds  *response // that brought the cluster, once it did
}

// aheads are the clusters that routes name and that were not sent yet.
type aheads struct{ byName map[string]*ahead }

// maxAhead bounds the clusters that are waited for on one stream.
const maxAhead = 4096

func referenceBeforeCluster(x *event) {
	t, s, n := x.talk, x.sub, x.resp
	if !t.ads() {
		return
	}
	switch s.typ {
	case "CDS":
		for _, it := range n.added {
			a := aheadOf(t).byName[it.name]
			if a == nil {
				continue
			}
			if x.now.Sub(a.from.at) > x.k.timers.Retro || a.from.verdict == rejected {
				delete(aheadOf(t).byName, it.name)
				continue
			}
			a.cds = n
			if a.from.verdict == accepted {
				x.cameAhead(it.name, a)
			}
		}
	case "LDS", "RDS", "VHDS":
		cds := t.sub("CDS")
		if cds == nil || cds.lost || cds.responses == 0 || n.wasFirst || cds.wild == notWild {
			return
		}
		for _, list := range [][]*item{n.added, n.changed} {
			for _, it := range list {
				for _, ref := range it.refs() {
					if ref.Type != "CDS" || ref.Use != decode.UseTraffic || cds.have.get(ref.Name) != nil || aheadOf(t).byName[ref.Name] != nil || len(aheadOf(t).byName) >= maxAhead {
						continue
					}
					if aheadOf(t).byName == nil {
						aheadOf(t).byName = make(map[string]*ahead)
					}
					aheadOf(t).byName[ref.Name] = &ahead{from: n, item: it, sub: s}
				}
			}
		}
	}
}

// referenceAccepted reports what waited for its verdict only.
func referenceAccepted(x *event) {
	if x.req.verdict != accepted || len(aheadOf(x.talk).byName) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(aheadOf(x.talk).byName)) {
		if a := aheadOf(x.talk).byName[name]; a.cds != nil && a.from.verdict == accepted {
			x.cameAhead(name, a)
		}
	}
}

func (x *event) cameAhead(name string, a *ahead) {
	delete(aheadOf(x.talk).byName, name)
	x.prove(proof{
		severity: Warning, names: []string{name}, typ: a.sub.typ, seqs: []session.Seq{a.from.seq, a.cds.seq},
		message: fmt.Sprintf("%s %q referred to cluster %q %v before the cluster was sent",
			a.sub.typ, a.item.name, name, round(a.cds.at.Sub(a.from.at))),
	})
}

func clusterRemovedWhileReferenced(x *event) {
	if x.sub.typ != "CDS" || !x.talk.ads() || len(x.resp.removed) == 0 {
		return
	}
	gone := make(map[string]struct{}, len(x.resp.removed))
	for _, it := range x.resp.removed {
		gone[it.name] = struct{}{}
	}
	by := x.referred("CDS", gone)
	if len(by) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(by))
	first := by[names[0]]
	x.report(names, "%s removed, but %s %q still refers to %q", list(names), first.sub.typ, first.item.name, names[0])
}

// awaitEndpoints waits for what clusters have begun to wait for.
func awaitEndpoints(x *event) {
	if x.warm() {
		x.after(x.k.timers.DNE, warmingStarved)
	}
}

// warmingStarved reports the clusters that have waited from x on.
func warmingStarved(x *event) {
	t := x.talk
	eds := t.sub("EDS")
	if t.ended || eds == nil || eds.lost {
		return
	}
	var names []string
	for name, w := range warmingOf(t).byName {
		if w.asked && !w.told && w.from == x.seq() && eds.wants(name) {
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
	seqs := []session.Seq{w.cds.seq, w.from}
	if w.cds.seq == w.from {
		seqs = seqs[:1]
	}
	x.prove(proof{
		severity: Warning, names: names, typ: "EDS", seqs: seqs,
		message: fmt.Sprintf("no endpoints for %s within %v, and cluster %q of entry %d waits for them",
			list(names), round(x.k.timers.DNE), w.cluster, w.cds.seq),
	})
}

func dependentWarmingStarved(x *event) {
	s := x.sub
	if !x.talk.ads() || s.typ != "RDS" && s.typ != "SDS" && s.typ != "ECDS" {
		return
	}
	var names []string
	by := x.referred(s.typ, nameSet(x.wait.left))
	for _, name := range x.wait.left {
		if r, ok := by[name]; ok && r.ref.Source == decode.SourceADS && !r.ref.Default && !s.sentHere(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	r := by[names[0]]
	x.report(names, "%s %q waits for %s, asked for %v ago and never sent", r.sub.typ, r.item.name, list(names), round(x.k.timers.DNE))
}

func dependentRemovedInUse(x *event) {
	s, n := x.sub, x.resp
	if n.m.Kind != decode.DeltaResponse || len(n.removed) == 0 || s.full() {
		return
	}
	gone := make(map[string]struct{}, len(n.removed))
	for _, it := range n.removed {
		gone[it.name] = struct{}{}
	}
	by := x.referred(s.typ, gone)
	if len(by) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(by))
	first := by[names[0]]
	x.report(names, "%s removed, but %s %q still refers to it", list(names), first.sub.typ, first.item.name)
}

func edsForUnknownCluster(x *event) {
	t, s := x.talk, x.sub
	cds := t.sub("CDS")
	if s.typ != "EDS" || !t.ads() || cds == nil || cds.lost || cds.responses == 0 {
		return
	}
	var names []string
	for _, it := range x.resp.added {
		if !s.wantedLately(it.name, x.now, x.flight()) {
			names = append(names, it.name)
		}
	}
	if len(names) == 0 {
		return
	}
	known := x.referred("EDS", nameSet(names))
	names = without(names, func(n string) bool { _, ok := known[n]; return ok })
	if len(names) > 0 {
		x.report(names, "endpoints %s belong to no cluster that was sent, and were not asked for", list(names))
	}
}
