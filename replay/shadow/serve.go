package shadow

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/recent"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/standin"
	"github.com/xdsproxy/xdsproxy/session"
)

// ServeOptions are those of Serve.
type ServeOptions struct {
	// Client is the recorded one that is answered, whatever the live one is
	// called; "": the one of the same node id, or the only one.
	Client string
	// Idle is how long the verdict of the recorded client is waited for.
	Idle  time.Duration
	Event func(Event)
	// Leaving is that of replay.Options.
	Leaving func()
}

// Serve gives the clients that connect to l, which it closes, what the server of
// src says, as it says it, until src ends or ctx is done. It begins with what
// the recorded client has by then, one response a type as it is asked for; after
// that come the recorded responses, each with a fresh nonce, to whoever asks for
// their type. What a client answers is compared with what the recorded one has
// answered.
func Serve(ctx context.Context, l net.Listener, src replay.Source, o ServeOptions) (*Summary, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &pushes{
		o: o, ctx: ctx, report: newReport(o.Event),
		k: engine.New(engine.Options{}), own: engine.New(engine.Options{Names: true}), renew: standin.New().Renew,
		streams: map[session.StreamID]*played{}, guests: map[session.StreamID]*guest{}, heard: make(chan said),
	}
	in := follow(ctx, src)
	g := grpc.NewServer(replay.ServerOptions(p.handle)...)
	var serving sync.WaitGroup
	var failed error
	serving.Go(func() { failed = g.Serve(l) })
	tick := time.NewTicker(beat)
	defer tick.Stop()
	err := p.loop(in, tick.C)
	if o.Leaving != nil {
		o.Leaving()
	}
	cancel()
	<-in.over
	g.Stop()
	serving.Wait()
	if failed != nil && !errors.Is(failed, grpc.ErrServerStopped) {
		err = errors.Join(err, fmt.Errorf("cannot serve: %w", failed))
	}
	return p.summary(), err
}

// pushes plays the server of one recording. It belongs to the goroutine of loop,
// but for what handle uses.
type pushes struct {
	report
	o     ServeOptions
	ctx   context.Context
	k     *engine.Engine // of the recording
	own   *engine.Engine // of what is said to guests, and by them
	seq   session.Seq
	renew func(response []byte, delta bool) ([]byte, []string)
	heard chan said
	live  bool

	streams  map[session.StreamID]*played
	guests   map[session.StreamID]*guest
	last     session.StreamID
	raws     recent.Map[rawKey, []byte] // resources as they were sent
	verdicts recent.Map[session.Seq, string]
	open     []verdictOn
	given    recent.Map[session.Seq, given]
}

const (
	// mostState is how many bytes of resources are kept, for clients that come
	// later.
	mostState = 256 << 20
	mostOpen  = 1 << 12
)

// played is a stream of the recording that is open.
type played struct {
	method xds.Method
	client string
}

// guest is a stream of a live client.
type guest struct {
	id     session.StreamID
	method xds.Method
	client string // the recorded one; "" until it is known
	named  bool   // client is known
	node   string
	out    chan []byte
	nonces int
	gone   bool
}

// said is what a guest says: its first message, another, or nothing more.
type said struct {
	guest *guest
	data  []byte
	end   bool
}

// given is a response that a guest was given.
type given struct {
	seq   session.Seq // of the recording; 0: what there was so far
	typ   string
	names []string
}

// verdictOn is what a guest says of a recorded response that its client has not
// answered yet.
type verdictOn struct {
	given
	guest *guest
	word  string
	why   string
	at    time.Time
}

func (p *pushes) loop(in *reading, tick <-chan time.Time) error {
	began, last := time.Now(), time.Now()
	for {
		select {
		case e := <-in.entries:
			last = time.Now()
			p.entry(&e)
			if !p.live && e.Time.After(began) {
				p.begin()
			}
			in.next()
		case err := <-in.ended:
			return err
		case h := <-p.heard:
			p.hear(h)
		case now := <-tick:
			if !p.live && now.Sub(last) >= present {
				p.begin()
			}
			p.overdue(now)
		case <-p.ctx.Done():
			return nil
		}
	}
}

func (p *pushes) begin() {
	p.live = true
	p.event(Began, "clients that connect get what %d recorded streams have by now, and every response from here on", len(p.streams))
	for _, g := range p.guests {
		p.welcome(g)
	}
}

// handle carries what is said on one stream of a guest.
func (p *pushes) handle(_ any, ss grpc.ServerStream) error {
	path, _ := grpc.MethodFromServerStream(ss)
	method := xds.LookupMethod(path)
	if !method.Variant.Discovery() {
		return status.Errorf(codes.Unimplemented, "a replay does not play %s", path)
	}
	ctx, cancel := context.WithCancel(ss.Context())
	defer cancel()
	g := &guest{method: method, out: make(chan []byte, maxQueue)}
	tell := func(h said) bool {
		select {
		case p.heard <- h:
			return true
		case <-p.ctx.Done():
			return false
		}
	}
	go func() { // ends with the stream, for which handle answers
		for {
			var b []byte
			if ss.RecvMsg(&b) != nil {
				tell(said{guest: g, end: true})
				cancel()
				return
			}
			if !tell(said{guest: g, data: b}) {
				return
			}
		}
	}()
	for {
		select {
		case b, more := <-g.out:
			if !more {
				return status.Error(codes.ResourceExhausted, "the client reads too slowly")
			}
			if err := ss.SendMsg(&b); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		case <-p.ctx.Done():
			return status.Error(codes.Unavailable, "the replay is over")
		}
	}
}

