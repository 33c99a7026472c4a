package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/edit"
	"github.com/xdsproxy/xdsproxy/session"
)

// part is a recorded stream as the management server plays it. Until it is
// taken it belongs to the server's mutex, then to the handler of the stream.
type part struct {
	*replay.Stream
	server *server
	*replay.Member
	taken bool
	over  bool // it has ended; the server's mutex guards this
	row   replay.Played
	wrong

	low int // all steps before this one have happened again

	causes   []replay.Cause
	topics   []topicPlay
	live     replay.Conversation // its responses have the numbers of the recorded ones
	events   uint64              // that were said and heard, to tell their order
	saidAt   map[int32]uint64    // responses, as events
	answered int                 // responses
	begun    time.Time
	quiet    time.Time // since then nothing was said or heard
	due      time.Time // until then the client may take for its answer
	waived   int       // so much of what is lacking need not be waited for any more
	strange  map[string]bool
	ended    bool
}

// topicPlay is how far one type has come.
type topicPlay struct {
	next     int // of Topic.Responses
	prepared int // the response for which names were prepared, counted from 1
	requests int
	answered int      // the newest response that was answered, counted from 1
	judged   []uint8  // by response: see judged* below
	pending  []string // that the recorded client asked for and was not given yet
	need     []string // of them, what the next response gives
	drop     []string // what the recorded client gave up before the next response
	plainAt  uint64   // the event of the last request that was no first answer
	live     replay.Interest
	recorded replay.Interest
	// leaving is what the client gave up with nothing said or heard since. If it
	// ends the stream now, that was the leaving, as in replay.Stream.InterestIn.
	leaving []string
}

const (
	judgedNot uint8 = iota
	judgedSame
	judgedOther // and it was said
)

func (p *part) begin() {
	p.begun, p.quiet = time.Now(), time.Now()
	p.causes = replay.Causes(p.Stream)
	p.saidAt, p.strange, p.live = map[int32]uint64{}, map[string]bool{}, replay.NewConversation(p.Method)
	p.topics = make([]topicPlay, len(p.Topics))
	for i := range p.topics {
		p.topics[i] = topicPlay{
			judged: make([]uint8, len(p.Topics[i].Responses)),
			live:   replay.NewInterest(), recorded: p.InterestIn(int32(i)),
		}
	}
}

// play says what was recorded, and hears what the client says.
func (p *part) play(ctx context.Context, ss grpc.ServerStream, first []byte, heard <-chan []byte) error {
	if p.topics == nil {
		p.begin()
		p.server.ledger.Say(fmt.Sprintf("%s begins", p.Stream))
	} else {
		p.resume()
	}
	p.server.touch()
	p.receive(ctx, first)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		news := p.Group.Moved()
		next, wait, leave := p.next(time.Now())
		if next != replay.None && !leave {
			if err := p.sayNext(ctx, ss, next); err != nil {
				p.finish(ctx, "the client ended the stream")
				return err
			}
			continue
		}
		p.progress()
		whole, silence := false, false
		if next == replay.None && (!p.ended || p.End.ByServer()) {
			whole, silence = p.complete()
		}
		hush := p.server.o.Idle/2 - time.Since(p.quiet)
		if whole && (!silence || hush <= 0) {
			end := p.finish(ctx, "")
			if p.End.ByServer() {
				return end
			}
		}
		var step <-chan struct{}
		timed := next == replay.None && wait >= 0 && p.server.o.Pace.Kind == replay.PaceTimed
		if leave {
			step = p.server.o.Step
		}
		if leave || timed {
			p.server.waiting.Add(1)
		}
		if wait < 0 {
			wait = time.Hour
			switch {
			case silence:
				wait = hush
			case p.End.ByServer() && !leave:
				// What does not come keeps the streams from beginning that came
				// after this one.
				if wait = p.server.o.Idle/2 - min(time.Since(p.quiet), time.Since(p.due)); wait <= 0 {
					return p.finish(ctx, "")
				}
			}
		}
		timer.Reset(max(wait, time.Millisecond))
		var err error
		over := false
		select {
		case <-news:
		case <-p.server.over:
			err, over = errOver, true
		case b, more := <-heard:
			if !more {
				over = true
				break
			}
			p.server.ledger.Received()
			p.server.touch()
			p.receive(ctx, b)
		case <-step:
			err = p.sayNext(ctx, ss, next)
			over = err != nil
		case <-timer.C:
		}
		if leave || timed {
			p.server.waiting.Add(-1)
			p.server.touch()
		}
		if over {
			why := ""
			if !errors.Is(err, errOver) {
				why = "the client ended the stream"
			}
			p.finish(ctx, why)
			return err
		}
	}
}

