package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/fault"
	"github.com/xdsproxy/xdsproxy/replay/frames"
	"github.com/xdsproxy/xdsproxy/replay/ports"
	"github.com/xdsproxy/xdsproxy/replay/standin"
	"github.com/xdsproxy/xdsproxy/session"
)

// Serve plays the management server of a recording to the clients that connect
// to l, which it closes. It ends when all recorded streams were played, when
// nothing was said for as long as Options.Idle, or with ctx. For the first client
// it waits FirstClient times as long: that may have to start.
func Serve(ctx context.Context, l net.Listener, p *replay.Plan, o replay.Options) (*replay.Report, error) {
	s := &server{
		plan: p, o: o, ledger: replay.NewLedger(p.Notes, o.Say), keys: standin.New(),
		bound: map[string]string{}, over: make(chan struct{}), changed: make(chan struct{}, 1), strange: map[string]bool{},
	}
	groups := replay.Groups{}
	for _, st := range p.Streams {
		if o.Client != "" && st.Client != o.Client {
			continue
		}
		s.parts = append(s.parts, &part{Stream: st, row: st.Row(), server: s, Member: groups.Join(st)})
	}
	for _, of := range p.Pollings {
		if o.Client == "" || of.Client == o.Client {
			s.pollings = append(s.pollings, &polling{Polling: of, row: of.Row(), server: s, Member: groups.Join(of.Stream)})
		}
	}
	if o.Faults.Has(fault.GoAway, fault.Reset) && len(s.pollings) == 0 {
		l = frames.Listener{Listener: l}
	}
	s.open = len(s.parts) + len(s.pollings)
	s.touch()
	g := grpc.NewServer(replay.ServerOptions(s.handle)...)
	serve, leave := func() error { return g.Serve(l) }, func() { replay.Leave(g) }
	if len(s.pollings) > 0 {
		serve, leave = s.serveHTTP(g, l)
	}
	var serving sync.WaitGroup
	var failed error
	serving.Go(func() { failed = serve() })
	err := s.wait(ctx)
	if err == nil && o.Played != nil && s.met() {
		o.Played(ctx)
	}
	if o.Leaving != nil {
		o.Leaving()
	}
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.starts.Wait()
	close(s.over)
	leave()
	serving.Wait()
	if failed != nil && !errors.Is(failed, grpc.ErrServerStopped) {
		return nil, fmt.Errorf("cannot serve: %w", failed)
	}
	played := make([]replay.Played, 0, len(s.parts)+len(s.pollings))
	nobody := !s.met()
	for _, part := range s.parts {
		part.missed(nobody)
		played = append(played, part.row)
	}
	for _, p := range s.pollings {
		played = append(played, p.missed(nobody))
	}
	s.lenient.tell(s.ledger)
	return s.ledger.Report(played), err
}

// server is a management server that plays parts.
type server struct {
	plan   *replay.Plan
	o      replay.Options
	ledger *replay.Ledger
	keys   *standin.Maker
	book   ports.Book // where listeners are put
	parts  []*part

	pollings []*polling
	strange  map[string]bool // polls that the recording does not have; mu guards this

	said    atomic.Int64 // when something was said last, in nanoseconds since 1970
	due     atomic.Int64 // until when an answer may take as long as it took then
	waiting atomic.Int32 // parts that wait for a time or for leave to go on
	dropped atomic.Bool  // a response on purpose: what its client does without it shows later
	over    chan struct{}
	changed chan struct{} // something may be done
	starts  sync.WaitGroup
	closing bool // nobody is born any more; mu guards this

	mu    sync.Mutex
	bound map[string]string // live node ids by the recorded client that they play
	open  int               // parts that are not done

	lenient lenient // mu guards this, too
}

func (s *server) touch() { s.said.Store(time.Now().UnixNano()) }

// maxDue is how long at most an answer is waited for because it took long when
// it was recorded: a client may wait for something itself, until it gives up.
const maxDue = time.Minute

