package server

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/edit"
	"github.com/xdsproxy/xdsproxy/replay/fault"
	"github.com/xdsproxy/xdsproxy/replay/frames"
	"github.com/xdsproxy/xdsproxy/session"
)

// wrong is what a played server does wrong on purpose to one stream.
type wrong struct {
	cut     error          // the live stream is to end like this, and the part goes on with another
	resting bool           // that has not come; belongs to the server's mutex
	spared  map[int32]bool // responses to which no answer can come
	holds   map[int32]hold // responses that are held back
}

// hold is until when a response is held back, if not more than so many responses
// are sent before that.
type hold struct {
	until time.Time
	sent  int // -1: it is delayed
}

func (p *part) did(f *fault.Fault, format string, args ...any) {
	p.server.ledger.Wrong(&p.server.o, f, format, args...)
}

// refuse refuses the live stream that would play a part. s.mu is held.
func (s *server) refuse(p *part) error {
	for _, f := range s.o.Faults.Take(p.Opened, fault.Refuse) {
		code := codes.Code(f.Number())
		s.ledger.Wrong(&s.o, f, "%s is refused with %s", p.Stream, code)
		return status.Error(code, "refused on purpose")
	}
	return nil
}

// held is how much longer a response whose turn it is has to be held back, and
// what comes after it with it.
func (p *part) held(r int32, now time.Time) time.Duration {
	seq, wait := p.Steps[r].Seq, time.Duration(0)
	if p.holds == nil {
		p.holds = map[int32]hold{}
	}
	for _, f := range p.server.o.Faults.Take(seq, fault.Delay, fault.Reorder) {
		if f.Kind == fault.Reorder {
			p.did(f, "entry %d is held back until the next response of another type was sent, or for %s", seq, 2*replay.Grace)
			p.holds[r] = hold{now.Add(2 * replay.Grace), p.row.Sent}
			return time.Millisecond // others are looked at once more
		}
		p.did(f, "entry %d is sent %s late, and what comes after it on its stream", seq, f.For())
		p.holds[r] = hold{now.Add(f.For()), -1}
	}
	if h, is := p.holds[r]; is && h.sent < 0 {
		if wait = h.until.Sub(now); wait > 0 {
			p.server.extend(h.until)
		}
	}
	return wait
}

// overtaken is how much longer a response waits for others to go before it.
func (p *part) overtaken(r int32, now time.Time) time.Duration {
	h, is := p.holds[r]
	if !is || h.sent < 0 || p.row.Sent > h.sent {
		return 0
	}
	return h.until.Sub(now)
}

// breakOff ends the live stream before a response, if that is to be.
func (p *part) breakOff(ctx context.Context, st *replay.Step) {
	for _, f := range p.server.o.Faults.Take(st.Seq, fault.Cut, fault.GoAway, fault.Reset) {
		p.cut = status.Error(codes.Unavailable, "cut on purpose")
		stream, known := frames.Of(ctx)
		var err error
		how := "by " + codes.Unavailable.String()
		switch {
		case f.Kind == fault.Cut:
		case !known:
			err = fmt.Errorf("the stream is not known")
		case f.Kind == fault.GoAway:
			how = "after a GOAWAY"
			err = stream.GoAway()
		default:
			how = fmt.Sprintf("by RST_STREAM with code %d", f.Number())
			err = stream.Reset(ctx, f.Number())
		}
		if err != nil {
			how = fmt.Sprintf("by %s, since it cannot be done otherwise: %v", codes.Unavailable, err)
		}
		p.did(f, "%s ends %s before entry %d, which is sent on the next stream", p.Stream, how, st.Seq)
	}
}

// rest waits for the live stream on which the part goes on. The caller does not
// touch the part any more.
func (p *part) rest() error {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	end := p.cut
	p.cut, p.resting = nil, true
	s.touch()
	return end
}

// resume goes on with a part on another live stream: what was asked for, named
// or owed on the one before is no more.
func (p *part) resume() {
	p.quiet, p.live, p.waived = time.Now(), replay.NewConversation(p.Method), 0
	p.stays()
	for i := range p.topics {
		t := &p.topics[i]
		t.requests = 0
		for n, r := range p.Topics[i].Responses[:t.next] {
			if t.judged[n] == judgedNot {
				p.spare(r)
			}
		}
		p.passOver(int32(i))
	}
}

// spare expects no answer to a response.
func (p *part) spare(r int32) {
	if p.spared == nil {
		p.spared = map[int32]bool{}
	}
	p.spared[r] = true
	if st := &p.Steps[r]; st.Answered != replay.None {
		p.answered++
	}
	at := p.Steps[r].Topic
	p.topics[at].judged[p.Topics[at].Place(r)-1] = judgedOther
}

// passOver counts what no answer comes to as answered, if all before it is.
func (p *part) passOver(at int32) {
	for t := &p.topics[at]; t.answered < t.next && p.spared[p.Topics[at].Responses[t.answered]]; {
		t.answered++
	}
}

// falsify changes a response, and says how often it is sent.
func (p *part) falsify(ctx context.Context, r int32, out []byte) ([]byte, int) {
	times, st := 1, &p.Steps[r]
	if _, is := p.holds[r]; is {
		delete(p.holds, r)
		p.waived = 0 // what others lacked because of it
	}
	for _, f := range p.server.o.Faults.Take(st.Seq, fault.Drop, fault.Duplicate, fault.VersionReused) {
		switch f.Kind {
		case fault.Drop:
			p.did(f, "entry %d is not sent", st.Seq)
			p.server.dropped.Store(true)
			p.spare(r)
			p.passOver(st.Topic)
			return nil, 0
		case fault.Duplicate:
			p.did(f, "entry %d is sent twice", st.Seq)
			times = 2
		default:
			aged, ok := p.aged(ctx, r, out)
			if !ok {
				p.did(f, "entry %d is sent as it is: what it has has no earlier version", st.Seq)
				continue
			}
			p.did(f, "entry %d is sent with an earlier version", st.Seq)
			out = aged
		}
	}
	return out, times
}

// aged is a response with the version of the one before it; in delta, with the
// versions that its resources had before.
func (p *part) aged(ctx context.Context, r int32, out []byte) ([]byte, bool) {
	topic := p.Topics[p.Steps[r].Topic]
	versions, last := map[string]string{}, ""
	for _, before := range topic.Responses[:topic.Place(r)-1] {
		body, err := p.server.plan.Body(ctx, p.Steps[before].Seq)
		if err != nil {
			continue
		}
		m := decode.Peek(p.Method, session.Server, "", body)
		last = m.Version
		for i := range m.Resources {
			versions[m.Resources[i].Name] = m.Resources[i].Version
		}
	}
	if !p.Delta() {
		if last == "" {
			return nil, false
		}
		return edit.Set{edit.VersionOfResponse: last}.Apply(out)
	}
	found := false
	out, ok := edit.Rewrite(out, edit.ResourcesOfResponse, func(resource []byte) []byte {
		old := versions[string(edit.Field(resource, edit.NameOfWrapper))]
		aged, ok := edit.Set{edit.VersionOfWrapper: old}.Apply(resource)
		if old == "" || !ok {
			return resource
		}
		found = true
		return aged
	})
	return out, ok && found
}
