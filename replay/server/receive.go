package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

// receive takes a request of the live client.
func (p *part) receive(ctx context.Context, data []byte) {
	p.quiet = time.Now()
	p.events++
	c := p.live.Step(session.Client, 0, data)
	m, q := c.Message, c.Request
	if q == nil {
		return
	}
	key := c.Sub.Key
	at := p.TopicOf(key)
	if at == replay.None {
		p.receiveUnknown(key, &c.Type)
		return
	}
	t := &p.topics[at]
	t.requests++
	added, removed := replay.NamesChanged(&c)
	v, r := replay.VerdictOf(q), replay.None
	if q.Echoed != nil {
		r = p.StepOf(q.Echoed.Seq)
	}
	answers := v != replay.Unanswered && r != replay.None && p.Topics[at].Place(r) > t.answered
	if answers || len(added) > 0 || len(removed) == 0 {
		p.stays()
	} else {
		t.leave(removed)
	}
	t.live.Change(added, removed)
	if p.ended {
		p.receiveLate(t, p.Topics[at], added)
	}
	if !answers {
		t.plainAt = p.events
		return
	}
	p.judge(ctx, at, r, v, m)
}

// stays notes that the client was not leaving.
func (p *part) stays() {
	for i := range p.topics {
		p.topics[i].leaving = nil
	}
}

// leave notes what the client gives up of what it wants.
func (t *topicPlay) leave(removed []string) {
	for _, n := range removed {
		if _, wanted := t.live.Wanted[n]; wanted {
			t.leaving = append(t.leaving, n)
		}
	}
}

func (p *part) receiveUnknown(key string, typ *string) {
	if p.strange[key] || len(p.strange) >= replay.MaxTopics {
		return
	}
	p.strange[key] = true
	if p.Partial {
		p.server.ledger.Note("%s: the client asks for %s, of which nothing was recorded", p.Stream, replay.Bounded(*typ))
		return
	}
	p.server.ledger.Differ(p.Difference(replay.Difference{
		Seq: p.Opened, Expected: "no request for " + replay.Bounded(*typ), Got: "one", Type: replay.Bounded(*typ),
		Detail: "the recorded client did not ask for this type; it is left unanswered",
	}))
}

// hearLate takes names that the client begins to ask for when the part was over
// already.
func (p *part) receiveLate(t *topicPlay, topic *replay.Topic, added []string) {
	var extra []string
	for _, n := range added {
		if _, is := t.recorded.Asked[n]; !is {
			extra = append(extra, n)
		}
	}
	if len(extra) == 0 || p.Partial || topic.Requests == 0 {
		return
	}
	p.server.ledger.Differ(p.Difference(replay.Difference{
		Seq: p.Opened, Expected: "no request for " + replay.Few(replay.BoundedNames(extra)), Got: "one", Type: topic.Type, Names: replay.BoundedNames(extra),
		Detail: "the recording never answered it, so it is left unanswered",
	}))
}

// judge compares the answer to a response with the recorded one.
func (p *part) judge(ctx context.Context, at, r int32, v replay.Verdict, m *decode.Message) {
	t, topic := &p.topics[at], p.Topics[at]
	n := topic.Place(r) - 1
	p.answered++
	// Who answers a later one has passed over those before it.
	for i := t.answered; i < n; i++ {
		o := topic.Responses[i]
		if t.judged[i] != judgedNot || p.saidAt[o] == 0 {
			continue
		}
		p.answered++
		if p.Steps[o].Answered == replay.None {
			continue
		}
		if want := p.Steps[o].Verdict; want == v && v == replay.ACKed {
			p.match(t, i)
		} else {
			t.judged[i] = judgedOther
			p.server.ledger.Differ(p.Difference(replay.Difference{
				Seq: p.answerSeq(o), Answers: p.Steps[o].Seq, Expected: want.String(), Got: "no answer", Type: topic.Type,
				Detail: fmt.Sprintf("the client went on to a later response of %s", topic.Type),
			}))
		}
	}
	t.answered = n + 1
	p.passOver(at)
	st := &p.Steps[r]
	text := ""
	if m.Error != nil {
		text = m.Error.Message
	}
	switch {
	case st.Answered == replay.None && v != replay.NACKed && !st.Silent:
		p.tolerate(topic, n)
	case st.Answered == replay.None && !st.Silent && (p.Partial || n+1 == len(topic.Responses)):
		// Of the last one an answer may only not have been recorded. If it came in
		// a loop of rejections, the recording ends between a round and its answer.
		p.server.ledger.Note("entry %d: the client rejects it, and what it answered in the recording is not known: %s", st.Seq, replay.Bounded(text))
	case st.Verdict != v || st.Answered == replay.None:
		t.judged[n] = judgedOther
		if v != replay.NACKed && st.Answered != replay.None {
			text = p.reason(ctx, st)
		}
		p.server.ledger.Differ(p.Difference(replay.Difference{
			Seq: p.answerSeq(r), Answers: st.Seq, Expected: st.Verdict.String(), Got: v.String(), Type: topic.Type, Detail: text,
		}))
	case v == replay.NACKed && p.otherReason(ctx, st, text):
		t.judged[n] = judgedOther
		p.server.ledger.Differ(p.Difference(replay.Difference{
			Seq: p.answerSeq(r), Answers: st.Seq, Expected: "NACK", Got: "NACK for another resource", Type: topic.Type,
			Detail: fmt.Sprintf("recorded was %q, now it is %q", replay.Bounded(p.reason(ctx, st)), replay.Bounded(text)),
		}))
	default:
		p.match(t, n)
	}
}

// answerSeq is the recorded answer to a response, or the response if there was
// none.
func (p *part) answerSeq(r int32) session.Seq {
	if at := p.Steps[r].Answered; at != replay.None {
		return p.Steps[at].Seq
	}
	return p.Steps[r].Seq
}

func (p *part) match(t *topicPlay, n int) {
	t.judged[n] = judgedSame
	p.row.Matched++
}

// reason is why the recorded client rejected a response.
func (p *part) reason(ctx context.Context, st *replay.Step) string {
	if st.Answered == replay.None || st.Verdict != replay.NACKed || !p.Steps[st.Answered].Whole {
		return ""
	}
	body, err := p.server.plan.Body(ctx, p.Steps[st.Answered].Seq)
	if err != nil {
		return ""
	}
	if m := decode.Peek(p.Method, session.Client, "", body); m.Error != nil {
		return m.Error.Message
	}
	return ""
}

// otherReason says whether a rejection names other resources of a response than
// the recorded one. The words may be those of another version of the client.
func (p *part) otherReason(ctx context.Context, st *replay.Step, text string) bool {
	recorded := p.reason(ctx, st)
	if recorded == text {
		return false
	}
	body, err := p.server.plan.Body(ctx, st.Seq)
	if err != nil {
		return false
	}
	m := decode.Peek(p.Method, session.Server, "", body)
	before, now, both := 0, 0, 0
	for _, n := range m.ResourceNames() {
		was, is := strings.Contains(recorded, n), strings.Contains(text, n)
		if was {
			before++
		}
		if is {
			now++
		}
		if was && is {
			both++
		}
	}
	return before > 0 && now > 0 && both == 0
}

// without are the names in a that are not in b, in order.
func without(a, b map[string]struct{}) []string {
	var out []string
	for n := range a {
		if _, is := b[n]; !is {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}
