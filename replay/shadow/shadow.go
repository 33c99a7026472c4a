package shadow

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/internal/clip"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/recent"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

// Target is a control plane that is asked.
type Target struct {
	Name      string // as it is told of
	Authority string // "": xds
	Dial      func(ctx context.Context) (net.Conn, error)
	// Why is what stands between has seen last of a connection that failed, ""
	// if nothing; nil: nothing stands between.
	Why func() string
}

// Options are those of a shadow.
type Options struct {
	Target Target
	// Noise is a second instance of what the live clients ask; nil: none.
	Noise *Target
	// Client is the one that is followed; "": all.
	Client string
	// Idle is after which time a target that has not answered hangs, and up to
	// which a difference that heals counts for none.
	Idle time.Duration
	// Present is the last entry that is there when the shadow begins, 0 if that is
	// not known.
	Present session.Seq
	// Event is called for everything that is to be told, and must not block for
	// long.
	Event func(Event)
	// Types are message types beside the linked ones; may be nil.
	Types *descriptors.Types
}

// Run follows src until it ends or ctx is done.
func Run(ctx context.Context, src replay.Source, o Options) (*Summary, error) {
	until, stop := context.WithCancel(ctx)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // of what is asked, which goes on for a moment
	s := &shadow{
		o: o, ctx: ctx, k: engine.New(engine.Options{}), streams: map[session.StreamID]*stream{}, heard: make(chan heard), signs: make(chan sign), pending: pending{},
		report: newReport(o.Event), told: map[tellKey]*Difference{}, masker: mask.New(),
	}
	s.targets = append(s.targets, newTarget(o.Target, 0))
	if o.Noise != nil {
		s.targets = append(s.targets, newTarget(*o.Noise, 1))
	}
	in := follow(until, src)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	err := s.loop(in, tick.C)
	s.conclude(time.Now())
	stop()
	cancel()
	<-in.over
	for _, t := range s.targets {
		t.close()
	}
	s.legs.Wait()
	return s.summary(), err
}

const (
	beat = 50 * time.Millisecond
	// present is how long a reader that has nothing more to give has come to the
	// present.
	present = 300 * time.Millisecond
	// lastWords is how long a target may still say something that decides what is
	// pending, when there is nothing more to read.
	lastWords = 3 * patience
	// late is from when on it is told that the reading is late.
	late = 2 * time.Second
)

func (s *shadow) loop(in *reading, tick <-chan time.Time) error {
	began, last := time.Now(), time.Now()
	var (
		ended   error
		over    <-chan time.Time // for what is not decided when there is nothing more to read; nil: there is
		stopped = in.stop
	)
	for {
		select {
		case e := <-in.entries:
			last = time.Now()
			s.entry(&e)
			if !s.live && (e.Time.After(began) || e.Seq >= s.o.Present && s.o.Present > 0) {
				s.begin()
			}
			s.lag(&e, last)
			in.next()
		case err := <-in.ended:
			if ended, stopped = err, nil; err != nil {
				return err
			}
			over = time.After(lastWords)
		case h := <-s.heard:
			s.hear(h)
		case g := <-s.signs:
			s.signed(g, time.Now())
		case now := <-tick:
			if !s.live && now.Sub(last) >= present {
				s.begin()
			}
			s.beat(now)
			if over != nil && !s.undecided() {
				return ended
			}
		case <-stopped:
			stopped, over = nil, time.After(lastWords)
		case <-over:
			return ended
		}
	}
}

// shadow follows one recording. It belongs to the goroutine of loop.
type shadow struct {
	report
	o       Options
	ctx     context.Context
	k       *engine.Engine // of the recording
	streams map[session.StreamID]*stream
	targets []*target
	heard   chan heard
	signs   chan sign
	pending pending
	final   bool // what is decided now is not looked at again
	legs    waitGroup
	live    bool // the present was reached
	bodies  bodies
	masker  *mask.Masker
	nodes   int            // bytes
	lagging bool           // it was told that the reading is late
	ahead   *time.Duration // of the clock of the recording, at least; nil: not known
	looked  time.Time      // when it was looked at how slow targets are

	told    map[tellKey]*Difference
	weighed recent.Map[tellKey, struct{}] // what was found to be no difference
	unlikes int
}

// stream is one of the recording that is open.
type stream struct {
	id     session.StreamID
	conn   session.ConnID
	method xds.Method
	md     metadata.MD
	masked []string
	node   []byte
	client string
	legs   []*leg // by target; nil: none yet
	left   bool   // it is not followed
}

func (st *stream) String() string {
	return fmt.Sprintf("stream %d of %q (%s)", st.id, bounded(st.client), st.method.Variant)
}