// allow gives a client the time for an answer that it took in the recording.
func (s *server) allow(answer time.Duration) time.Time {
	return s.extend(time.Now().Add(min(answer, maxDue)))
}

// extend keeps the replay from ending before a time.
func (s *server) extend(at time.Time) time.Time {
	for old := s.due.Load(); at.UnixNano() > old && !s.due.CompareAndSwap(old, at.UnixNano()); old = s.due.Load() {
	}
	return at
}

// FirstClient is how many times Options.Idle the first client is waited for.
const FirstClient = 6

// met says whether a client of the recording has come.
func (s *server) met() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bound) > 0
}

// turnAway notes why a client is not played, for the case that none is.
func (s *server) turnAway(format string, args ...any) {
	s.ledger.TurnedAway(fmt.Sprintf(format, args...))
}

// wait returns when the play is over.
func (s *server) wait(ctx context.Context) error {
	for {
		s.mu.Lock()
		open := s.open
		s.mu.Unlock()
		if open == 0 && !s.dropped.Load() {
			return nil
		}
		quiet := time.Since(time.Unix(0, max(s.said.Load(), s.due.Load())))
		if s.waiting.Load() > 0 {
			s.touch()
			quiet = 0
		}
		idle := max(s.o.Idle, s.o.Linger)
		if !s.met() {
			idle = FirstClient * s.o.Idle
		}
		if quiet >= idle {
			s.ledger.Say(fmt.Sprintf("nothing was said for %s: the replay ends", idle))
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.changed:
		case <-time.After(idle - quiet):
		}
	}
}

// done says that a part has nothing more to do.
func (s *server) done() {
	s.mu.Lock()
	s.open--
	s.mu.Unlock()
	s.stir()
}

// stir makes wait look again.
func (s *server) stir() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// handle plays one live stream.
func (s *server) handle(_ any, ss grpc.ServerStream) error {
	path, _ := grpc.MethodFromServerStream(ss)
	method := xds.LookupMethod(path)
	if !method.Variant.Discovery() {
		s.ledger.Note("a client called %s, which is not played", replay.Bounded(path))
		return status.Errorf(codes.Unimplemented, "a replay does not play %s", path)
	}
	ctx, cancel := context.WithCancel(ss.Context())
	defer cancel()
	heard := replay.Listen(ctx, ss)
	var first []byte
	select {
	case <-s.over:
		return errOver
	case b, more := <-heard:
		if !more {
			return nil
		}
		first = b
	}
	s.ledger.Received()
	m := decode.Peek(method, session.Client, "", first)
	p, answer := s.match(method, &m)
	if p == nil {
		if answer != nil {
			return answer
		}
		for {
			select {
			case <-s.over:
				return errOver
			case _, more := <-heard:
				if !more {
					return nil
				}
				s.ledger.Received()
			}
		}
	}
	return p.play(ctx, ss, first, heard)
}

var errOver = status.Error(codes.Unavailable, "the replay is over")

