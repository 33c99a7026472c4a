package check

import (
	"cmp"
	"slices"

	"github.com/xdsproxy/xdsproxy/check/aftermath"
	"github.com/xdsproxy/xdsproxy/check/timer"
	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Checker holds a session against the rules. Like the Engine that it asks it
// must see every entry, in order, is a pure function of them, and is not safe
// for concurrent use: the same entries give the same findings, whether they
// come from the wire or from a file.
type Checker struct {
	*engine.Engine
	timers  Timers
	lookers [hooks][]looker

	queue     timer.Queue
	ledger    ledger
	storms    map[string]*storm
	hints     hints
	aftermath aftermath.Memory
	effects   effect.Account
	polls     polls
	referrers referrers
	lookups   lookups
	seq       session.Seq
	types     *descriptors.Types
	muted     bool // entries are repeated from an earlier segment: they are no news
	summary   Summary
	// What is looked at now. Both are used again for the next entry.
	change Change
	event  event
}

// Change is what one entry means in its conversation, and what it proves.
type Change struct {
	engine.Change
	// Findings are what rules proved with the entry, Repeated what was proved
	// before and once more with it; that is valid until the next Step.
	Findings []Finding
	Repeated []*Finding
	// Types are those that its message is decoded with beside the linked ones; may
	// be nil.
	Types *descriptors.Types
	// Loads are the files of which the entry says what a client made of them.
	Loads []effect.Load
}

// Summary counts what a Checker has seen.
type Summary struct {
	Entries, Messages, Streams, Gaps uint64
	// Forgotten is how often something that was over was forgotten, because
	// Options.Past had no room for it.
	Forgotten uint64
	// FindingsForgotten is how many findings were forgotten, because newer ones had
	// no room, and FindingsRefused how often one was not kept, because no other
	// could be forgotten for it.
	FindingsForgotten, FindingsRefused uint64
}

// NewChecker returns a Checker that has seen nothing.
func NewChecker(o Options) *Checker {
	if o.Timers == (Timers{}) {
		o.Timers = DefaultTimers()
	}
	if o.Rules == nil {
		o.Rules, _ = Select(nil, nil)
	}
	return &Checker{
		Engine: engine.New(engine.Options{ACK: o.Timers.ACK, Warm: o.Timers.Warm, Past: o.Past, Static: o.Static, Names: o.Names, Types: o.Types}),
		types:  o.Types, timers: o.Timers, lookers: lookersOf(o.Rules), storms: make(map[string]*storm), ledger: newLedger(),
		polls: polls{limit: cmp.Or(o.Past, engine.DefaultPast) / pollPart},
	}
}

// Step takes the next entry and says what it changed. Findings are those that
// it proved: each comes once, and again when it became graver.
func (k *Checker) Step(e *session.Entry) Change {
	k.seq, k.muted, k.ledger.repeated = e.Seq, e.Carried, k.ledger.repeated[:0]
	now := k.TimeAt(e)
	k.queue.Leap(k.Leap(e))
	// What timers wait for may be in a gap, so that they have to know of it.
	if e.Kind == session.KindGap {
		k.change.Change = k.Engine.Step(e)
		k.queue.Run(now)
	} else {
		k.queue.Run(now)
		k.change.Change = k.Engine.Step(e)
	}
	k.effects.Step(k.Engine, e, &k.change.Change)
	k.change.Loads = slices.Clone(k.effects.Loads())
	k.event = event{k: k, now: now, entry: e, change: &k.change, stream: k.change.Stream, sub: k.change.Sub, req: k.change.Request, resp: k.change.Response}
	k.look(&k.event)
	c := k.change
	c.Types = k.types
	c.Findings, c.Repeated = k.ledger.take(), k.ledger.repeated
	k.change, k.event = Change{}, event{} // what was looked at may be large
	return c
}

// look counts an entry and lets the rules look at it.
func (k *Checker) look(x *event) {
	e := x.entry
	k.summary.Entries++
	switch e.Kind {
	case session.KindConnect, session.KindDisconnect:
	case session.KindOpen:
		k.summary.Streams++
		if x.stream != nil {
			x.each(onOpen)
		}
	case session.KindMessage:
		k.summary.Messages++
		if x.stream != nil {
			k.message(x)
		}
	case session.KindHalfClose:
		if x.stream != nil {
			x.each(onOther)
		}
	case session.KindTrailer, session.KindCancel:
		if k.change.Ended {
			x.each(onEnd)
			k.referrers = referrers{}
		}
	case session.KindGap:
		if e.Gap == nil || !e.Gap.Cause.Chosen() {
			k.summary.Gaps++
		}
		k.polls = polls{limit: k.polls.limit} // which polls are missing is not known
	default:
		x.each(onOther)
	}
}

// message lets the rules look at a message of a stream that is known.
func (k *Checker) message(x *event) {
	e, m := x.entry, x.change.Message
	switch {
	case m == nil:
	case !e.Message.Whole():
		if x.stream.Method.Variant == xds.VariantREST {
			k.polls = polls{limit: k.polls.limit} // each poll is a stream of its own
		}
		x.each(onOther)
	case x.req != nil:
		x.await()
		x.each(onRequest)
	case x.resp != nil:
		answer(x.sub, k, m)
		x.each(onResponse)
	case !m.Request() && !m.Response():
		x.each(onOther)
	}
}

// Findings returns all findings so far that are not forgotten, each of one client, in
// the order in which they were first proved. Fold them for a person.
func (k *Checker) Findings() []Finding {
	out := make([]Finding, 0, k.ledger.Len())
	for f := range k.ledger.All() {
		one := *f
		one.MoreClients = k.ledger.More(f.Common)
		out = append(out, one)
	}
	return out
}

// Summary returns what was counted so far.
func (k *Checker) Summary() Summary {
	s := k.summary
	s.Forgotten, s.FindingsForgotten, s.FindingsRefused = k.Memory().Forgotten, k.ledger.Forgotten(), k.ledger.Refused()
	return s
}

// NewTracker returns a Checker without rules, for those who only ask what
// messages mean. Types are those beside the linked ones; may be nil.
func NewTracker(types *descriptors.Types) *Checker {
	return NewChecker(Options{Rules: []*Rule{}, Names: true, Types: types})
}
