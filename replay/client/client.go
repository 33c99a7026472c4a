package client

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

// Play plays the clients of a recording to the management server that dial
// leads to. It ends when every recorded request was sent, and every recorded
// response came or did not come within Options.Idle, or with ctx.
func Play(ctx context.Context, dial func(context.Context) (net.Conn, error), p *replay.Plan, o replay.Options) (*replay.Report, error) {
	c := &client{plan: p, o: o, ledger: replay.NewLedger(p.Notes, o.Say), dial: dial, conns: map[session.ConnID]*link{}, told: map[string]bool{}}
	var roles []*role
	groups := replay.Groups{}
	for _, st := range p.Streams {
		if o.Client != "" && st.Client != o.Client {
			continue
		}
		if st.Steps[0].Server {
			c.ledger.Note("%s: its first request was not recorded, so it cannot be played", st)
			continue
		}
		r := &role{Stream: st, row: st.Row(), client: c, over: make(chan struct{}), Member: groups.Join(st)}
		for _, before := range roles {
			if before.Client != st.Client || before.End == nil || before.End.Seq > st.Opened {
				continue
			}
			r.after = append(r.after, before)
		}
		c.link(st.Conn).users++
		roles = append(roles, r)
	}
	pollers, hangUp := c.pollers(groups)
	defer hangUp()
	var play sync.WaitGroup
	for _, r := range roles {
		play.Go(func() { r.play(ctx) })
	}
	for _, p := range pollers {
		play.Go(func() { p.play(ctx) })
	}
	play.Wait()
	reached := slices.ContainsFunc(pollers, func(p *poller) bool { return p.row.Begun })
	for _, r := range roles {
		reached = reached || r.topics != nil
	}
	if failed := c.failed.Load(); failed != nil && ctx.Err() == nil && !reached {
		for _, r := range roles {
			r.describe()
		}
		return c.ledger.Report(rowsOf(roles, pollers)), *failed
	}
	for _, r := range roles {
		r.compare()
	}
	for _, p := range pollers {
		p.compare()
	}
	return c.ledger.Report(rowsOf(roles, pollers)), ctx.Err()
}

func rowsOf(roles []*role, pollers []*poller) []replay.Played {
	out := make([]replay.Played, 0, len(roles)+len(pollers))
	for _, r := range roles {
		out = append(out, r.row)
	}
	for _, p := range pollers {
		out = append(out, p.row)
	}
	return out
}

// client plays the clients of a recording.
type client struct {
	plan   *replay.Plan
	o      replay.Options
	ledger *replay.Ledger
	dial   func(context.Context) (net.Conn, error)
	failed atomic.Pointer[error] // why the server could not be reached

	mu    sync.Mutex
	conns map[session.ConnID]*link
	told  map[string]bool // differences of contents, which each stream may find
}

// link is a connection, shared by the streams that shared one.
type link struct {
	users int
	cc    *grpc.ClientConn
}

func (c *client) link(id session.ConnID) *link {
	if c.conns[id] == nil {
		c.conns[id] = &link{}
	}
	return c.conns[id]
}

func (c *client) connect(id session.ConnID) (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.link(id)
	if l.cc != nil {
		return l.cc, nil
	}
	cc, err := grpc.NewClient("passthrough:///xds", grpc.WithAuthority(c.o.Authority),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return c.dial(ctx) }),
		replay.Bytes(replay.MostResponse),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
	)
	l.cc = cc
	return cc, err
}

func (c *client) release(id session.ConnID) {
	c.mu.Lock()
	l := c.link(id)
	l.users--
	last := l.users == 0 && l.cc != nil
	c.mu.Unlock()
	if last {
		_ = l.cc.Close() // nothing is left on it, and nobody else asks for it
	}
}

// once says whether a text is heard of for the first time.
func (c *client) once(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told[text] || len(c.told) > 1<<20 {
		return false
	}
	c.told[text] = true
	return true
}

