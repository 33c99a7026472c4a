package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

// expected is how much the client of a part is expected to do.
func (p *part) expected() int {
	n := 0
	for i := range p.Steps {
		if p.Steps[i].Expects() && !p.spared[int32(i)] {
			n++
		}
	}
	if p.Partial {
		return n
	}
	for _, t := range p.Topics {
		if t.Requests > 0 {
			n++
		}
	}
	return n
}

// sayable is how many responses there are to say.
func (p *part) sayable() int {
	n := 0
	for i := range p.Steps {
		if p.Steps[i].Server && p.Steps[i].Whole && (!p.spared[int32(i)] || p.saidAt[int32(i)] > 0) {
			n++
		}
	}
	return n
}

// describe counts what does not depend on what happens.
func (p *part) describe() {
	p.row.Expected, p.row.ToSend = p.expected(), p.sayable()
}

// missed enters a part that no client took; nobody says that no part was taken,
// which is one thing to say. No handler runs any more.
func (p *part) missed(nobody bool) {
	if p.taken && p.ended {
		return
	}
	p.describe()
	if p.taken { // its client was never heard of again
		p.compare(context.Background(), "")
		return
	}
	if nobody {
		return
	}
	p.server.ledger.Differ(p.Difference(replay.Difference{
		Seq: p.Opened, Expected: "a stream of " + p.Method.Name, Got: "none",
		Detail: fmt.Sprintf("no client opened what %s was in the recording", p.Stream),
	}))
}

// compare compares what is left to compare when a part is over.
func (p *part) compare(ctx context.Context, why string) {
	p.describe()
	for i := range p.topics {
		p.compareTopic(ctx, int32(i), why)
	}
}

func (p *part) compareTopic(ctx context.Context, at int32, why string) {
	t, topic := &p.topics[at], p.Topics[at]
	for n, r := range topic.Responses[:t.next] {
		st := &p.Steps[r]
		if t.judged[n] != judgedNot || !st.Expects() {
			continue
		}
		if st.Silent {
			p.match(t, n)
			continue
		}
		detail := why
		if waits := p.unanswerable(); detail == "" && len(waits) > 0 {
			detail = "it may wait for what it asks for and the recording does not have: " + strings.Join(waits, "; ")
		}
		p.server.ledger.Differ(p.Difference(replay.Difference{
			Seq: p.answerSeq(r), Answers: st.Seq, Expected: st.Verdict.String(), Got: "no answer", Type: topic.Type, Detail: detail,
		}))
	}
	if topic.Requests > 0 && !p.Partial {
		p.compareNames(at, why != "")
	}
	left := 0
	for _, r := range topic.Responses[t.next:] {
		if p.Steps[r].Whole {
			left++
		}
	}
	if left == 0 {
		return
	}
	r := topic.Responses[t.next]
	d := replay.Difference{Seq: p.Steps[r].Seq, Type: topic.Type, Got: "none"}
	c := &p.causes[r]
	switch {
	case (c.Asked || p.Partial) && t.requests == 0:
		d.Expected = "a request for " + topic.Type
	case t.answered < c.Answered:
		d.Expected = "an answer to the response of " + topic.Type + " before it"
	case len(t.need) > 0:
		d.Expected = "a request for " + replay.Few(t.need)
	default:
		d.Expected = "what came before it"
	}
	d.Detail = fmt.Sprintf("so %s %s not sent", replay.Responses(left, topic.Type), replay.Plural(left, "was", "were"))
	if why != "" {
		d.Detail = why + ", " + d.Detail
	}
	p.server.ledger.Differ(p.Difference(d))
}

// unanswerable is what the client asks for that the recorded one did not.
func (p *part) unanswerable() []string {
	var out []string
	for i := range p.topics {
		if extra := without(p.topics[i].live.Wanted, p.topics[i].recorded.Asked); len(extra) > 0 && p.topics[i].requests > 0 {
			out = append(out, p.Topics[i].Type+" "+replay.Few(replay.BoundedNames(extra)))
		}
	}
	return out
}

// compareNames compares what both clients asked for of a type. left says that the
// live one has ended the stream.
func (p *part) compareNames(at int32, left bool) {
	t, topic := &p.topics[at], p.Topics[at]
	live := t.live
	if left && !live.Same(t.recorded) {
		live = live.Kept(t.leaving)
	}
	if live.Same(t.recorded) {
		p.row.Matched++
		return
	}
	missing, extra := without(t.recorded.Asked, live.Asked), without(live.Asked, t.recorded.Asked)
	d := replay.Difference{Type: topic.Type, Seq: p.firstRequest(at, missing)}
	switch {
	case t.requests == 0:
		d.Expected, d.Got = "a request for "+topic.Type, "none"
	case len(missing) > 0 && len(extra) > 0:
		d.Expected, d.Got, d.Names = "a request for "+replay.Few(missing), "one for "+replay.Few(replay.BoundedNames(extra)), missing
		d.Detail = "what the recording never answered is left unanswered"
	case len(missing) > 0:
		d.Expected, d.Got, d.Names = "a request for "+replay.Few(missing), "none", missing
		if slices.ContainsFunc(missing, func(n string) bool { return p.OnDemand(topic, n) }) {
			d.Detail = "Envoy asks for it when a request through one of its listeners needs it, and a replay makes no such request"
		}
	case len(extra) > 0:
		d.Expected, d.Got, d.Names = "no request for "+replay.Few(replay.BoundedNames(extra)), "one", extra
		d.Detail = "the recording never answered it, so it is left unanswered"
	default:
		kept, gone := without(live.Wanted, t.recorded.Wanted), without(t.recorded.Wanted, live.Wanted)
		if len(kept) > 0 {
			d.Expected, d.Got, d.Names = "that the client gives up "+replay.Few(kept), "that it wants it to the end", kept
		} else {
			d.Expected, d.Got, d.Names = "that the client wants "+replay.Few(gone)+" to the end", "that it gives it up", gone
		}
	}
	d.Names = replay.BoundedNames(d.Names)
	p.server.ledger.Differ(p.Difference(d))
}

// firstRequest is the recorded request that first asked for the first of the
// names, or else the first one of the type.
func (p *part) firstRequest(at int32, names []string) session.Seq {
	first := session.Seq(0)
	for i := range p.Steps {
		st := &p.Steps[i]
		if st.Server || st.Topic != at {
			continue
		}
		if first == 0 {
			first = st.Seq
		}
		if len(names) == 0 {
			break
		}
		for _, n := range st.Added {
			if n == names[0] {
				return st.Seq
			}
		}
	}
	return first
}
