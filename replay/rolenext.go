package replay

import (
	"context"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// next is the step of the request whose turn it is; see part.next.
func (r *role) next(ctx context.Context, now time.Time) (step int32, wait time.Duration, leave bool) {
	for r.first < len(r.Steps) && (r.sent[r.first] || r.passed(ctx, int32(r.first))) {
		r.first++
	}
	asap := r.client.o.Pace.kind == paceAsap
	ready, usual := none, true
	blockedAnswers := map[int32]bool{}
	for i := r.first; i < len(r.Steps); i++ {
		st := &r.Steps[i]
		if r.topics[st.Topic].mute {
			continue
		}
		if st.Server {
			usual = usual && r.topics[st.Topic].arrived >= r.topics[st.Topic].place[int32(i)]
			continue
		}
		if r.sent[i] || !st.Whole {
			continue
		}
		if st.Answers {
			if !blockedAnswers[st.Topic] && r.topics[st.Topic].arrived >= r.topics[st.Topic].place[st.Echo] {
				ready = int32(i)
				break
			}
			blockedAnswers[st.Topic] = true
		} else {
			ready = int32(i)
			break
		}
		usual = false
	}
	if ready == none {
		return none, -1, false
	}
	if head := int32(r.first); !usual && !asap && r.waived != head {
		if wait := grace - now.Sub(r.quiet); wait > 0 {
			return none, wait, false
		}
		r.waived = head
	}
	if wait := r.client.o.Pace.due(r.Stream, &r.Steps[ready]) - now.Sub(r.begun); wait > 0 {
		return none, wait, false
	}
	return ready, 0, r.client.o.Pace.Steps()
}

// passed says whether a step needs no more waiting: a request that cannot be
// said, or a response that came.
func (r *role) passed(ctx context.Context, i int32) bool {
	st := &r.Steps[i]
	if !st.Server || r.topics[st.Topic].mute {
		return !st.Whole || r.topics[st.Topic].mute
	}
	r.expect(ctx, st.Topic)
	return r.topics[st.Topic].arrived >= r.topics[st.Topic].place[i]
}

// expect learns what the next response of a type brings in the recording.
func (r *role) expect(ctx context.Context, at int32) {
	t, topic := &r.topics[at], r.Topics[at]
	for t.expected <= t.arrived && t.expected < len(topic.Responses) {
		st := &r.Steps[topic.Responses[t.expected]]
		t.expected++
		t.brings = nil
		if st.Whole {
			body, err := r.client.plan.shelf.body(ctx, st.Seq)
			if err != nil {
				r.client.ledger.note("entry %d is not compared: %v", st.Seq, err)
			} else {
				m := decode.Peek(r.Method, session.Server, "", body)
				t.brings = t.contents.expect(st.Seq, t.expected, st.Masked, &m)
			}
		}
	}
}