// role is a recorded stream as a client plays it. It belongs to its goroutine
// until over is closed.
type role struct {
	*replay.Stream
	client *client
	*replay.Member
	after []*role // that have to be over before this one begins
	over  chan struct{}
	row   replay.Played

	late   map[int32]time.Time // answers that are held back on purpose
	silent bool                // and one that was never given

	topics []topicRole
	sent   []bool // by step
	first  int    // step that was not said yet, or did not come
	waived int32  // request that waits no more for what came before it; none: no such
	begun  time.Time
	quiet  time.Time
	cancel context.CancelFunc // of the live stream
	broken string             // why the stream ended before it was played
	code   int32              // with which the server ended it; -1 if it did not
}

// topicRole is how far one type has come.
type topicRole struct {
	contents *contents
	// place is the number of each response among those of the type, counted
	// from 1, by its step.
	place    map[int32]int
	expected int     // responses of the recording that contents expects
	brings   []item  // what the last of them brings
	arrived  int     // responses that came in the place of a recorded one
	lives    []lived // those
	extra    int     // others
	mute     bool    // see neverAsked
	overdue  bool    // it was waited for in vain, and nothing has come since
	former   string  // the newest live nonce of the stream before
	replied  int     // the newest of lives that a request has named, counted from 1
	accepted string  // the live version that the client holds
	held     map[string]string
	last     []byte // the last request of the type, as sent
	asked    bool
}

// lived is a response of the live server.
type lived struct{ nonce, version string }

func (r *role) begin() {
	r.topics = make([]topicRole, len(r.Topics))
	r.sent = make([]bool, len(r.Steps))
	r.code, r.waived = -1, replay.None
	for i, topic := range r.Topics {
		t := topicRole{contents: newContents(inspect.New(r.client.o.Types), topic.Whole && !r.Delta()), place: map[int32]int{}, held: map[string]string{}}
		for n, s := range topic.Responses {
			t.place[s] = n + 1
		}
		t.mute = r.neverAsked(int32(i))
		r.topics[i] = t
	}
	for _, before := range r.after {
		r.inherit(before)
	}
	r.begun, r.quiet = time.Now(), time.Now()
}

// inherit takes over what a client knows from an earlier stream.
func (r *role) inherit(before *role) {
	if before.topics == nil || before.Method.Name != r.Method.Name {
		return
	}
	for i := range r.topics {
		at := before.TopicOf(r.Topics[i].Key)
		if at == replay.None {
			continue
		}
		t, b := &r.topics[i], &before.topics[at]
		if b.accepted != "" {
			t.accepted = b.accepted
		}
		if len(b.lives) > 0 {
			t.former = b.lives[len(b.lives)-1].nonce
		}
		for n, v := range b.held {
			t.held[n] = v
		}
	}
}

// openingPatience is how long the stream waits for others to come as far as they
// had when it was opened. These end when they have waited for Options.Idle.
func (r *role) openingPatience() time.Duration {
	if r.Owed(r.Opened) {
		return max(replay.Grace, r.client.o.Idle/2)
	}
	return replay.Grace
}

// play says what was recorded, when its turn has come.
func (r *role) play(ctx context.Context) {
	defer close(r.over)
	defer r.client.release(r.Conn)
	defer r.Reach(replay.AtEnd)
	for _, before := range r.after {
		select {
		case <-before.over:
		case <-ctx.Done():
			return
		}
	}
	// Others may have to come as far as they had when it was opened.
	for {
		news, wait := r.Group.Moved(), r.openingPatience()-r.Group.Still(time.Now())
		if wait <= 0 || r.Behind(r.Opened) == 0 {
			r.Forgo(r.Opened)
			break
		}
		select {
		case <-news:
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
	cc, err := r.client.connect(r.Conn)
	if err != nil {
		r.broken = err.Error()
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.cancel = cancel
	r.storm(ctx, cc)
	stream, err := cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, r.Method.Path)
	if err != nil {
		r.broken = fmt.Sprintf("the stream could not be opened: %s", plainError(err))
		err = fmt.Errorf("%s", r.broken)
		r.client.failed.CompareAndSwap(nil, &err)
		return
	}
	r.begin()
	r.client.ledger.Say(fmt.Sprintf("%s begins", r.Stream))
	r.converse(ctx, stream)
	r.client.ledger.Say(fmt.Sprintf("%s is over", r.Stream))
	_ = stream.CloseSend()
}
