package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check/whose"
	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// event is what a rule looks at: an entry, or a moment, in the light of the
// conversation. Which of the fields are set depends on what it is.
type event struct {
	k      *Checker
	rule   *Rule // that looks
	now    time.Time
	entry  *session.Entry // nil when time has passed
	change *Change        // of entry
	stream *engine.Stream
	sub    *engine.Subscription
	req    *engine.Request
	resp   *engine.Response
	wait   *wait
}

// hook is one of the ways in which rules look.
type hook uint8

const (
	onRequest hook = iota
	onResponse
	onOpen
	onEnd
	onOther
	onUnanswered
	hooks
)

// looker is a rule and one of its conditions.
type looker struct {
	rule *Rule
	look func(*event)
}

// lookersOf sorts the conditions of rules by their hooks.
func lookersOf(rules []*Rule) (out [hooks][]looker) {
	for _, r := range rules {
		for h, f := range [hooks]func(*event){
			onRequest: r.request, onResponse: r.response, onOpen: r.open, onEnd: r.end, onOther: r.other, onUnanswered: r.unanswered,
		} {
			if f != nil {
				out[h] = append(out[h], looker{r, f})
			}
		}
	}
	return out
}

// each lets all rules look that have the hook. On a discovery message only
// those look that may: others need the part of a stream that was not seen, or
// know nothing of polls.
func (x *event) each(h hook) {
	if x.k.muted {
		return
	}
	message := h == onRequest || h == onResponse || h == onUnanswered
	polls, lost := message && !x.stream.Discovery(), message && x.sub != nil && x.sub.Lost
	for _, l := range x.k.lookers[h] {
		if polls && !l.rule.polls || lost && !l.rule.local {
			continue
		}
		x.rule = l.rule
		l.look(x)
	}
}

// after calls f when d is over, counted from the event. What f gets is the
// event with the time it is then; the stream may have ended, which f finds in
// x.stream.ended.
func (x *event) after(d time.Duration, f func(*event)) {
	later := *x
	later.entry, later.change = nil, nil
	x.k.queue.Set(x.now.Add(d), func(now time.Time) {
		next := later
		next.now = now
		if later.k.muted {
			return
		}
		f(&next)
	})
}

// flight is how long messages that cross may be on their way.
func (x *event) flight() time.Duration {
	if x.k.timers.Fixed || x.stream == nil {
		return x.k.timers.Flight
	}
	return max(x.k.timers.Flight, 3*x.stream.Echo)
}

// proof is what goes into a finding beside what the event says of itself.
type proof struct {
	severity Severity
	names    []string
	seqs     []session.Seq // the one that proves it last; nil: that of the event
	cause    string        // findings of one cause are counted as one; "": the names
	message  string
	same     string // what clients of one cause have in common; "": the names
	typ      string // if it is not that of the event
	fault    Fault  // if it is not that of the rule
	// settles says that it is not a repeat but the outcome of what was
	// reported under the same cause before: it is not counted.
	settles bool
	// sums says that the message has numbers that grow from one time to the next.
	sums bool
}

// report enters a finding of the rule's usual severity.
func (x *event) report(names []string, format string, args ...any) {
	x.provef(proof{severity: x.rule.Severity, names: names}, format, args...)
}

// provef enters a finding in these words.
func (x *event) provef(p proof, format string, args ...any) {
	p.message = fmt.Sprintf(format, args...)
	x.prove(p)
}

// whose is the client that a finding is counted to: the one that the stream
// names, or else the one of its connection.
func (x *event) whose() string {
	if id := x.client(); id != "" || x.change == nil {
		return id
	}
	return x.change.Client
}

// again counts a finding that was entered before, with at least this severity,
// and says whether that was so: then there is no need to word it.
func (x *event) again(severity Severity, cause string) bool {
	if x.k.muted {
		return true
	}
	typ := ""
	if x.sub != nil {
		typ = x.sub.Type
	}
	return x.k.ledger.again(causeKey(x.rule.ID, x.whose(), typ, cause), severity, x.now, x.seq())
}

// prove enters a finding.
func (x *event) prove(p proof) {
	if x.k.muted {
		return
	}
	f := &Finding{
		Rule: x.rule, Severity: p.severity, Type: p.typ, Seqs: p.seqs, At: x.now, Last: x.now, Count: 1,
		Message: p.message, Fault: x.rule.Fault, Client: x.whose(),
	}
	if p.fault != "" {
		f.Fault = p.fault
	}
	names := p.names[:min(len(p.names), maxFindingNames)]
	f.Names = make([]string, len(names))
	for i, n := range names {
		f.Names[i] = words.Bounded(n)
	}
	if t := x.stream; t != nil {
		f.Conn, f.Stream = t.Conn, t.ID
	} else if x.entry != nil {
		f.Conn, f.Stream = x.entry.Conn, x.entry.Stream
	}
	if f.Type == "" && x.sub != nil {
		f.Type = x.sub.Type
	}
	if f.Seqs == nil {
		f.Seqs = []session.Seq{x.seq()}
	}
	f.LastSeq = f.Seqs[len(f.Seqs)-1]
	cause := p.cause
	if cause == "" {
		cause = strings.Join(names, "\x00")
	}
	key := causeKey(f.Rule.ID, f.Client, f.Type, cause)
	if x.k.ledger.Get(key) == nil {
		f.Sources, f.MoreSources = whose.Of(x.stream, x.sub, f.Type, names)
	}
	f.Client, f.Type, f.Message = words.Bounded(f.Client), words.Bounded(f.Type), words.Bounded(f.Message)
	f.same = words.Bounded(p.same)
	x.k.ledger.enter(f, key, cause, p.settles, p.sums)
}

// seq is the entry that an event is about.
func (x *event) seq() session.Seq {
	switch {
	case x.entry != nil:
		return x.entry.Seq
	case x.wait != nil:
		return x.wait.from.Seq
	case x.resp != nil:
		return x.resp.Seq
	case x.req != nil:
		return x.req.Seq
	}
	return x.k.seq
}