// sayNext says a response, if it can be.
func (p *part) sayNext(ctx context.Context, ss grpc.ServerStream, r int32) error {
	st := &p.Steps[r]
	t := &p.topics[st.Topic]
	if p.breakOff(ctx, st); p.cut != nil {
		return p.cut
	}
	p.prepare(r)
	t.next++
	out, err := p.response(ctx, st)
	if err != nil {
		p.server.ledger.Note("entry %d is not said again: %v", st.Seq, err)
		return nil
	}
	out, times := p.falsify(ctx, r, out)
	if times == 0 {
		return nil
	}
	p.live.Step(session.Server, st.Seq, out)
	p.stays()
	p.events++
	p.saidAt[r] = p.events
	p.server.touch()
	p.quiet = time.Now()
	for range times {
		if err := ss.SendMsg(&out); err != nil {
			return err
		}
	}
	p.quiet = time.Now()
	p.server.touch()
	if st.Answered != replay.None {
		p.due = p.server.allow(time.Duration(p.Steps[st.Answered].At - st.At))
	}
	p.row.Sent++
	p.server.ledger.Sent()
	return nil
}

// response is the bytes of a response as it is said again.
func (p *part) response(ctx context.Context, st *replay.Step) ([]byte, error) {
	body, err := p.server.plan.Body(ctx, st.Seq)
	if err != nil {
		return nil, err
	}
	m := decode.Peek(p.Method, session.Server, "", body)
	if st.Masked {
		var notes []string
		if body, notes = p.server.keys.Renew(body, p.Delta()); len(notes) > 0 {
			for _, n := range notes {
				p.server.ledger.Note("entry %d: %s", st.Seq, n)
			}
		}
	}
	if p.server.o.Local && p.Topics[st.Topic].Type == "LDS" {
		var notes []string
		body, notes = p.server.book.Move(p.Client, p.reason(ctx, st), body, p.Delta())
		for _, n := range notes {
			p.server.ledger.Note("%s", n)
		}
	}
	nonce := ""
	if m.Nonce != "" { // a server that gives none is played as one
		nonce = fmt.Sprintf("replay-%d", st.Seq)
	}
	out, ok := edit.Set{edit.NonceOfResponse: nonce}.Apply(body)
	if !ok {
		return nil, fmt.Errorf("its bytes are no message")
	}
	return out, nil
}

// progress tells the other streams of the client how far this one has come.
func (p *part) progress() {
	for p.low < len(p.Steps) && p.happened(&p.Steps[p.low], int32(p.low)) {
		p.low++
	}
	switch {
	case p.ended || p.low == len(p.Steps):
		p.Reach(replay.AtEnd)
	default:
		p.Reach(p.Steps[p.low].Seq)
	}
}

// happened says whether a step has happened again, or will not.
func (p *part) happened(st *replay.Step, i int32) bool {
	t := &p.topics[st.Topic]
	switch {
	case st.Server:
		return p.saidAt[i] > 0 || t.next == len(p.Topics[st.Topic].Responses) || p.Topics[st.Topic].Responses[t.next] > i
	case st.Answers && p.saidAt[st.Echo] > 0 && p.Topics[st.Topic].Place(st.Echo) > t.answered:
		return false
	}
	for _, n := range st.Added {
		if _, is := t.live.Asked[n]; !is {
			return false
		}
	}
	return true
}

// complete says whether all was said, and all was heard that was recorded, and
// whether the client may still break a recorded silence.
func (p *part) complete() (heard, silence bool) {
	for i := range p.topics {
		t, topic := &p.topics[i], p.Topics[i]
		if t.next < len(topic.Responses) {
			return false, false
		}
		for n, r := range topic.Responses {
			if p.Steps[r].Expects() && t.judged[n] == judgedNot {
				if !p.Steps[r].Silent {
					return false, false
				}
				silence = true
			}
			silence = silence || n >= t.answered && p.unanswered(topic, n) > 0
		}
		if topic.Requests > 0 && !p.Partial && !t.live.Came(t.recorded) {
			return false, false
		}
	}
	return true, silence
}

// finish enters what did not come, and returns how the stream ends.
func (p *part) finish(ctx context.Context, why string) error {
	if p.cut != nil {
		return p.rest()
	}
	if !p.ended {
		p.ended = true
		p.compare(ctx, why)
		p.Reach(replay.AtEnd)
		p.server.touch()
		p.server.done()
		p.server.ledger.Say(fmt.Sprintf("%s is over: %d of %d as recorded", p.Stream, p.row.Matched, p.row.Expected))
		p.server.anew(p, why == "")
	}
	switch e := p.End; {
	case e == nil || !e.ByServer():
		return errOver
	case e.Code == 0:
		return nil
	case e.Code > 0:
		return status.Error(codes.Code(e.Code), e.Message)
	}
	return status.Error(codes.Unavailable, "the recorded stream broke off here")
}
