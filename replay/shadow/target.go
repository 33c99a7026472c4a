package shadow

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

type waitGroup = sync.WaitGroup

const (
	// maxOpening is how many streams wait for their first answer at one time: a
	// slow target is asked by no more. The others wait in line.
	maxOpening = 64
	// mostResponse is the largest message that is taken.
	mostResponse = 256 << 20
	maxBackoff   = 5 * time.Second
)

// target is a control plane that is asked, and the account of what it says.
type target struct {
	Target
	index   int
	engine  *engine.Engine
	seq     session.Seq
	opened  session.StreamID
	links   map[session.ConnID]*grpc.ClientConn
	line    []*leg // that wait for their turn, or to be opened again
	opening []*leg // that wait for their first answer
	failing int    // legs that failed last

	troubles map[string]bool // that were told since it was well
	since    time.Time       // when the first was
	answered time.Time       // when it said something last
	behind   time.Duration   // how late it was when that was told last; 0: it is not
	hangs    bool            // that it does was told
	frozen   bool            // it gives no sign of life, and that was told
	asked    time.Time       // for a sign of life that has not come; zero: it is not
	alive    time.Time       // when it was asked for the last that came
	woke     time.Time       // when one came late
	unheard  int             // streams whose clients left before it had said what the live server had, since it said something last
	owing    time.Time       // since the first of these
	refused  atomic.Pointer[error]
}

func newTarget(t Target, index int) *target {
	return &target{
		Target: t, index: index, engine: engine.New(engine.Options{}), links: map[session.ConnID]*grpc.ClientConn{}, troubles: map[string]bool{},
	}
}

// link is the connection that stands for one of the recording.
func (t *target) link(id session.ConnID) (*grpc.ClientConn, error) {
	if cc := t.links[id]; cc != nil {
		return cc, nil
	}
	cc, err := grpc.NewClient("passthrough:///xds", grpc.WithAuthority(t.Authority),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return t.dial(ctx) }),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: time.Second / 5, Multiplier: 1.6, Jitter: 0.2, MaxDelay: maxBackoff / 2},
			MinConnectTimeout: maxBackoff,
		}),
		replay.Bytes(mostResponse), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
	)
	if err == nil {
		t.links[id] = cc
	}
	return cc, err
}

// dial notes why it cannot.
func (t *target) dial(ctx context.Context) (net.Conn, error) {
	c, err := t.Dial(ctx)
	if t.refused.Store(nil); err != nil {
		if call, is := errors.AsType[*os.SyscallError](err); is {
			err = call.Err
		}
		t.refused.Store(&err)
	}
	return c, err
}

// hangUp closes the connection that stands for one that is over.
func (t *target) hangUp(id session.ConnID) {
	if cc := t.links[id]; cc != nil {
		_ = cc.Close() // nothing is left on it
		delete(t.links, id)
		t.step(&session.Entry{Kind: session.KindDisconnect, Conn: id, Side: session.Client})
	}
}

func (t *target) close() {
	for id := range t.links {
		t.hangUp(id)
	}
}

// step enters something into the account.
func (t *target) step(e *session.Entry) engine.Change {
	t.seq++
	e.Seq, e.Time = t.seq, time.Now()
	return t.engine.Step(e)
}

// admit opens streams whose turn has come.
func (s *shadow) admit(now time.Time) {
	for _, t := range s.targets {
		t.opening = slices.DeleteFunc(t.opening, func(l *leg) bool {
			return l.state != open || l.heard || now.Sub(l.begun) > s.o.Idle
		})
		var rest []*leg
		for _, l := range t.line {
			switch {
			case l.state != waiting: // its client has left
			case len(t.opening) >= maxOpening || now.Before(l.again) || !s.wants(l.of):
				rest = append(rest, l)
			default:
				t.opening = append(t.opening, l)
				s.open(l)
			}
		}
		t.line = rest
	}
}

// wants says whether the client of a stream asks for anything that is known.
func (s *shadow) wants(st *stream) bool {
	of := s.k.Streams[st.id]
	if of == nil {
		return false
	}
	for _, sub := range of.Order {
		if !sub.Lost && sub.Active() {
			return true
		}
	}
	return false
}

// well notes that a target has answered.
func (s *shadow) well(l *leg, now time.Time) {
	t := l.at
	t.answered, t.hangs, t.frozen = now, false, false
	if l.failed {
		l.failed = false
		t.failing--
	}
	t.unheard, t.owing, l.tries = 0, time.Time{}, 0
	s.back(t, now)
}

// back says that a target of which trouble was told is well again.
func (s *shadow) back(t *target, now time.Time) {
	if t.failing > 0 || len(t.troubles) == 0 {
		return
	}
	s.event(Back, "%s answers again after %s", t.Name, now.Sub(t.since).Round(time.Second/10))
	clear(t.troubles)
	if t.index == 0 {
		clear(s.pending) // its clients have left
	}
}

// trouble says what is wrong with a target, once until it is well.
func (s *shadow) trouble(t *target, key, text string) {
	if t.troubles[key] || len(t.troubles) >= 20 {
		return
	}
	if len(t.troubles) == 0 {
		t.since = time.Now()
	}
	t.troubles[key] = true
	s.event(Trouble, "%s: %s; the shadow goes on trying", t.Name, text)
}

// slow says how far a target is behind: for how long the oldest of what it was
// asked, and the live server has answered, has had no answer.
func (s *shadow) slow(t *target, now time.Time) {
	var oldest time.Time
	n := 0
	for _, st := range s.streams {
		l := st.legs[t.index]
		if l == nil || l.state == left || l.failed {
			continue
		}
		since := l.owes(s)
		if since.IsZero() {
			continue
		}
		if n++; oldest.IsZero() || since.Before(oldest) {
			oldest = since
		}
	}
	behind := now.Sub(oldest)
	const several = 3
	if t.unheard >= several && n == 0 {
		behind = now.Sub(t.owing)
	}
	switch {
	case behind > s.o.Idle && now.Sub(t.answered) > s.o.Idle && !t.hangs && (n > 0 || t.unheard >= several):
		t.hangs, t.behind = true, behind
		s.trouble(t, "hangs", "it hangs: it has answered nothing for "+behind.Round(time.Second/10).String())
	case n == 0:
		if t.behind > 0 {
			s.event(CaughtUp, "%s has caught up", t.Name)
		}
		t.behind = 0
	case behind >= max(time.Second, 2*t.behind):
		t.behind = behind
		s.event(Behind, "%s is %s behind: %d streams have no answer yet that the live server gave", t.Name, behind.Round(time.Second/10), n)
	}
}
