package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// vigil is a response whose verdict is waited for. One timer at a time runs
// for a type; when it is over, the oldest response without a verdict is next.
type vigil struct {
	of     *response // nil if none is waited for
	silent bool      // it is late, but the client has said nothing since
}

// A response of more than hugeCDS clusters gives the client more time, pace for
// each of those above.
const (
	hugeCDS = 1000
	pace    = 5 * time.Millisecond
)

// keep waits for the verdict on n. What look gets has n as its response.
func (x *event) keep(v *vigil, n *response, until time.Time, look func(*event)) {
	*v = vigil{of: n}
	next := *x
	next.resp, next.req, next.wait = n, nil, nil
	losses := x.sub.losses
	next.after(max(0, until.Sub(x.now)), func(x *event) {
		if v.of == n && x.sub.losses == losses {
			look(x)
		}
	})
}

// proceed waits for the first response after the one of x that has no verdict.
func (x *event) proceed(v *vigil, patience func(*event, *response) time.Duration, look func(*event)) {
	*v = vigil{}
	for _, n := range x.sub.sent {
		if n.ordinal > x.resp.ordinal && n.verdict == unjudged && x.sub.owed(n) {
			x.keep(v, n, n.at.Add(patience(x, n)), look)
			return
		}
	}
}

// over says whether there is nothing to wait for any more.
func (x *event) over() bool { return x.talk.ended || !x.talk.halfClosed.IsZero() }

// ackTime is how long a client may take for a verdict. Envoy holds back that on
// clusters, and takes long for very many of them.
func ackTime(x *event, n *response) time.Duration {
	if x.sub.typ == "CDS" {
		return x.k.timers.Warm + time.Duration(max(0, n.count-hugeCDS))*pace
	}
	return x.k.timers.ACK
}

// ackMissing begins to wait for the verdict on a response.
func ackMissing(x *event) {
	x.warm()
	if v := &acksOf(x.sub).late; v.of == nil && x.sub.owed(x.resp) {
		x.keep(v, x.resp, x.now.Add(ackTime(x, x.resp)), ackLate)
	}
}

// stillThere notes that the client is alive, and for which response it gave a
// verdict last.
func stillThere(x *event) {
	t := x.talk
	x.warm()
	if x.req.verdict != unjudged {
		presenceOf(t).judged, presenceOf(t).judgedAt = x.req.echoed.seq, x.now
	}
	if !presenceOf(t).quiet {
		return
	}
	presenceOf(t).quiet = false
	for _, s := range t.order {
		if v := &acksOf(s).late; v.silent {
			late := *x
			late.sub, late.resp, late.req, late.entry, late.change = s, v.of, nil, nil, nil
			v.silent = false
			late.missed(true)
		}
	}
}

func ackLate(x *event) { x.missed(x.talk.lastClientSeq > x.resp.seq) }

// missed reports a response without a verdict, unless there is a reason to wait
// on. spoke says that the client has sent something since.
func (x *event) missed(spoke bool) {
	t, s, n := x.talk, x.sub, x.resp
	v, ack := &acksOf(s).late, x.k.timers.ACK
	switch {
	case x.over():
		*v = vigil{}
		return
	case n.verdict != unjudged, x.waived(n):
	case s.typ == "CDS" && len(x.starving(n)) > 0: // cds-ack-held-by-warming speaks of it
		x.keep(v, n, x.now.Add(x.k.timers.Warm), ackLate)
		return
	case !spoke && x.now.Sub(n.at) < 2*ack:
		x.keep(v, n, n.at.Add(2*ack), ackLate)
		v.silent, presenceOf(t).quiet = true, true
		return
	case presenceOf(t).judged < n.seq && x.now.Sub(presenceOf(t).judgedAt) <= x.flight():
		// It works through older responses, as Envoy does with a rate limit.
		x.keep(v, n, x.now.Add(ack), ackLate)
		return
	case !x.again(Warning, "-"):
		x.prove(proof{
			severity: Warning, cause: "-",
			message: fmt.Sprintf("no verdict on %s of entry %d within %v", label(n), n.seq, round(x.now.Sub(n.at))),
		})
	}
	x.proceed(v, ackTime, ackLate)
}

// waived says whether clients are known to pass over a response without a
// word.
func (x *event) waived(n *response) bool {
	s := x.sub
	switch {
	case s.byNonce[short(n.nonce)] != n: // its nonce was used again
		return true
	case !x.talk.wantsAnything(): // it is about to close
		return true
	case n.count > 0:
		return false
	case s.typ == "NDS", s.typ == "PCDS": // Istio's agent
		return true
	}
	return !s.active() && !x.talk.grpcClient() // Envoy, where no watch is left
}

// ackHeld begins to wait for the verdict on a response of clusters.
func ackHeld(x *event) {
	x.warm()
	if v := &acksOf(x.sub).held; x.sub.typ == "CDS" && x.talk.ads() && v.of == nil && x.sub.owed(x.resp) {
		x.keep(v, x.resp, x.now.Add(x.k.timers.Warm), heldBack)
	}
}

// heldBack reports a verdict that is held back by clusters that wait.
func heldBack(x *event) {
	v, n := &acksOf(x.sub).held, x.resp
	if x.over() {
		*v = vigil{}
		return
	}
	if n.verdict == unjudged {
		if names := x.starving(n); len(names) > 0 {
			x.report(names, "no verdict on %s of entry %d for %v, while clusters wait for %s", label(n), n.seq, x.k.timers.Warm, list(names))
		}
	}
	x.proceed(v, func(x *event, _ *response) time.Duration { return x.k.timers.Warm }, heldBack)
}

// starving are the endpoints and secrets that clusters up to a response wait
// for.
func (x *event) starving(n *response) []string {
	t := x.talk
	var names []string
	if eds := t.sub("EDS"); eds != nil && !eds.lost {
		for name, c := range warmingOf(t).byName {
			if c.cds.ordinal <= n.ordinal && eds.wants(name) {
				names = append(names, name)
			}
		}
	}
	if sds := t.sub("SDS"); sds != nil && !sds.lost && t.ads() && !t.grpcClient() {
		missing := make(map[string]struct{})
		for name := range sds.names.all() {
			if sds.have.get(name) == nil {
				missing[name] = struct{}{}
			}
		}
		if len(missing) > 0 {
			for name, r := range x.referred("SDS", missing) {
				if r.sub == x.sub && r.ref.Source == decode.SourceADS {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// presence is when the client gave a verdict last, and on which response; quiet
// says that it said nothing since one that it owes a verdict on.
type presence struct {
	judged   session.Seq
	judgedAt time.Time
	quiet    bool
}
