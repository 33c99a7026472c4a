package agree

import (
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
)

// The words for where a client stands with a type.
const (
	synced  = "SYNCED"
	pending = "PENDING"
	unknown = "UNKNOWN"
	notSent = "NOTSENT"
	stale   = "STALE"
	nacked  = "NACKED"
)

// words are those that are right. There are several where the table leaves it
// open.
type words []string

func (w words) has(word string) bool { return slices.Contains(w, word) }
func (w words) String() string       { return strings.Join(w, " or ") }

// outlasts says whether what was rejected last is still what was sent last after
// a response, which has nothing but heartbeats.
func (l *lane) outlasts(n *reply) bool {
	return l.bad != nil && !l.bad.pulse && n.pulse && l.bad.run == n.run
}

// standing is the response that says where the client stands: the last one, but
// for heartbeats that were not rejected.
func (l *lane) standing() *reply {
	n := l.last
	switch {
	case n == nil || !n.pulse || n.mark == rejected:
	case l.told != nil && (l.told.mark != open || !l.told.passed):
		return l.told
	case n.mark == open && l.good != nil:
		return l.good
	}
	return n
}

// repeats says whether a reply is what was accepted just before it, in answer to a
// poll that says so.
func (l *lane) repeats(n *reply) bool {
	was := l.good
	return was != nil && was.mark == accepted && was.ordinal == n.ordinal-1 && n.version != "" && n.version == l.announced &&
		n.version == was.version && n.sum == was.sum
}

// states is the table of states: where a client stands on one stream.
func (l *lane) states(now time.Time, timers *check.Timers) words {
	n := l.standing()
	switch {
	case n == nil && l.heir:
		return words{nacked}
	case n == nil && l.follows: // it may reconnect another stream, or none
		return words{nacked, synced, notSent, unknown}
	case n == nil && l.stated:
		return words{synced}
	case n == nil && l.rest:
		// Who announces a version was sent something that was not seen.
		return words{notSent, unknown}
	case n == nil && len(l.unseen) > 0:
		return words{notSent, unknown, nacked}
	case n == nil:
		return words{notSent}
	case n.mark == rejected:
		return words{nacked}
	case n.mark == accepted, l.rest && n.mark == open && l.repeats(n):
		return words{synced}
	case n.mark == unclear:
		return words{unknown}
	}
	repeats := l.bad != nil && l.bad.run == n.run
	beats := l.bad != nil && len(l.bad.heartbeats)+len(n.heartbeats) > 0
	if repeats && !n.run.blurred && !beats {
		return words{nacked}
	}
	out := words{pending}
	first, last := timers.ACK, 2*timers.ACK // who is silent has longer
	if l.typ == "CDS" {
		first, last = timers.Warm, timers.Warm
	}
	switch {
	case l.rest:
	case n.nonce == "":
		out = words{unknown}
	case now.Sub(n.at) > last:
		out = words{stale}
	case now.Sub(n.at) > first:
		out = words{pending, stale}
	}
	// Whether a heartbeat is something else, and whether what was rejected on
	// the stream before still is, the table leaves open.
	if repeats || beats || n.run.first && l.inherits != nil && l.inherits.sum == n.run.sum {
		out = append(out, nacked)
	}
	return out
}

// stands says whether a resource may be rejected as it was sent last, though other
// responses came since: those that need not have everything say nothing of it.
func (w *world) stands(key laneKey, l *lane) bool {
	if wholeState(l.typ) && !l.delta {
		return false
	}
	for _, v := range w.versions[key] {
		if v.refused || v.state == isRejected || v.unsure {
			return true
		}
	}
	return false
}

// standings are those of a lane. Whether a rejection stands is for the resources to
// say that its reason names, and that the client wants: the table leaves that open.
func (w *world) standings(key laneKey, l *lane, timers *check.Timers) words {
	out := l.states(w.now, timers)
	if l.nackSeq != 0 && !out.has(nacked) && w.stands(key, l) {
		out = append(out, nacked)
	}
	return out
}

// state is where a client stands with a type: on its live streams with the worst
// of them, or where the stream left it that ended last. It is nil where the client
// has not asked, or where the table does not say.
func (w *world) state(key laneKey, timers *check.Timers) words {
	if w.murky[key.client] {
		return nil
	}
	var live, ended []*lane
	for _, l := range w.lanes[key] {
		if !l.sure || l.exempt {
			return nil
		}
		switch {
		case !l.asked:
		case !l.ended, l.rest: // a poll may open a connection of its own, and close it
			live = append(live, l)
		case len(ended) > 0 && ended[0].endedAt == l.endedAt: // on one connection
			ended = append(ended, l)
		case len(ended) == 0 || ended[0].endedAt < l.endedAt:
			ended = []*lane{l}
		}
	}
	var out words
	if len(live) > 0 {
		for i, l := range live {
			if l.idle() {
				return nil
			}
			if is := w.standings(key, l, timers); i == 0 {
				out = is
			} else {
				out = worst(out, is)
			}
		}
		return out
	}
	for _, l := range ended {
		if l.idle() {
			return nil
		}
		out = append(out, w.standings(key, l, timers)...)
	}
	if out.has(stale) || out.has(pending) { // time goes on, or it does not
		out = append(out, stale, pending)
	}
	return out
}

// idle says whether a client asks for nothing and was sent nothing.
func (l *lane) idle() bool { return l.last == nil && !l.wild && len(l.names) == 0 }

// worst joins what two streams say.
func worst(a, b words) (out words) {
	for _, x := range a {
		for _, y := range b {
			for _, word := range worse(x, y) {
				if !out.has(word) {
					out = append(out, word)
				}
			}
		}
	}
	return out
}

// worse is the worse of two words. What is not known is worse than what is well
// and better than a rejection; the table does not say more.
func worse(a, b string) words {
	if b == unknown {
		a, b = b, a
	}
	switch {
	case a == unknown && b != unknown && b != synced && b != nacked:
		return words{a, b}
	case a == unknown && b == synced:
		return words{unknown}
	case a == unknown:
		return words{b}
	}
	order := []string{synced, pending, notSent, stale, nacked}
	if slices.Index(order, a) > slices.Index(order, b) {
		return words{a}
	}
	return words{b}
}
