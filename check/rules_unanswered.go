package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// noteSent keeps the time of responses, for the rule that asks when a resource
// was sent on another stream.
func noteSent(x *event) {
	if x.sub.Named() {
		x.k.hints.clock.Note(x.k.Stamp, x.now, x.k.timers.Retro+x.k.timers.DNE+time.Second)
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
			return it != nil && it.Content != nil && !x.k.hints.clock.At(it.Stamp).Before(since)
		}) {
			put(&out, n, struct{}{})
		}
	}
	return out
}

func newNameAnsweredWithoutIt(x *event) {
	found := x.newHere(x.wait.left)
	names := without(x.wait.left, func(n string) bool {
		_, ok := found[n]
		return !ok || x.has(n)
	})
	if len(names) > 0 {
		x.proveOnce(Warning, names, func(names []string) string {
			return fmt.Sprintf("%s not sent within %v, although another client of the group got it", words.List(names), words.Round(x.k.timers.DNE))
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
	left := without(w.left, x.has)
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
			return fmt.Sprintf("%s asked for and not sent within %v", words.List(names), words.Round(x.k.timers.DNE))
		})
	}
	if len(pressing) > 0 {
		x.proveOnce(Warning, pressing, func(names []string) string {
			if r, ok := by[names[0]]; ok {
				return fmt.Sprintf("%s asked for and not sent within %v, and %s %q refers to it", words.List(names), words.Round(x.k.timers.DNE), r.Sub.Type, words.Clip(r.Item.Name))
			}
			return fmt.Sprintf("%s asked for and not sent within %v, so gRPC takes it for missing", words.List(names), words.Round(x.k.timers.DNE))
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
	names := without(w.left, func(n string) bool {
		gone, ok := s.Dropped[n] // shortly before: the server may not have seen the gap
		return ok && w.from.At.Sub(gone.At) <= x.flight() || x.has(n)
	})
	if len(names) > 0 {
		x.proveOnce(Warning, names, func(names []string) string {
			return fmt.Sprintf("%s given up, asked for again, and not sent again within %v", words.List(names), words.Round(x.k.timers.DNE))
		})
	}
}

func deltaSubscribeUnanswered(x *event) {
	w := x.wait
	if w.from.Message.Kind != decode.DeltaRequest || w.stale || w.again {
		return
	}
	names := without(w.left, x.sub.MayBeGone)
	if len(names) > 0 {
		x.proveOnce(x.relaxed(Warning), names, func(names []string) string {
			return fmt.Sprintf("%s subscribed to, and neither sent nor said to be missing within %v", words.List(names), words.Round(x.k.timers.DNE))
		})
	}
}

func deltaResubscribeNotResent(x *event) {
	w := x.wait
	if w.from.Message.Kind != decode.DeltaRequest || w.stale || !w.again || w.firstOfType {
		return
	}
	x.proveOnce(Warning, w.left, func(names []string) string {
		return fmt.Sprintf("%s subscribed to once more, and not sent again within %v", words.List(names), words.Round(x.k.timers.DNE))
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
		put(&w.released, n, r)
		waits = true
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
		return fmt.Sprintf("%s unsubscribed from beside a wildcard, and neither sent nor removed within %v", words.List(names), words.Round(x.k.timers.DNE))
	})
}
