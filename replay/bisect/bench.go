package bisect

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/edit"
	"github.com/xdsproxy/xdsproxy/replay/standin"
	"github.com/xdsproxy/xdsproxy/session"
)

// bench is a management server that gives a live client what a recorded one
// held, and on whose word it gives it more of the type in question.
type bench struct {
	r      *Rejection
	ledger *replay.Ledger
	keys   *standin.Maker
	client string // see BisectOptions
	over   chan struct{}

	mu      sync.Mutex
	bound   string // the live client, once there is one
	taken   bool
	target  *line         // where the type in question is asked for; nil: nowhere
	news    chan struct{} // closed and replaced when target, or what is asked for there, changes
	nonces  int
	round   int             // responses of the type in question so far
	waiting *waiting        // for an answer; nil: for none
	lines   int             // that are live
	met     map[string]bool // types of which the client has answered a response
	heard   time.Time       // when the client said something last
	lacks   []string        // some of what it asked for and the recording does not have
	asks    map[string]*asked
	asked   []string // the keys of asks, in their order
}

func newBench(r *Rejection, o Options) *bench {
	return &bench{
		r: r, ledger: replay.NewLedger(r.Notes, o.Say), keys: standin.New(), client: o.Client,
		over: make(chan struct{}), news: make(chan struct{}), met: map[string]bool{}, asks: map[string]*asked{},
	}
}

// waiting is a response whose answer is awaited.
type waiting struct {
	nonce, version string
	answer         chan outcome // has room for one
}

// outcome is the answer to a response.
type outcome struct {
	verdict replay.Verdict
	words   string
	code    int32
	line    *line // on which it was heard; nil: it was not
}

// at is what the client of a line has of the type in question.
type at uint8

const (
	atNothing at = iota
	atBase       // what the recorded client had
	atUnknown
)

// line is one live stream. Its handler owns it, but for at and the topics, which
// the mutex of the bench guards.
type line struct {
	bench    *bench
	method   xds.Method
	node     []byte // of its first request, encoded
	out      chan []byte
	gone     chan struct{}
	live     replay.Conversation // of it the requests only
	topics   map[string]*lineTopic
	at       at
	supplied bool // the client has what it asked for; the trials'
}

type lineTopic struct {
	*engine.Subscription
	changes  int      // names that it began to ask for
	declared []string // what a delta client said that it has

	// What it was given last: the nonce, whether the client has answered it, and
	// in which round that was.
	served   string
	answered bool
	round    int
}

// asksAgain says whether a request asks once more for what its sender was given
// already, as Envoy does in the state of the world for the endpoints of clusters
// that have changed: it says again what it said last, though nothing came. It is
// answered once in a round, so that nobody goes in circles.
func (t *lineTopic) asksAgain(m *decode.Message, round int) bool {
	switch {
	case m.Nonce == "" || m.Nonce != t.served || m.Error != nil:
		return false
	case !t.answered:
		t.answered = true
		return false
	}
	return t.round != round
}

func (l *line) delta() bool { return l.method.Variant.Delta() }

// handle serves one live stream.
func (b *bench) handle(_ any, ss grpc.ServerStream) error {
	path, _ := grpc.MethodFromServerStream(ss)
	method := xds.LookupMethod(path)
	if !replay.Streamed(method) {
		b.ledger.Note("a client called %s, which is not answered", replay.Bounded(path))
		return status.Errorf(codes.Unimplemented, "a bisection does not answer %s", path)
	}
	ctx, cancel := context.WithCancel(ss.Context())
	defer cancel()
	heard := replay.Listen(ctx, ss)
	l := &line{
		bench: b, method: method, out: make(chan []byte), gone: make(chan struct{}),
		live: replay.NewConversation(method), topics: map[string]*lineTopic{},
	}
	b.mu.Lock()
	b.lines++
	b.mu.Unlock()
	defer b.lost(l)
	for {
		select {
		case <-b.over:
			return status.Error(codes.Unavailable, "the bisection is over")
		case out := <-l.out:
			if err := ss.SendMsg(&out); err != nil {
				return err
			}
			b.ledger.Sent()
		case data, more := <-heard:
			if !more {
				return nil
			}
			b.ledger.Received()
			answer, err := b.receive(l, data)
			if err != nil {
				return err
			}
			if answer == nil {
				continue
			}
			if err := ss.SendMsg(&answer); err != nil {
				return err
			}
			b.ledger.Sent()
		}
	}
}

