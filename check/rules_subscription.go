package check

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// wishes is what the rules of subscriptions remember of one type on one
// stream.
type wishes struct {
	// widened is a delta request that added names to a nameless subscription,
	// until the server has answered it; watched says that its updates are
	// compared with those of other clients.
	widened *engine.Request
	watched bool

	flaps   map[string][]time.Time // when names that came back had gone
	swept   time.Time              // when flaps was rid of old ones
	shorter *engine.Request        // the last one that gave up names

	// released are names given up under a wildcard that no response has
	// mentioned since.
	released map[string]*engine.Request

	extras bool // a resource was sent that was not among the names asked for
	streak int  // responses in a row that consist mostly of such

	resumed *resumed
}

// maxWished bounds each list of names above.
const maxWished = 1 << 12

// badName is what is wrong with a list of names.
type badName struct {
	kind string
	name string
}

const (
	nameEmpty = "an empty name"
	nameTwice = "listed twice"
	nameBoth  = "subscribed to and unsubscribed from in one request"
)

// badNames finds what is wrong with names: the first of each kind.
func badNames(list []string) (out []badName) {
	if len(list) == 1 && list[0] != "" {
		return nil
	}
	seen := make(map[string]struct{}, len(list))
	empty, twice := false, false
	for _, n := range list {
		if n == "" {
			if !empty {
				out = append(out, badName{kind: nameEmpty})
			}
			empty = true
			continue
		}
		n = decode.NormalName(n)
		if _, again := seen[n]; again && !twice {
			twice = true
			out = append(out, badName{nameTwice, n})
		}
		seen[n] = struct{}{}
	}
	return out
}

// badNamesOf finds them once for each list that clients send.
func badNamesOf(n *engine.NameList) []badName {
	known := engine.Slot[struct {
		judged bool
		bad    []badName
	}](&n.Memory)
	if !known.judged {
		known.judged, known.bad = true, badNames(n.Names)
	}
	return known.bad
}

// requestBadNames leaves out names from locators, which differ by their
// parameters too.
func requestBadNames(x *event) {
	m := x.req.Message
	if x.sub.Exempt() {
		return
	}
	var found []badName
	switch {
	case m.Kind == decode.DeltaRequest:
		subscribe := m.Subscribe[:max(0, len(m.Subscribe)-m.Locators.Subscribe)]
		unsubscribe := m.Unsubscribe[:max(0, len(m.Unsubscribe)-m.Locators.Unsubscribe)]
		found = append(badNames(subscribe), badNames(unsubscribe)...)
		if len(subscribe) > 0 && len(unsubscribe) > 0 {
			subscribed := nameSet(subscribe)
			for _, n := range unsubscribe {
				if _, both := subscribed[n]; both && n != "*" && n != "" {
					found = append(found, badName{nameBoth, n})
					break
				}
			}
		}
	case x.req.List != nil && m.Locators.Names == 0:
		found = badNamesOf(x.req.List)
	default:
		found = badNames(m.Names[:max(0, len(m.Names)-m.Locators.Names)])
	}
	for _, f := range found {
		if f.kind == nameEmpty {
			x.provef(proof{severity: Warning, cause: f.kind}, "%s in the list", f.kind)
		} else {
			x.provef(proof{severity: Warning, cause: f.kind, names: []string{f.name}}, "%q is %s", words.Clip(f.name), f.kind)
		}
	}
}

func subscriptionFlap(x *event) {
	s, r := x.sub, x.req
	w := wishesOf(s)
	if r.Message.Kind != decode.SotwRequest || s.Exempt() || s.Type == "NDS" || s.Type == "PCDS" ||
		s.Type == "ECDS" && x.stream.Node != nil && istioNode(x.stream.Node) {
		return // their ACKs and NACKs have no names
	}
	if x.stream.Node == nil && x.stream.Lost {
		return // it may be a client of which this is known
	}
	shorter := w.shorter
	if len(r.Removed) > 0 {
		w.shorter = r
	}
	if len(r.Added) == 0 || len(s.Dropped) == 0 {
		return
	}
	if x.stream.EnvoyClient() && shorter != nil && r.Ordinal == shorter.Ordinal+1 &&
		shorter.Verdict == engine.Unjudged && r.Verdict == engine.Unjudged {
		return // Envoy replaces a watch by a shorter list and then the new one
	}
	var back []string
	first, since := x.now, x.now.Add(-x.k.timers.Loop)
	for _, n := range r.Added {
		gone, ok := s.Dropped[n]
		if !ok || gone.At.Before(since) {
			continue
		}
		times := append(w.flaps[n], gone.At)
		if over := len(times) - x.k.timers.LoopCount; over > 0 {
			times = slices.Delete(times, 0, over)
		}
		if len(times) == x.k.timers.LoopCount && !times[0].Before(since) {
			back = append(back, n)
			if times[0].Before(first) {
				first = times[0]
			}
			delete(w.flaps, n)
			continue
		}
		w.flap(n, times, since)
	}
	if len(back) == 0 {
		return
	}
	seqs := []session.Seq{r.Seq}
	if shorter != nil {
		seqs = []session.Seq{shorter.Seq, r.Seq}
	}
	x.provef(proof{severity: Warning, names: back, cause: "-", seqs: seqs},
		"%s went and came back %d times within %v", words.List(back), x.k.timers.LoopCount, words.Round(x.now.Sub(first)))
}

