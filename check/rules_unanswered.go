package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// unansweredRules look at names that the server does not mention in time.
func unansweredRules() []*Rule {
	return []*Rule{
		{
			ID: "requested-resource-timeout", Title: "a requested resource did not come", Group: groupSubscriptions,
			Fault: ServerFault, Severity: Info, Confidence: Timed, Scope: "SotW",
			Spec:       "Knowing When a Requested Resource Does Not Exist; gRFC A57, A88",
			Means:      "The client asked for a name and nothing came for 15 seconds. In the state of the world silence is the only way to say that a resource does not exist, so this may be right. gRPC now treats it as missing and fails calls; Envoy goes on without it, or keeps waiting.",
			Causes:     "A wrong name in what refers to it; a resource that is gone; go-control-plane in ADS mode, which answers only once every name of its snapshot is asked for (envoy#9934); routes of listeners that Envoy is still draining (osm#3258).",
			Next:       "Ask the server what it has under this name for this node. If a delivered listener, route or cluster refers to it, the finding is a warning: then one of the two is wrong.",
			unanswered: requestedResourceTimeout,
		},
		{
			ID: "new-name-answered-without-it", Title: "a name was added and the server, which has it, did not send it", Group: groupSubscriptions,
			Fault: ServerFault, Severity: Warning, Confidence: Timed, Scope: "SotW",
			Spec:     "How the client specifies what resources to return",
			Means:    "The client added a name to its list. The server has sent this resource to another client within the last minute, so it exists, but not to this one. A server must send what is newly asked for even if nothing has changed.",
			Causes:   "A server that answers only when the version has changed (go-control-plane#463 and #583, solo-kit).",
			Next:     "Touching the resource, so that its version changes, gets it through. The cure is in the server: it has to compare the names with those of the last request too.",
			response: noteSent, unanswered: newNameAnsweredWithoutIt,
		},
		{
			ID: "resubscribe-not-resent", Title: "a name was asked for again and not sent again", Group: groupSubscriptions,
			Fault: ServerFault, Severity: Warning, Confidence: Timed, Scope: "SotW",
			Spec:       "How the client specifies what resources to return",
			Means:      "The client had this resource, gave it up, and asked for it again later. It may have forgotten it meanwhile, so the server has to send it again. It did not, and the client waits: a cluster added back stays without endpoints, and its requests get 503.",
			Causes:     "A server that remembers what it has sent and not what the client still wants (go-control-plane#431, #583).",
			Next:       "A change of the resource, or a reconnect of the client, gets it through. Then update the server.",
			unanswered: resubscribeNotResent,
		},
		{
			ID: "delta-subscribe-unanswered", Title: "a subscribed name was never mentioned", Group: groupSubscriptions,
			Fault: ServerFault, Severity: Warning, Confidence: Timed, Scope: "Delta",
			Spec:       "Incremental xDS, Knowing When a Requested Resource Does Not Exist",
			Means:      "The client subscribed to a name and the server has said nothing about it for 15 seconds: it neither sent it nor listed it in removed_resources. In delta a server has to say that a resource does not exist. The client waits for its timeout instead.",
			Causes:     "go-control-plane (go-control-plane#565) and Consul never say it. Otherwise a wrong name, or a server that lost the request.",
			Next:       "Check that the name exists on the server for this node. If it does not, the silence costs the client its initial_fetch_timeout, not more.",
			unanswered: deltaSubscribeUnanswered,
		},
		{
			ID: "delta-resubscribe-not-resent", Title: "a name was subscribed to again and not sent again", Group: groupSubscriptions,
			Fault: ServerFault, Severity: Warning, Confidence: Timed, Scope: "Delta",
			Spec:       "Subscribing to Resources",
			Means:      "The client subscribed to a resource that it had been sent before. It does so when it has dropped its copy, and the server must send it again even if it has not changed. It did not.",
			Causes:     "A server that skips names whose version it believes the client to have; go-control-plane does.",
			Next:       "A change of the resource, or a reconnect, gets it through. Then update the server.",
			unanswered: deltaResubscribeNotResent,
		},
		{
			ID: "delta-wildcard-unsubscribe-unanswered", Title: "giving up a name under a wildcard got no answer", Group: groupSubscriptions,
			Fault: ServerFault, Severity: Warning, Confidence: Timed, Scope: "Delta",
			Spec:    "Unsubscribing from Resources",
			Means:   "The client has a wildcard and gave up a name that it had asked for besides. Whether the resource still belongs to the wildcard only the server knows: it must send it again or remove it. It did neither, and the client does not know whether to keep it.",
			Causes:  "A server that treats each unsubscribe as needing no answer, which is right only without a wildcard.",
			Next:    "Nothing breaks at once: the client keeps a resource that may be stale. Update the server.",
			request: noteReleased, response: noteMentioned,
		},
	}
}

