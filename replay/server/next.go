package server

import (
	"context"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

// next is the step of the response whose turn it is; if there is none, how long
// to wait before asking again, negative for until something is heard. leave says
// that somebody has to give leave to say it.
func (p *part) next(now time.Time) (step int32, wait time.Duration, leave bool) {
	head, ready, hold := replay.None, replay.None, time.Duration(-1)
	for i := range p.topics {
		t, topic := &p.topics[i], p.Topics[i]
		for t.next < len(topic.Responses) && !p.Steps[topic.Responses[t.next]].Whole {
			t.next++
		}
		if t.next == len(topic.Responses) {
			continue
		}
		r := topic.Responses[t.next]
		if head == replay.None || r < head {
			head = r
		}
		if (ready == replay.None || r < ready) && p.caused(r) {
			if h := p.overtaken(r, now); h > 0 {
				hold = h
				continue
			}
			ready = r
		}
	}
	if ready == replay.None {
		return replay.None, hold, false
	}
	pace := p.server.o.Pace
	if lacking := p.lacking(ready, head); lacking > p.waived {
		if wait := replay.Grace - min(now.Sub(p.quiet), p.Group.Still(now)); wait > 0 {
			return replay.None, wait, false
		}
		p.waived = lacking
	}
	if wait := pace.Due(p.Stream, &p.Steps[ready]) - now.Sub(p.begun); wait > 0 && pace.Kind == replay.PaceTimed {
		return replay.None, wait, false
	}
	if wait := p.held(ready, now); wait > 0 {
		return replay.None, wait, false
	}
	return ready, 0, pace.Steps()
}

// caused says whether what must come before a response has come.
func (p *part) caused(r int32) bool {
	c, t := &p.causes[r], &p.topics[p.Steps[r].Topic]
	if (c.Asked || p.Partial) && t.requests == 0 {
		return false
	}
	if t.answered < c.Answered && t.answered < t.next {
		return false
	}
	p.prepare(r)
	if len(t.need) == 0 {
		return true
	}
	for _, n := range t.need {
		if _, is := t.live.Wanted[n]; is {
			return true
		}
	}
	return false
}

// lacking counts what came before a response in the recording and has not come
// yet: answers, names, a response of another type.
func (p *part) lacking(r, head int32) int {
	c, t := &p.causes[r], &p.topics[p.Steps[r].Topic]
	n := max(0, c.Verdicts-p.answered) + p.Behind(p.Steps[r].Seq)
	if r != head {
		n++
	}
	if c.After != replay.None && t.plainAt <= p.saidAt[c.After] {
		n++
	}
	for _, name := range t.need {
		if _, is := t.live.Wanted[name]; !is {
			n++
		}
	}
	for _, name := range t.drop {
		if _, is := t.live.Wanted[name]; is {
			n++
		}
	}
	return n
}

// prepare finds which of the names that the recorded client had asked for a
// response gives.
func (p *part) prepare(r int32) {
	t := &p.topics[p.Steps[r].Topic]
	if t.prepared == t.next+1 {
		return
	}
	t.prepared = t.next + 1
	c := &p.causes[r]
	t.need, t.drop = nil, nil
	pending := append(t.pending, c.Added...)
	t.pending = nil
	for _, n := range c.Removed { // and not asked for again
		if _, is := t.recorded.Wanted[n]; !is {
			t.drop = append(t.drop, n)
		}
	}
	if len(pending) == 0 {
		return
	}
	body, err := p.server.plan.Body(context.Background(), p.Steps[r].Seq)
	if err != nil {
		return // said when it is to be said
	}
	m := decode.Peek(p.Method, session.Server, "", body)
	given := map[string]bool{replay.Everything: true}
	for i := range m.Resources {
		given[m.Resources[i].Name] = true
		for _, a := range m.Resources[i].Aliases {
			given[a] = true
		}
	}
	for _, n := range m.Removed {
		given[n] = true
	}
	dropped := map[string]bool{}
	for _, n := range t.drop {
		dropped[n] = true
	}
	for _, n := range pending {
		switch {
		case dropped[n]:
		case given[n]:
			t.need = append(t.need, n)
		default:
			t.pending = append(t.pending, n)
		}
	}
}