// flap remembers when a name had gone that is back, if there is room.
func (w *wishes) flap(name string, times []time.Time, since time.Time) {
	if _, known := w.flaps[name]; !known && len(w.flaps) >= maxWished {
		if w.swept.Before(since) {
			w.swept = times[len(times)-1]
			maps.DeleteFunc(w.flaps, func(_ string, t []time.Time) bool { return t[len(t)-1].Before(since) })
		}
		if len(w.flaps) >= maxWished {
			return
		}
	}
	put(&w.flaps, name, times)
}

func deltaPhantomUnsubscribe(x *event) {
	s, r := x.sub, x.req
	if r.Message.Kind != decode.DeltaRequest || len(r.Message.Unsubscribe) == 0 || s.Exempt() {
		return
	}
	had := nameSet(r.Removed)
	var phantoms []string
	for _, n := range r.Message.Unsubscribe {
		if n = decode.NormalName(n); n == "*" || n == "" || s.Have.Get(n) != nil {
			continue
		}
		if _, ok := had[n]; !ok {
			phantoms = append(phantoms, n)
		}
	}
	if len(phantoms) > 0 {
		x.report(phantoms, "unsubscribed from %s, neither asked for nor known", words.List(phantoms))
	}
}

// mostlyExtras is after how many responses in a row of which most was not
// asked for it is a warning.
const mostlyExtras = 3

func unrequestedResource(x *event) {
	s, n := x.sub, x.resp
	w := wishesOf(s)
	if s.First == nil || !x.byName() || s.Exempt() || s.OtherNames() || x.clearedBefore() {
		return
	}
	w.extras = w.extras || !s.WildEnded.IsZero() ||
		slices.ContainsFunc(n.Added, func(it *engine.Resource) bool { return !s.Names.Has(it.Name) && !s.Names.Covers(it.Name) })
	if !w.extras {
		if n.Count > 0 {
			w.streak = 0
		}
		return
	}
	var extra []string
	var bytes, all int
	for i := range n.Message.Resources {
		r := &n.Message.Resources[i]
		all += len(r.Body)
		if r.Empty || x.asked(decode.NormalName(r.Name)) || slices.ContainsFunc(r.Aliases, func(a string) bool { return x.asked(decode.NormalName(a)) }) {
			continue
		}
		bytes += len(r.Body)
		extra = append(extra, decode.NormalName(r.Name))
	}
	switch {
	case 2*bytes > all:
		w.streak++
	case n.Count > 0:
		w.streak = 0
	}
	if len(extra) == 0 {
		return
	}
	p := proof{
		severity: Info, names: extra, cause: "-",
		message: fmt.Sprintf("%s not asked for: %d of %d resources, %d of %d bytes", words.List(extra), len(extra), n.Count, bytes, all),
	}
	if w.streak >= mostlyExtras {
		p.severity = Warning
		p.message = fmt.Sprintf("%s not asked for, and the %d responses up to this one were mostly such", words.List(extra), w.streak)
	}
	x.prove(p)
}

// byName says whether the client asked for certain names only when the server
// last heard of it. By older texts a wildcard of the state of the world lasts for
// ever if it began without names.
func (x *event) byName() bool {
	s := x.sub
	return s.Wild == engine.NotWild &&
		(s.WildEnded.IsZero() || x.now.Sub(s.WildEnded) > x.flight() && (x.stream.Delta() || !s.BeganNameless()))
}

// asked says whether the client wanted a name when the server last heard of
// it.
func (x *event) asked(name string) bool {
	return x.sub.WantedLately(name, x.now, x.flight()) || x.sub.Names.Covers(name)
}