// entry takes the next entry of the recording.
func (s *shadow) entry(e *session.Entry) {
	c := s.k.Step(e)
	switch e.Kind {
	case session.KindOpen:
		if c.Stream != nil && c.Stream.Discovery() && s.streams[e.Stream] == nil {
			st := &stream{id: e.Stream, conn: e.Conn, method: c.Stream.Method, legs: make([]*leg, len(s.targets))}
			st.md, st.masked = metadataOf(e.Headers)
			s.streams[e.Stream] = st
		}
	case session.KindMessage:
		if st := s.streams[e.Stream]; st != nil && c.Sub != nil {
			s.message(st, e, &c)
		}
	case session.KindDisconnect:
		for id, st := range s.streams {
			if st.conn == e.Conn {
				s.over(id)
			}
		}
		for _, t := range s.targets {
			t.hangUp(e.Conn)
		}
	default:
		if c.Ended {
			s.over(e.Stream)
		}
	}
}

// over lets go of a stream that has ended.
func (s *shadow) over(id session.StreamID) {
	st := s.streams[id]
	if st == nil {
		return
	}
	delete(s.streams, id)
	s.nodes -= len(st.node)
	for _, l := range st.legs {
		if l == nil {
			continue
		}
		if l.state == waiting && l.opens == 0 && l.at.index == 0 {
			s.sum.Skipped++
			s.once(Behind, "%s is too slow to be asked for every stream: those whose clients leave before their turn are skipped", l.at.Name)
		}
		s.leave(l)
	}
}

// message takes a message of a stream that is open.
func (s *shadow) message(st *stream, e *session.Entry, c *engine.Change) {
	if c.Response != nil {
		s.bodies.see(c.Response)
		if l := st.legs[0]; l != nil {
			s.sum.Answers++
			s.answered(st, c.Sub)
		}
		return
	}
	if c.Request == nil {
		return
	}
	st.client = c.Client
	if m := c.Message; m.Node != nil && st.node == nil {
		if st.node = nodeOf(e.Message.Data.Bytes(), c.Stream.Delta()); s.nodes+len(st.node) > maxNodes || len(s.streams) > maxStreams {
			st.left, st.node = true, nil
			s.sum.Skipped++
			s.once(Noted, "more clients than a shadow can follow: some of their streams are left out")
		}
		s.nodes += len(st.node)
	}
	if l := c.Message.Locators; l.Names+l.Subscribe > 0 {
		s.once(Noted, "%q asks for %s with dynamic parameters: the shadow asks without them", bounded(c.Client), bounded(c.Type))
	}
	if s.live {
		met := st.legs[0] != nil
		s.follow(st)
		for _, l := range st.legs {
			if l != nil && l.state == open {
				if met { // else it was asked for everything
					s.ask(l, c.Sub, c)
				}
				s.answer(l, c.Sub, time.Now())
			}
		}
	}
}

// begin begins to ask, since the recording was read up to the present.
func (s *shadow) begin() {
	s.live = true
	late := 0
	for id, of := range s.k.Streams {
		if s.streams[id] == nil && of.Method.Path == "" {
			late++
		}
	}
	for _, st := range s.streams {
		if s.follow(st); st.node == nil && s.k.Streams[st.id] != nil && len(s.k.Streams[st.id].Order) > 0 {
			late++
		}
	}
	s.event(Began, "following %d open streams; the next ones are followed when they open", s.following())
	if late > 0 {
		s.event(Noted, "%d open streams began before the recording: their clients are followed from their next stream", late)
	}
}

// following is how many streams are asked.
func (s *shadow) following() (n int) {
	for _, st := range s.streams {
		if st.legs[0] != nil {
			n++
		}
	}
	return n
}

// follow makes a stream one that is asked, once it is known who asks. Of one that
// the recording has not from its beginning that may never be.
func (s *shadow) follow(st *stream) {
	if st.left || st.node == nil || st.legs[0] != nil || s.o.Client != "" && st.client != s.o.Client || s.k.Streams[st.id] == nil {
		return
	}
	s.sum.Streams++
	s.meet(st.client)
	for _, name := range st.masked {
		s.once(Noted, "the header %s was masked when it was recorded: --header-from-file %s=FILE gives the targets one", bounded(name), bounded(name))
	}
	for _, t := range s.targets {
		l := &leg{at: t, of: st, since: time.Now(), types: map[string]*asked{}}
		for _, sub := range s.k.Streams[st.id].Order {
			if sub.Responses > 0 {
				l.like(sub.Key).fresh = true // what there is already
			}
		}
		st.legs[t.index] = l
		t.line = append(t.line, l)
	}
	s.admit(time.Now())
}

// lag says when the reading is late, and when it is no more.
func (s *shadow) lag(e *session.Entry, now time.Time) {
	if !s.live || e.Time.IsZero() {
		return
	}
	if ahead := e.Time.Sub(now); s.ahead == nil || ahead > *s.ahead {
		s.ahead = &ahead // it may be that of another machine
	}
	switch behind := now.Sub(e.Time) + *s.ahead; {
	case behind > late && !s.lagging:
		s.lagging = true
		s.event(Behind, "the shadow reads %s behind the recording", behind.Round(time.Second/10))
	case behind < late/2 && s.lagging:
		s.lagging = false
		s.event(CaughtUp, "the shadow has caught up with the recording")
	}
}

// bounded cuts a very long text of a peer.
func bounded(s string) string { return clip.Text(s, 256) }