// step enters something into the account of the guests.
func (p *pushes) step(g *guest, e session.Entry) engine.Change {
	p.seq++
	e.Seq, e.Time, e.Conn, e.Stream = p.seq, time.Now(), session.ConnID(g.id), g.id
	return p.own.Step(&e)
}

func (p *pushes) hear(h said) {
	g := h.guest
	if g.gone {
		return
	}
	if g.id == 0 {
		if h.end {
			return
		}
		p.last++
		g.id = p.last
		p.guests[g.id] = g
		p.step(g, session.Entry{Kind: session.KindOpen, Side: session.Client, Method: g.method.Path})
		p.sum.Streams++
	}
	if h.end {
		p.leave(g)
		return
	}
	c := p.step(g, session.Entry{Kind: session.KindMessage, Side: session.Client, Message: &session.Message{
		Data: session.Chunks{h.data}, Size: int64(len(h.data)), WireSize: int64(len(h.data)),
	}})
	if c.Request == nil {
		return
	}
	g.node = c.Client
	if c.Answers != 0 {
		p.answered(g, &c)
	}
	if !g.named {
		p.welcome(g)
		return
	}
	// Who asks once more for what it has, as Envoy does for a cluster that has
	// changed, waits for an answer.
	if again := c.What == engine.REQ && !c.Stream.Delta(); again || c.Request.Ordinal == 0 || len(c.Added) > 0 {
		p.state(g, c.Sub, again || c.Request.Ordinal == 0, c.Added)
	}
}

func (p *pushes) leave(g *guest) {
	g.gone = true
	delete(p.guests, g.id)
	p.step(g, session.Entry{Kind: session.KindDisconnect, Side: session.Client})
}

// welcome finds who a guest is in the recording, and gives it what that has.
func (p *pushes) welcome(g *guest) {
	if !p.live || g.named {
		return
	}
	var ids []string
	for _, st := range p.streams {
		if st.method.Path == g.method.Path && !slices.Contains(ids, st.client) {
			ids = append(ids, st.client)
		}
	}
	client, known := replay.RoleOf(p.o.Client, g.node, ids)
	switch {
	case known:
		g.client = client
	case len(ids) == 0:
		p.once(Noted, "%q asks by %s, and no recorded client has such a stream open: it waits for one", bounded(g.node), g.method.Name)
		return
	default:
		p.once(Noted, "%q is none of the %d recorded clients: it waits; --client ID says which of them it is", bounded(g.node), len(ids))
		return
	}
	g.named = true
	p.meet(g.node)
	p.event(Noted, "%q is given what %q gets", bounded(g.node), bounded(g.client))
	of := p.own.Streams[g.id]
	if of == nil {
		return
	}
	for _, sub := range of.Order {
		p.state(g, sub, true, nil)
	}
}

// entry takes the next entry of the recording.
func (p *pushes) entry(e *session.Entry) {
	c := p.k.Step(e)
	if c.Ended {
		delete(p.streams, e.Stream)
	}
	if c.Stream == nil || !c.Stream.Discovery() || c.Sub == nil {
		return
	}
	st := p.streams[e.Stream]
	if st == nil {
		st = &played{method: c.Stream.Method}
		p.streams[e.Stream] = st
	}
	if fresh := st.client != c.Client || c.Request != nil && c.Request.Ordinal == 0; fresh {
		if st.client = c.Client; p.live {
			for _, g := range p.guests {
				p.welcome(g)
			}
		}
	}
	switch {
	case c.Request != nil && c.Answers != 0 && (c.What == engine.ACK || c.What == engine.NACK):
		p.verdicts.Put(c.Answers, c.What, 1, 1<<16)
		p.resolve(c.Answers, c.What)
	case c.Response != nil && c.Message != nil:
		data := e.Message.Data.Bytes()
		p.keep(c.Response, data)
		if p.live {
			p.push(st, &c, data, e)
		}
	}
}

// push gives guests a response of the recording.
func (p *pushes) push(st *played, c *engine.Change, data []byte, e *session.Entry) {
	for _, g := range p.guests {
		if !g.named || g.client != st.client || g.method.Path != st.method.Path {
			continue
		}
		of := p.own.Streams[g.id]
		if of == nil || of.Subs[c.Sub.Key] == nil {
			continue // it gets it when it asks for the type
		}
		if !e.Message.Whole() {
			p.once(Noted, "entry %d was not recorded as a whole: it is not given", e.Seq)
			continue
		}
		p.give(g, data, given{e.Seq, c.Type, c.Names()})
	}
}

// give sends a guest a response with a fresh nonce.
func (p *pushes) give(g *guest, data []byte, what given) {
	g.nonces++
	data, notes := p.renew(data, isDelta(g.method))
	for _, n := range notes {
		p.once(Noted, "%s", n)
	}
	data = withNonce(data, fmt.Sprintf("follow-%d", g.nonces))
	select {
	case g.out <- data:
	default:
		p.sum.Skipped++
		p.event(Behind, "%q reads too slowly: its stream is ended", bounded(g.node))
		close(g.out)
		p.leave(g)
		return
	}
	p.sum.Answers++
	p.step(g, session.Entry{Kind: session.KindMessage, Side: session.Server, Message: &session.Message{
		Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data)),
	}})
	p.given.Put(p.seq, what, 1, 1<<16)
}