// lost takes leave of a stream.
func (b *bench) lost(l *line) {
	close(l.gone)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.target == l {
		b.target = nil
	}
	if b.lines--; b.lines == 0 { // another one may come in its place
		clear(b.met)
	}
	b.stir()
}

// stir says that there is news. b.mu is held.
func (b *bench) stir() {
	close(b.news)
	b.news = make(chan struct{})
}

// admit says whether a live client is the one that it is about. b.mu is held.
func (b *bench) admit(m *decode.Message) error {
	id := ""
	if m.Node != nil {
		id = m.Node.ID
	}
	switch {
	case b.taken && b.bound == id:
		return nil
	case b.taken:
		b.ledger.Note("a client %s came, while %s is tried", replay.ClientName(replay.Bounded(id)), replay.ClientName(replay.Bounded(b.bound)))
		return status.Error(codes.Unavailable, "another client is tried")
	case id != b.r.Client && b.client == "" && len(b.r.clients) > 1:
		b.ledger.Note("a client %s came, but the one that rejected it was %s: name the one that is to be tried", replay.ClientName(replay.Bounded(id)), replay.ClientName(b.r.Client))
		return status.Error(codes.Unavailable, "another client is awaited")
	case b.client != "" && b.client != id:
		b.ledger.Note("a client %s came, while %s is awaited", replay.ClientName(replay.Bounded(id)), replay.ClientName(b.client))
		return status.Error(codes.Unavailable, "another client is awaited")
	}
	b.taken, b.bound = true, id
	b.ledger.Say(fmt.Sprintf("%s is there", replay.ClientName(replay.Bounded(id))))
	return nil
}

// receive takes a request, and returns what it is answered with at once.
func (b *bench) receive(l *line, data []byte) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := l.live.Step(session.Client, 0, data)
	m := c.Message
	if c.Request == nil {
		return nil, nil
	}
	if c.Stream.Requests == 1 {
		if err := b.admit(m); err != nil {
			return nil, err
		}
		l.node = edit.Field(data, nodeField(l.delta()))
	}
	key, first := c.Sub.Key, c.Request.Ordinal == 0
	if b.heard = time.Now(); m.Nonce != "" && b.r.has[key] != nil {
		b.met[key] = true
	}
	b.stir()
	t := l.topics[key]
	if t == nil {
		t = &lineTopic{Subscription: c.Sub}
		for _, v := range m.InitialVersions {
			t.declared = append(t.declared, v.Name)
		}
		l.topics[key] = t
		b.ask(l, key, m, t.all())
	}
	added, _ := replay.NamesChanged(&c)
	if key == b.r.key && b.aims(l, t) {
		if first && (m.Version != "" || len(t.declared) > 0) {
			l.at = atUnknown
		}
		if len(added) > 0 && l.at == atBase {
			l.at = atUnknown // it lacks what it asks for now
		}
		t.changes += len(added)
		b.target = l
		b.judge(l, m)
		return nil, nil
	}
	if m.Error != nil {
		b.ledger.Note("the client rejects what the recorded one accepted of %s: %s", replay.Bounded(c.Type), replay.Bounded(m.Error.Message))
	}
	again := t.asksAgain(m, b.round)
	return b.serve(l, t, key, m.TypeURL, added, first, again), nil
}

// aims says whether a stream asks for what the rejected response has. b.mu is
// held.
func (b *bench) aims(l *line, t *lineTopic) bool {
	if b.target == l || b.r.base.whole {
		return true
	}
	return t.all() || slices.ContainsFunc(b.r.content, func(p placed) bool { return t.wants(p.held) })
}

// all says whether the client asks for all there is.
func (t *lineTopic) all() bool { return t.Wild != engine.NotWild }

func (t *lineTopic) wants(h *held) bool {
	wanted := func(name string) bool { return t.Wants(decode.NormalName(name)) }
	return wanted(h.name) || slices.ContainsFunc(h.aliases, wanted)
}

// judge looks whether a request answers what is waited for. b.mu is held.
func (b *bench) judge(l *line, m *decode.Message) {
	w := b.waiting
	if w == nil || b.target != l || m.Nonce != w.nonce {
		return
	}
	o := outcome{verdict: replay.ACKed, line: l}
	switch {
	case m.Error != nil:
		o.verdict, o.words, o.code = replay.NACKed, m.Error.Message, m.Error.Code
	case m.Kind == decode.SotwRequest && m.Version != w.version:
		return // it repeats the nonce, as with a change of names
	}
	b.waiting = nil
	w.answer <- o
}

