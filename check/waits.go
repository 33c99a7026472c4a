package check

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
)

// wait is names that a request asked for. Until it is over left has all of
// them, and waits those that no response has mentioned; then left
// has these.
type wait struct {
	from *request
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
	w, given := waitsOf(s), r.given
	for _, n := range r.removed {
		delete(w.byName, n)
	}
	if s.exempt() || r.before.lost || s.lost || !x.talk.discovery() {
		return
	}
	delta := r.m.Kind == decode.DeltaRequest
	if !delta && !r.fresh {
		l := lateOf(s)
		if l.names == nil {
			l.names = make(map[string]bool)
		}
		longAgo := r.before.newest != nil && x.now.Sub(r.before.newest.at) > x.flight()
		for _, n := range r.added { // the server may pass over it
			if len(l.names) < maxDropped {
				l.names[n] = longAgo
			}
		}
		return
	}
	if l := lateOf(s); !delta && len(l.names) > 0 {
		given = given[:len(given):len(given)]
		for n := range l.names {
			if s.names.has(n) {
				given = append(given, n)
			}
		}
		slices.Sort(given)
		l.names = nil
	}
	fresh := &wait{from: r, stale: delta && r.stale, firstOfType: r.ordinal == 0}
	again := &wait{from: r, stale: delta && r.stale, again: true, firstOfType: r.ordinal == 0}
	for _, n := range given {
		was, given := s.dropped[n]
		switch {
		case isGlob(n): // it may stand for nothing
		case !s.names.has(n): // given up in the same request
		case delta && r.ordinal == 0 && s.initial[n] != "",
			!delta && r.ordinal == 0 && s.have.get(n) != nil, w.byName[n] != nil:
		case given && was.delivered, delta && s.have.get(n) != nil && r.ordinal > 0:
			again.left = append(again.left, n)
		default:
			fresh.left = append(fresh.left, n)
		}
	}
	for _, of := range []*wait{fresh, again} {
		if len(of.left) == 0 {
			continue
		}
		if w.byName == nil {
			w.byName = make(map[string]*wait)
		}
		for _, n := range of.left {
			w.byName[n] = of
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
		return !s.names.has(n)
	})
	if len(w.left) > 0 && x.talk.alive() && !s.lost {
		x.each(onUnanswered)
	}
}

// without returns the elements that gone does not name; it may write to list.
func without(list []string, gone func(string) bool) []string {
	kept := list[:0:0]
	for _, n := range list {
		if !gone(n) {
			kept = append(kept, n)
		}
	}
	return kept
}

// answer ends the waiting for what a response mentions. It goes over the
// response or over what is waited for, whichever is less.
func answer(s *subscription, k *Checker, m *decode.Message) {
	waits := waitsOf(s).byName
	if len(waits) == 0 {
		return
	}
	said := func(name string) { delete(waits, decode.NormalName(name)) }
	if few := len(waits) < len(m.Resources); few {
		for n := range waits {
			if it := s.have.get(n); it != nil && it.stamp == k.stamp {
				delete(waits, n)
			}
		}
		for i := range m.Resources {
			if r := &m.Resources[i]; r.Empty {
				said(r.Name)
			}
		}
	} else {
		for i := range m.Resources {
			said(m.Resources[i].Name)
		}
	}
	for i := range m.Resources {
		for _, a := range m.Resources[i].Aliases {
			said(a)
		}
	}
	for _, n := range m.Removed {
		said(n)
	}
	for i := range m.ResourceErrors {
		said(m.ResourceErrors[i].Name)
	}
}
