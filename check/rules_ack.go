package check

import (
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// deadline is when the verdict on a response is due. One timer at a time runs for
// a type; when it is over, the oldest response without a verdict is next.
type deadline struct {
	of     *engine.Response // nil if none is waited for
	silent bool             // it is late, but the client has said nothing since
}

// due waits for the verdict on n. What look gets has n as its response.
func (x *event) due(d *deadline, n *engine.Response, until time.Time, look func(*event)) {
	*d = deadline{of: n}
	next := *x
	next.resp, next.req, next.wait = n, nil, nil
	losses := x.sub.Losses
	next.after(max(0, until.Sub(x.now)), func(x *event) {
		if d.of == n && x.sub.Losses == losses {
			look(x)
		}
	})
}

// nextDue waits for the first response after the one of x that has no verdict.
func (x *event) nextDue(d *deadline, patience func(*event, *engine.Response) time.Duration, look func(*event)) {
	*d = deadline{}
	for _, n := range x.sub.Sent {
		if n.Ordinal > x.resp.Ordinal && n.Verdict == engine.Unjudged && x.sub.Owed(n) {
			x.due(d, n, x.now.Add(patience(x, n)-x.k.Passed(n.At, x.now)), look)
			return
		}
	}
}

// over says whether there is nothing to wait for any more.
func (x *event) over() bool { return x.stream.Ended || !x.stream.HalfClosed.IsZero() }

// ackTime is how long a client may take for a verdict, as long as it speaks.
func ackTime(x *event, n *engine.Response) time.Duration { return x.k.AckTime(x.sub, n, true) }

// ackMissing begins to wait for the verdict on a response.
func ackMissing(x *event) {
	x.warm()
	if d := &acksOf(x.sub).late; d.of == nil && x.sub.Owed(x.resp) {
		x.due(d, x.resp, x.now.Add(ackTime(x, x.resp)), ackLate)
	}
}

// stillThere notes that the client is alive, and for which response it gave a
// verdict last.
func stillThere(x *event) {
	t := x.stream
	x.warm()
	if x.req.Verdict != engine.Unjudged {
		presenceOf(t).judged, presenceOf(t).judgedAt = x.req.Echoed.Seq, x.now
	}
	if !presenceOf(t).quiet {
		return
	}
	presenceOf(t).quiet = false
	for _, s := range t.Order {
		if d := &acksOf(s).late; d.silent {
			late := *x
			late.sub, late.resp, late.req, late.entry, late.change = s, d.of, nil, nil, nil
			d.silent = false
			late.missed(true)
		}
	}
}

func ackLate(x *event) { x.missed(x.stream.LastClientSeq > x.resp.Seq) }

// missed reports a response without a verdict, unless there is a reason to wait
// on. spoke says that the client has sent something since.
func (x *event) missed(spoke bool) {
	t, s, n := x.stream, x.sub, x.resp
	d, patience := &acksOf(s).late, x.k.AckTime(s, n, spoke)
	switch {
	case x.over():
		*d = deadline{}
		return
	case n.Verdict != engine.Unjudged, x.waived(n):
	case s.Type == "CDS" && len(x.starving(n)) > 0: // cds-ack-held-by-warming speaks of it
		x.due(d, n, x.now.Add(x.k.timers.Warm), ackLate)
		return
	case !spoke && x.k.Passed(n.At, x.now) < patience:
		x.due(d, n, x.now.Add(patience-x.k.Passed(n.At, x.now)), ackLate)
		d.silent, presenceOf(t).quiet = true, true
		return
	case presenceOf(t).judged < n.Seq && x.now.Sub(presenceOf(t).judgedAt) <= x.flight():
		// It works through older responses, as Envoy does with a rate limit.
		x.due(d, n, x.now.Add(x.k.timers.ACK), ackLate)
		return
	case !x.again(Warning, "-"):
		x.provef(proof{severity: Warning, cause: "-"}, "no verdict on %s of entry %d within %v", label(n), n.Seq, words.Round(x.k.Passed(n.At, x.now)))
	}
	x.nextDue(d, ackTime, ackLate)
}

// waived says whether clients are known to pass over a response without a
// word.
func (x *event) waived(n *engine.Response) bool {
	s := x.sub
	switch {
	case s.ByNonce(n.Nonce) != n: // its nonce was used again
		return true
	case !x.stream.WantsAnything(): // it is about to close
		return true
	case n.Count > 0:
		return false
	case s.Type == "NDS", s.Type == "PCDS": // Istio's agent
		return true
	}
	return !s.Active() && !x.stream.GRPCClient() // Envoy, where no watch is left
}

// ackHeld begins to wait for the verdict on a response of clusters.
func ackHeld(x *event) {
	x.warm()
	if d := &acksOf(x.sub).held; x.sub.Type == "CDS" && x.stream.ADS() && d.of == nil && x.sub.Owed(x.resp) {
		x.due(d, x.resp, x.now.Add(x.k.timers.Warm), heldBack)
	}
}

// heldBack reports a verdict that is held back by clusters that wait.
func heldBack(x *event) {
	d, n := &acksOf(x.sub).held, x.resp
	if x.over() {
		*d = deadline{}
		return
	}
	if n.Verdict == engine.Unjudged {
		if names := x.starving(n); len(names) > 0 {
			x.report(names, "no verdict on %s of entry %d for %v, while clusters wait for %s", label(n), n.Seq, x.k.timers.Warm, words.List(names))
		}
	}
	x.nextDue(d, func(x *event, _ *engine.Response) time.Duration { return x.k.timers.Warm }, heldBack)
}

// starving are the endpoints and secrets that clusters up to a response wait
// for, and that the client has asked for.
func (x *event) starving(n *engine.Response) []string {
	t := x.stream
	var names []string
	if eds := t.Sub("EDS"); eds != nil && !eds.Lost {
		for name, c := range warmingOf(t).byName {
			if (c.owed || c.cds.Ordinal <= n.Ordinal) && c.awaited(x, eds) {
				names = append(names, name)
			}
		}
	}
	if sds := t.Sub("SDS"); sds != nil && !sds.Lost && t.ADS() && !t.GRPCClient() {
		missing := make(map[string]struct{})
		for name := range sds.Names.All() {
			if sds.Have.Get(name) == nil {
				missing[name] = struct{}{}
			}
		}
		if len(missing) > 0 {
			for name, r := range x.referred("SDS", missing) {
				if r.Sub == x.sub && r.Ref.Source == inspect.SourceADS {
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
