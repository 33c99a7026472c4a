package check

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// wait is names that a request asked for. Until it is over left has all of
// them, and waits those that no response has mentioned; then left
// has these.
type wait struct {
	from *engine.Request
	left []string
	// What of the names could be told when they were asked for.
	stale       bool // with the nonce of an older response
	again       bool // they had been delivered and were given up, or are asked for once more
	firstOfType bool // in the first request of the type on the stream
}

// waits are the names of a type that no response has mentioned since they were
// asked for.
type waits struct{ byName map[string]*wait }

// late are names that only requests without the newest nonce asked for; true if
// by then it could have been known.
type late struct{ names map[string]bool }

// await starts to wait for the names that a request asks for.
func (x *event) await() {
	s, r := x.sub, x.req
	w, given := waitsOf(s), r.Given
	for _, n := range r.Removed {
		delete(w.byName, n)
	}
	if s.Exempt() || r.Before.Lost || s.Lost || !x.stream.Discovery() {
		return
	}
	delta := r.Message.Kind == decode.DeltaRequest
	if !delta && !r.Fresh {
		l := lateOf(s)
		longAgo := r.Before.Newest != nil && x.now.Sub(r.Before.Newest.At) > x.flight()
		for _, n := range r.Added { // the server may pass over it
			if len(l.names) < engine.MaxDropped {
				put(&l.names, n, longAgo)
			}
		}
		return
	}
	if l := lateOf(s); !delta && len(l.names) > 0 {
		given = given[:len(given):len(given)]
		for n := range l.names {
			if s.Names.Has(n) {
				given = append(given, n)
			}
		}
		slices.Sort(given)
		l.names = nil
	}
	if len(given) == 0 {
		return
	}
	fresh := &wait{from: r, stale: delta && r.Stale, firstOfType: r.Ordinal == 0}
	again := &wait{from: r, stale: delta && r.Stale, again: true, firstOfType: r.Ordinal == 0}
	for _, n := range given {
		was, given := s.Dropped[n]
		switch {
		case engine.IsGlob(n): // it may stand for nothing
		case !s.Names.Has(n): // given up in the same request
		case delta && r.Ordinal == 0 && (s.Initial[n] != "" || s.OtherNames() && len(s.Initial) > 0),
			// it may be an alias of what the client says that it has
			!delta && r.Ordinal == 0 && s.Have.Get(n) != nil, w.byName[n] != nil:
		case given && was.Delivered, delta && s.Have.Get(n) != nil && r.Ordinal > 0:
			again.left = append(again.left, n)
		default:
			fresh.left = append(fresh.left, n)
		}
	}
	for _, of := range []*wait{fresh, again} {
		if len(of.left) == 0 {
			continue
		}
		for _, n := range of.left {
			put(&w.byName, n, of)
		}
		next := *x
		next.wait = of
		next.after(x.k.timers.DNE, overdue)
	}
}

// overdue lets the rules look at names that were not mentioned in time.
func overdue(x *event) {
	s, w := x.sub, x.wait
	waits := waitsOf(s).byName
	w.left = without(w.left, func(n string) bool {
		if waits[n] != w {
			return true
		}
		delete(waits, n)
		return !s.Names.Has(n)
	})
	if len(w.left) > 0 && x.stream.Alive() && !s.Lost {
		x.each(onUnanswered)
	}
}

// answer ends the waiting for what a response mentions. It goes over the
// response or over what is waited for, whichever is less.
func answer(s *engine.Subscription, k *Checker, m *decode.Message) {
	waits := waitsOf(s).byName
	if len(waits) == 0 {
		return
	}
	mentioned := func(name string) { delete(waits, decode.NormalName(name)) }
	if few := len(waits) < len(m.Resources); few {
		for n := range waits {
			if it := s.Have.Get(n); it != nil && it.Stamp == k.Stamp {
				delete(waits, n)
			}
		}
		for i := range m.Resources {
			if r := &m.Resources[i]; r.Empty {
				mentioned(r.Name)
			}
		}
	} else {
		for i := range m.Resources {
			mentioned(m.Resources[i].Name)
		}
	}
	for i := range m.Resources {
		for _, a := range m.Resources[i].Aliases {
			mentioned(a)
		}
	}
	for _, n := range m.Removed {
		mentioned(n)
	}
	for i := range m.ResourceErrors {
		mentioned(m.ResourceErrors[i].Name)
	}
}
