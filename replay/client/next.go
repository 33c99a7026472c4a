package client

import (
	"context"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

// next is the step of the request whose turn it is; see part.next. What came
// before it in the recording is waited for: before a subscription up to
// Options.Idle, as a server may be slow. A server that let that pass is given no
// more than the grace for each further step, until it speaks again.
func (r *role) next(ctx context.Context, now time.Time) (step int32, wait time.Duration, leave bool) {
	for r.first < len(r.Steps) && (r.sent[r.first] || r.passed(ctx, int32(r.first))) {
		r.first++
	}
	ready, hold := replay.None, time.Duration(-1)
	var lacking, unanswerable []int32 // topics
	for i := r.first; i < len(r.Steps) && ready == replay.None; i++ {
		st := &r.Steps[i]
		t := &r.topics[st.Topic]
		switch {
		case t.mute || r.sent[i] || !st.Server && !st.Whole:
		case st.Server && t.arrived >= t.place[int32(i)]:
		case st.Server:
			lacking = append(lacking, st.Topic)
		case st.Answers && (t.arrived < t.place[st.Echo] || slices.Contains(unanswerable, st.Topic)):
			unanswerable = append(unanswerable, st.Topic)
			lacking = append(lacking, st.Topic)
		default:
			if h := r.held(int32(i), now); h > 0 {
				hold, unanswerable = h, append(unanswerable, st.Topic)
				continue
			}
			ready = int32(i)
		}
	}
	if ready == replay.None {
		return replay.None, hold, false
	}
	if len(lacking) > 0 && r.waived != ready {
		patience := replay.Grace
		for _, at := range lacking {
			if !r.Steps[ready].Answers && r.topics[at].owes() {
				patience = r.client.o.Idle
			}
		}
		if wait := patience - now.Sub(r.quiet); wait > 0 {
			return replay.None, wait, false
		}
		r.waived = ready
		for _, at := range lacking {
			r.topics[at].overdue = r.topics[at].overdue || patience > replay.Grace
		}
	}
	if wait := r.client.o.Pace.Due(r.Stream, &r.Steps[ready]) - now.Sub(r.begun); wait > 0 {
		return replay.None, wait, false
	}
	return ready, 0, r.client.o.Pace.Steps()
}

// owes says whether a response that did not come is still expected: not if the
// server was waited for before, or if it has said in fewer responses what the
// recording has.
func (t *topicRole) owes() bool {
	return !t.overdue && (t.arrived+t.extra == 0 || !t.contents.all())
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
			body, err := r.client.plan.Body(ctx, st.Seq)
			if err != nil {
				r.client.ledger.Note("entry %d is not compared: %v", st.Seq, err)
			} else {
				m := decode.Peek(r.Method, session.Server, "", body)
				t.brings = t.contents.expect(st.Seq, t.expected, st.Masked, &m)
			}
		}
	}
}
