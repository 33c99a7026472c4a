package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
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
			Means:      "A delivered resource refers to this one, the client has asked for it, and it was not sent. The client holds back what refers to it: a listener without its routes or certificate does not serve.",
			Causes:     "A secret or route that does not exist under that name, a control plane that answers SDS from elsewhere, or one that waits until all names of its snapshot are asked for.",
			Next:       "Compare the name in the reference with what the server has. While a name is wrong, an answer that says so (removed_resources, or resource_errors) lets the client go on.",
			unanswered: dependentWarmingStarved,
		},
		{
			ID: "dependent-removed-in-use", Title: "a resource was removed that others still refer to", Group: groupOrder,
			Fault: ServerFault, Severity: Warning, Confidence: Guessed, Scope: "Delta",
			Spec:     "Deleting Resources; Eventual consistency considerations",
			Means:    "The server removed a resource to which one that the client has still refers. What happens depends on the type: Envoy drops a filter configuration at once and answers with errors (envoy#32823). It ignores the removal of endpoints, routes and secrets and keeps what it has, so that the fault shows only when it restarts.",
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
	switch s.Type {
	case "CDS":
		for _, it := range n.Added {
			a := aheadOf(t).byName[it.Name]
			if a == nil {
				continue
			}
			if x.now.Sub(a.from.At) > x.k.timers.Retro || a.from.Verdict == engine.NACKed {
				delete(aheadOf(t).byName, it.Name)
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
		for _, list := range [][]*engine.Resource{n.Added, n.Changed} {
			for _, it := range list {
				for _, ref := range it.Refs() {
					if ref.Type != "CDS" || ref.Use != inspect.UseTraffic || cds.Have.Get(ref.Name) != nil || aheadOf(t).byName[ref.Name] != nil || len(aheadOf(t).byName) >= maxAhead {
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
	x.prove(proof{
		severity: Warning, names: []string{name}, typ: a.sub.Type, seqs: []session.Seq{a.from.Seq, a.cds.Seq},
		message: fmt.Sprintf("%s %q referred to cluster %q %v before the cluster was sent",
			a.sub.Type, a.item.Name, name, round(a.cds.At.Sub(a.from.At))),
	})
}

func clusterRemovedWhileReferenced(x *event) {
	if x.sub.Type != "CDS" || !x.stream.ADS() || len(x.resp.Removed) == 0 {
		return
	}
	gone := make(map[string]struct{}, len(x.resp.Removed))
	for _, it := range x.resp.Removed {
		gone[it.Name] = struct{}{}
	}
	by := x.referred("CDS", gone)
	if len(by) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(by))
	first := by[names[0]]
	x.report(names, "%s removed, but %s %q still refers to %q", list(names), first.Sub.Type, first.Item.Name, names[0])
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
	x.prove(proof{
		severity: Warning, names: names, typ: "EDS", seqs: seqs,
		message: fmt.Sprintf("no endpoints for %s within %v: %s", list(names), round(x.k.timers.DNE), waiting(t, names)),
	})
}

// waiting says which clusters wait for endpoints of these names.
func waiting(t *engine.Stream, names []string) string {
	const most = 3
	var who []string
	for _, name := range names[:min(len(names), most)] {
		w := warmingOf(t).byName[name]
		who = append(who, fmt.Sprintf("%q of entry %d", clip(w.cluster), w.cds.Seq))
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
	x.report(names, "%s %q waits for %s, asked for %v ago and not sent since", r.Sub.Type, r.Item.Name, list(names), round(x.k.timers.DNE))
}

func dependentRemovedInUse(x *event) {
	s, n := x.sub, x.resp
	if n.Message.Kind != decode.DeltaResponse || len(n.Removed) == 0 || s.Full() {
		return
	}
	gone := make(map[string]struct{}, len(n.Removed))
	for _, it := range n.Removed {
		gone[it.Name] = struct{}{}
	}
	by := x.referred(s.Type, gone)
	if len(by) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(by))
	first := by[names[0]]
	x.report(names, "%s removed, but %s %q still refers to it", list(names), first.Sub.Type, first.Item.Name)
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
		x.report(names, "endpoints %s belong to no cluster that was sent, and were not asked for", list(names))
	}
}
