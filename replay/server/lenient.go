package server

import (
	"time"

	"github.com/xdsproxy/xdsproxy/replay"
)

// lenient are answers to responses that had none in the recording, though there
// was time for one: too little of it to know that none would have come.
type lenient struct {
	answers     int
	least, most time.Duration
}

// unanswered is how long the n-th response of a topic was left without an answer
// in the recording; 0 if it had one, is compared as a silence, or if its answer
// may only not have been recorded.
func (p *part) unanswered(topic *replay.Topic, n int) time.Duration {
	st, until := &p.Steps[topic.Responses[n]], p.Until
	if n+1 < len(topic.Responses) {
		until = p.Steps[topic.Responses[n+1]].At
	}
	waited := time.Duration(until - st.At)
	if st.Answered != replay.None || st.Expects() || p.Partial || waited < replay.Grace {
		return 0
	}
	return waited
}

// tolerate takes the answer to the n-th response of a topic for such a one, if
// it is.
func (p *part) tolerate(topic *replay.Topic, n int) {
	waited := p.unanswered(topic, n)
	if waited == 0 {
		return
	}
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	l := &p.server.lenient
	if l.answers == 0 {
		l.least, l.most = waited, waited
	}
	l.answers, l.least, l.most = l.answers+1, min(l.least, waited), max(l.most, waited)
}

func (l *lenient) tell(to *replay.Ledger) {
	if l.answers == 0 {
		return
	}
	span := l.least.Round(time.Second / 10).String()
	if most := l.most.Round(time.Second / 10).String(); most != span {
		span += " to " + most
	}
	to.Note("%d %s without an answer in the recording, for %s, and answered now: too short to call it silence, or before the next response of the type, so it is not compared",
		l.answers, replay.Plural(l.answers, "response was left", "responses were left"), span)
}