// match gives a live stream the part of a recorded one, by its first request.
// Without a part it says how to answer, or nil: then the stream is left open and
// unanswered.
func (s *server) match(method xds.Method, m *decode.Message) (*part, error) {
	id := ""
	if m.Node != nil {
		id = m.Node.ID
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	client, refused := s.whom(id)
	if refused != "" {
		return nil, status.Error(codes.Unavailable, refused)
	}
	var best *part
	score, taken, any := -1, 0, false
	for _, p := range s.parts {
		if p.Client != client || p.Method.Name != method.Name || p.Method.Service != method.Service {
			continue
		}
		any = true
		if p.taken && !p.resting {
			taken++
			continue
		}
		if n := p.likeness(m); n > score {
			best, score = p, n
		}
	}
	typ := xds.ShortType(m.TypeURL)
	if typ == "" {
		typ = method.Type
	}
	switch {
	case !any:
		s.turnAway("%s opened a stream of %s, and in the recording %s has only %s", replay.ClientName(replay.Bounded(id)), method.Name, replay.ClientName(client), s.methods(client))
		s.ledger.Differ(replay.Difference{
			Expected: "no stream of " + method.Name, Got: "a request for " + typ, Client: replay.Bounded(id), Type: replay.Bounded(typ),
			Detail: fmt.Sprintf("%s opened a stream that the recording does not have; it is left unanswered", replay.ClientName(replay.Bounded(id))),
		})
		return nil, nil
	case best == nil:
		s.ledger.Note("%s opened another stream of %s, when all %d of the recording were played", replay.ClientName(replay.Bounded(id)), method.Name, taken)
		return nil, errOver
	case score < 2 && !best.Method.Variant.ADS() && !best.Partial:
		s.turnAway("%s asked for %s %s, which %s did not ask for in the recording", replay.ClientName(replay.Bounded(id)), replay.Bounded(typ), replay.Few(replay.BoundedNames(requested(m))), replay.ClientName(client))
		s.ledger.Differ(replay.Difference{
			Expected: fmt.Sprintf("a request for what the recording has of %s", typ), Got: "a request for " + replay.Few(replay.BoundedNames(requested(m))),
			Client: replay.Bounded(id), Type: replay.Bounded(typ), Names: replay.BoundedNames(requested(m)),
			Detail: "the recording never answered it, so it is left unanswered",
		})
		return nil, nil
	}
	if err := s.refuse(best); err != nil {
		return nil, err
	}
	best.taken, best.resting = true, false
	s.bound[client] = id
	s.touch()
	s.stir() // from now on it ends sooner
	best.row.Begun = true
	if id != client {
		best.row.By = replay.Bounded(id)
		s.ledger.Note("client %s plays %s of the recording", replay.ClientName(replay.Bounded(id)), replay.ClientName(client))
	}
	return best, nil
}

// whom is the recorded client that a live one plays, or why it plays none. s.mu is
// held.
func (s *server) whom(id string) (client, refused string) {
	client, known := replay.RoleOf(s.o.Client, id, s.plan.Clients)
	if !known {
		s.turnAway("the recording has no client %s, but %s", replay.ClientName(replay.Bounded(id)), replay.Few(replay.BoundedNames(s.plan.Clients)))
		s.ledger.Note("a client %s came, but the recording has %d others: name the one that it is to play", replay.ClientName(replay.Bounded(id)), len(s.plan.Clients))
		return "", "the recording has no such client"
	}
	if by, taken := s.bound[client]; taken && by != id {
		s.ledger.Note("a client %s came, while %s plays %s of the recording", replay.ClientName(replay.Bounded(id)), replay.ClientName(by), replay.ClientName(client))
		return "", "another client plays this one"
	}
	return client, ""
}

// methods are those by which a recorded client asks.
func (s *server) methods(client string) string {
	var names []string
	for _, p := range s.parts {
		if p.Client == client && !slices.Contains(names, p.Method.Name) {
			names = append(names, p.Method.Name)
		}
	}
	return strings.Join(names, ", ")
}

// likeness says how well a first request fits to a recorded stream: 2 if that
// asked for some of the same, 1 if for others of the type.
func (p *part) likeness(m *decode.Message) int {
	at := p.TopicOf(p.TypeKey(m.TypeURL))
	if at == replay.None {
		return 0
	}
	asked := p.InterestIn(at).Asked
	names := requested(m)
	if len(names) == 0 {
		if _, all := asked[replay.Everything]; all || len(asked) == 0 {
			return 2
		}
		return 1
	}
	for _, n := range names {
		if _, is := asked[n]; is {
			return 2
		}
	}
	return 1
}

// requested are the names that a first request asks for.
func requested(m *decode.Message) []string { return slices.Concat(m.Names, m.Subscribe) }