// serve answers a request for another type than the one in question with what
// the recorded client held, or got later. b.mu is held.
func (b *bench) serve(l *line, t *lineTopic, key, typeURL string, added []string, first, again bool) []byte {
	if !first && !again && len(added) == 0 {
		return nil
	}
	h := b.r.has[key]
	if h == nil {
		h = &holdings{}
	}
	typeURL = cmp.Or(typeURL, h.typeURL, l.method.TypeURL(), xds.TypeURL(key))
	fresh := map[string]bool{}
	for _, n := range added {
		fresh[n] = true
	}
	var items []*held
	found := again
	for _, it := range h.list() {
		switch {
		case again && t.wants(it):
		case fresh[replay.Everything], fresh[it.name]:
			found = true
		case l.delta() || !t.wants(it):
			continue
		}
		items = append(items, it)
	}
	asked := slices.Values(added)
	if again {
		asked = t.Names.All()
	}
	if lacking := lackingOf(items, asked); len(lacking) > 0 && xds.ShortType(typeURL) == "EDS" {
		b.ledger.Note("the recording does not have all endpoints that the client asks for: it gets none for the clusters without, so that it does not wait for them")
		for _, n := range lacking {
			items = append(items, noEndpoints(typeURL, n))
		}
		found = true
	} else if len(lacking) > 0 {
		b.lack(xds.ShortType(typeURL), lacking[0])
	}
	if !found && !(first && t.all() && h.whole) {
		return nil // what the recording never answered is left unanswered
	}
	b.nonces++
	version := fmt.Sprintf("bisect-%d", b.nonces)
	t.served, t.answered, t.round = version, false, b.round
	return b.renewed((&said{typeURL: typeURL, version: version, nonce: version, items: items}).bytes(l.delta()), l.delta(), items)
}

// lackingOf are the names that are not those of items.
func lackingOf(items []*held, names iter.Seq[string]) (out []string) {
	have := map[string]bool{replay.Everything: true}
	for _, it := range items {
		have[decode.NormalName(it.name)] = true
		for _, a := range it.aliases {
			have[decode.NormalName(a)] = true
		}
	}
	for n := range names {
		if !have[decode.NormalName(n)] {
			out = append(out, n)
		}
	}
	return out
}

// noEndpoints are those of a cluster that has none. A cluster waits for its
// endpoints, and an Envoy with it, and no such waiting tells of the cluster.
func noEndpoints(typeURL, name string) *held {
	body := edit.AppendString(nil, edit.NameOfEndpoints, name)
	raw := protowire.AppendTag(edit.AppendString(nil, edit.TypeOfAny, typeURL), edit.ValueOfAny, protowire.BytesType)
	return &held{name: name, typeURL: typeURL, body: body, raw: protowire.AppendBytes(raw, body)}
}

// lack remembers a name of which the recording has nothing. b.mu is held.
func (b *bench) lack(typ, name string) {
	const most = 3
	what := fmt.Sprintf("%s %q", typ, replay.Bounded(name))
	if len(b.lacks) < most && !slices.Contains(b.lacks, what) {
		b.lacks = append(b.lacks, what)
	}
}

// onceMore is what a delta client was given by name of other types, to be given
// again after a response of the type in question: it waits for the endpoints of
// clusters that have changed, and does not ask for them again.
func (b *bench) onceMore(l *line) (out [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !l.delta() {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(l.topics)) {
		if t := l.topics[key]; key != b.r.key && t.served != "" && !t.all() {
			if response := b.serve(l, t, key, "", nil, false, true); response != nil {
				out = append(out, response)
			}
		}
	}
	return out
}

// renewed is a response with fresh keys in the place of masked ones.
func (b *bench) renewed(out []byte, delta bool, items []*held) []byte {
	for _, it := range items {
		if it.masked {
			out, notes := b.keys.Renew(out, delta)
			for _, n := range notes {
				b.ledger.Note("%s", n)
			}
			return out
		}
	}
	return out
}

func nodeField(delta bool) protowire.Number {
	if delta {
		return 1
	}
	return 2
}