// noteSent keeps the time of responses, for the rule that asks when a resource
// was sent on another stream.
func noteSent(x *event) {
	if x.sub.Named() {
		x.k.hints.tick(x.k.Stamp, x.now, x.k.timers.Retro+x.k.timers.DNE+time.Second)
	}
}

// A server that answers nobody must not make each name a search through all
// streams.
const (
	maxElsewhere = 64   // streams that are looked at
	maxNewNames  = 1024 // names of one request that are looked for
)

// elsewhere are the states of the type on other streams of the client's group
// on which the server has sent something since.
func (x *event) elsewhere(since time.Time) (out []*engine.Subscription) {
	t := x.stream
	if t.Node == nil {
		return nil
	}
	for _, key := range x.k.Peers.Order {
		if key.Server != t.Server || key.Cluster != t.Node.Cluster {
			continue
		}
		of := x.k.Peers.ByKey[key]
		for _, list := range [][]*engine.Stream{of.Live, of.Ended} {
			for _, o := range list {
				s := o.Subs[x.sub.Key]
				if o == t || s == nil || s.Newest() == nil || s.Newest().At.Before(since) {
					continue
				}
				if out = append(out, s); len(out) == maxElsewhere {
					return out
				}
			}
		}
	}
	return out
}

// newHere are names that the server had to send although nothing has changed,
// and has: it sent them on another stream since shortly before they were asked
// for here.
func (x *event) newHere(names []string) map[string]struct{} {
	w := x.wait
	if !x.sub.Named() || w.again || w.firstOfType && w.from.Message.Version != "" || w.from.Message.Kind != decode.SotwRequest {
		return nil
	}
	since := w.from.At.Add(-x.k.timers.Retro)
	var out map[string]struct{}
	others := x.elsewhere(since)
	for _, n := range names[:min(len(names), maxNewNames)] {
		if slices.ContainsFunc(others, func(s *engine.Subscription) bool {
			it := s.Have.Get(n)
			return it != nil && it.Content != nil && !x.k.hints.sent(it.Stamp).Before(since)
		}) {
			if out == nil {
				out = make(map[string]struct{})
			}
			out[n] = struct{}{}
		}
	}
	return out
}

func newNameAnsweredWithoutIt(x *event) {
	found := x.newHere(x.wait.left)
	names := slices.DeleteFunc(slices.Clone(x.wait.left), func(n string) bool {
		_, ok := found[n]
		return !ok || x.has(n)
	})
	if len(names) > 0 {
		x.proveOnce(Warning, names, func(names []string) string {
			return fmt.Sprintf("%s not sent within %v, although another client of the group got it", list(names), round(x.k.timers.DNE))
		})
	}
}

// has says whether the client has a resource that it asks for, because a
// wildcard has brought it.
func (x *event) has(name string) bool { return x.sub.Have.Get(name) != nil }

func requestedResourceTimeout(x *event) {
	s, w := x.sub, x.wait
	if w.from.Message.Kind != decode.SotwRequest || w.again {
		return
	}
	left := slices.DeleteFunc(slices.Clone(w.left), x.has)
	if len(left) == 0 {
		return
	}
	by, elsewhere := x.referred(s.Type, nameSet(left)), x.newHere(left)
	var plain, pressing []string
	for _, n := range left {
		r, referred := by[n]
		_, known := elsewhere[n] // new-name-answered-without-it says more
		if (referred || x.stream.GRPCClient()) && !(referred && x.warms(r)) && !known && !x.stream.Method.V2 {
			pressing = append(pressing, n)
		} else {
			plain = append(plain, n)
		}
	}
	if len(plain) > 0 {
		x.proveOnce(Info, plain, func(names []string) string {
			return fmt.Sprintf("%s asked for and not sent within %v", list(names), round(x.k.timers.DNE))
		})
	}
	if len(pressing) > 0 {
		x.proveOnce(Warning, pressing, func(names []string) string {
			if r, ok := by[names[0]]; ok {
				return fmt.Sprintf("%s asked for and not sent within %v, and %s %q refers to it", list(names), round(x.k.timers.DNE), r.Sub.Type, clip(r.Item.Name))
			}
			return fmt.Sprintf("%s asked for and not sent within %v, so gRPC takes it for missing", list(names), round(x.k.timers.DNE))
		})
	}
}

// warms says whether a rule of warming speaks of a name that r refers to.
func (x *event) warms(r engine.Referrer) bool {
	if !x.stream.ADS() || r.Ref.Source != inspect.SourceADS || r.Ref.Default {
		return false
	}
	switch x.sub.Type {
	case "RDS", "SDS", "ECDS":
		return true
	case "EDS":
		return !x.stream.GRPCClient()
	}
	return false
}

func resubscribeNotResent(x *event) {
	s, w := x.sub, x.wait
	if w.from.Message.Kind != decode.SotwRequest || !w.again {
		return
	}
	names := slices.DeleteFunc(slices.Clone(w.left), func(n string) bool {
		gone, ok := s.Dropped[n] // shortly before: the server may not have seen the gap
		return ok && w.from.At.Sub(gone.At) <= x.flight() || x.has(n)
	})
	if len(names) > 0 {
		x.proveOnce(Warning, names, func(names []string) string {
			return fmt.Sprintf("%s given up, asked for again, and not sent again within %v", list(names), round(x.k.timers.DNE))
		})
	}
}

func deltaSubscribeUnanswered(x *event) {
	w := x.wait
	if w.from.Message.Kind != decode.DeltaRequest || w.stale || w.again {
		return
	}
	names := slices.DeleteFunc(slices.Clone(w.left), x.sub.MayBeGone)
	if len(names) > 0 {
		x.proveOnce(x.relaxed(Warning), names, func(names []string) string {
			return fmt.Sprintf("%s subscribed to, and neither sent nor said to be missing within %v", list(names), round(x.k.timers.DNE))
		})
	}
}

func deltaResubscribeNotResent(x *event) {
	w := x.wait
	if w.from.Message.Kind != decode.DeltaRequest || w.stale || !w.again || w.firstOfType {
		return
	}
	x.proveOnce(Warning, w.left, func(names []string) string {
		return fmt.Sprintf("%s subscribed to once more, and not sent again within %v", list(names), round(x.k.timers.DNE))
	})
}

// noteReleased begins to wait for an answer about names that were given up
// under a wildcard.
func noteReleased(x *event) {
	s, r, w := x.sub, x.req, wishesOf(x.sub)
	if r.Message.Kind != decode.DeltaRequest || s.Exempt() {
		return
	}
	for _, n := range r.Added {
		delete(w.released, n)
	}
	if len(r.Removed) == 0 || s.Wild == engine.NotWild || s.Accepted == nil && !s.Seeded {
		return
	}
	waits := false
	for _, n := range r.Removed {
		if s.Have.Get(n) == nil || s.Names.Has(n) || len(w.released) >= maxWished {
			continue
		}
		if w.released == nil {
			w.released = make(map[string]*engine.Request)
		}
		w.released[n], waits = r, true
	}
	if waits {
		x.after(x.k.timers.DNE, releasedUnanswered)
	}
}

// noteMentioned ends the waiting for names that a response is about.
func noteMentioned(x *event) {
	s, w := x.sub, wishesOf(x.sub)
	if len(w.released) == 0 {
		return
	}
	for n := range w.released {
		if it := s.Have.Get(n); it == nil || it.Stamp == x.k.Stamp {
			delete(w.released, n)
		}
	}
	for i := range x.resp.Message.ResourceErrors {
		delete(w.released, decode.NormalName(x.resp.Message.ResourceErrors[i].Name))
	}
}

func releasedUnanswered(x *event) {
	s, w := x.sub, wishesOf(x.sub)
	var names []string
	for n, from := range w.released {
		if from == x.req {
			names = append(names, n)
		}
	}
	for _, n := range names {
		delete(w.released, n)
	}
	if len(names) == 0 || x.stream.Ended || s.Lost || s.Wild == engine.NotWild {
		return
	}
	slices.Sort(names)
	x.proveOnce(x.relaxed(Warning), names, func(names []string) string {
		return fmt.Sprintf("%s unsubscribed from beside a wildcard, and neither sent nor removed within %v", list(names), round(x.k.timers.DNE))
	})
}
