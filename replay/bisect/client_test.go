package bisect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/replaytest"
	"github.com/xdsproxy/xdsproxy/replay/standin"
	"github.com/xdsproxy/xdsproxy/session"
)

// tried is a bisection with clients, within a bubble.
func tried(t *testing.T, r *Rejection, o Options, clients ...*picky) (*Result, error) {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Wait == 0 {
		o.Wait = 6 * time.Second
	}
	l := replaytest.Listen()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, c := range clients {
		running.Go(func() {
			c.run(ctx, func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) })
		})
	}
	found, err := Find(ctx, l, r, o)
	synctest.Wait() // until clients have heard the end
	cancel()
	running.Wait()
	return found, err
}

// picky is a client that speaks over a connection and accepts what it likes.
type picky struct {
	node  string
	delta bool
	apart bool // has a stream for each of its asks
	late  time.Duration
	// asks are short types, and names: "CDS", "EDS:a,b". After these stands what
	// else there is to it: "at=2s" when it asks, "init=a,b" what it has already,
	// "V=1" the version that it has; "after=CDS" that it says it again when it has
	// accepted such a response, "by=/path" by which method.
	asks   []string
	refuse func(m *decode.Message, n int) string // why not; n counts the responses of the type
	leave  func(m *decode.Message, n int) bool   // whether to go away instead

	tell func(string) // of what it says and hears
	mu   *sync.Mutex
	seen []string // responses: "CDS a#1f2e,b#3d4c,-c"; to be read when it has ended
}

type dialer = func(context.Context, string) (net.Conn, error)

// run is a client until ctx is done.
func (c *picky) run(ctx context.Context, dial dialer) {
	c.mu = new(sync.Mutex)
	time.Sleep(c.late)
	for ctx.Err() == nil {
		c.once(ctx, dial)
		time.Sleep(370 * time.Millisecond)
	}
}

// once is one connection.
func (c *picky) once(ctx context.Context, dial dialer) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cc, err := grpc.NewClient("passthrough:///bench", grpc.WithContextDialer(dial), grpc.WithTransportCredentials(insecure.NewCredentials()),
		replay.Bytes(64<<20))
	if err != nil {
		return
	}
	defer cc.Close()
	each := [][]string{c.asks}
	if c.apart {
		each = slices.Collect(slices.Chunk(c.asks, 1))
	}
	var streams sync.WaitGroup
	for i, asks := range each {
		streams.Go(func() {
			defer cancel()
			time.Sleep(time.Duration(i) * 300 * time.Microsecond) // none at the time of another
			if err := c.converse(ctx, cc, asks); err != nil && ctx.Err() == nil {
				c.say("! %v", err)
			}
		})
	}
	streams.Wait()
}

func (c *picky) say(format string, args ...any) {
	if c.tell != nil {
		c.tell(fmt.Sprintf(format, args...))
	}
}

// ask is one of picky.asks.
type ask struct {
	url, by, after, version string
	names, has              []string
	at                      time.Duration
}

func askOf(text string) (a ask) {
	words := strings.Fields(text)
	typ, list, named := strings.Cut(words[0], ":")
	a.url = xds.TypeURL(typ)
	if named {
		a.names = strings.Split(list, ",")
	}
	for _, w := range words[1:] {
		switch key, value, _ := strings.Cut(w, "="); key {
		case "at":
			a.at, _ = time.ParseDuration(value)
		case "init":
			a.has = strings.Split(value, ",")
		case "V":
			a.version = value
		case "after":
			a.after = value
		case "by":
			a.by = value
		}
	}
	return a
}

// methodOf is the one by which a client asks.
func (c *picky) methodOf(a ask) xds.Method {
	variant := xds.VariantSotwADS
	switch {
	case a.by != "":
		return xds.LookupMethod(a.by)
	case c.delta && c.apart:
		variant = xds.VariantDelta
	case c.delta:
		variant = xds.VariantDeltaADS
	case c.apart:
		variant = xds.VariantSotw
	}
	all := xds.Methods()
	return all[slices.IndexFunc(all, func(m xds.Method) bool {
		return m.Variant == variant && !m.V2 && !m.Unary && (!c.apart || m.Type == xds.ShortType(a.url))
	})]
}

// speaker is a client on one stream.
type speaker struct {
	*picky
	method                  xds.Method
	stream                  grpc.ClientStream
	names                   map[string][]string
	accepted, nonces, words map[string]string
	count                   map[string]int
}

func (c *picky) converse(ctx context.Context, cc *grpc.ClientConn, asks []string) error {
	s := &speaker{
		picky: c, method: c.methodOf(askOf(asks[0])), names: map[string][]string{},
		accepted: map[string]string{}, nonces: map[string]string{}, words: map[string]string{}, count: map[string]int{},
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var err error
	s.stream, err = cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, s.method.Path, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	came := make(chan []byte)
	var ended error
	go func() {
		defer close(came)
		for {
			var b []byte
			if ended = s.stream.RecvMsg(&b); ended != nil {
				return
			}
			came <- b
		}
	}()
	defer func() {
		cancel()
		for range came {
		}
	}()
	begun := time.Now()
	var again []ask
	for _, text := range asks {
		a := askOf(text)
		if a.after != "" {
			again = append(again, a)
			continue
		}
		due := time.After(time.Until(begun.Add(a.at)))
		for waits := a.at > 0; waits; {
			select {
			case <-due:
				waits = false
			case b, more := <-came:
				if !more {
					return ended
				}
				if left, err := s.hear(b, again); left || err != nil && !errors.Is(err, io.EOF) {
					return err
				}
			}
		}
		if err := s.ask(a); errors.Is(err, io.EOF) {
			break // the end says why
		} else if err != nil {
			return err
		}
	}
	for b := range came {
		if left, err := s.hear(b, again); left || err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return ended
}

// ask asks for a type the first time, or for other names.
func (s *speaker) ask(a ask) error {
	time.Sleep(100 * time.Microsecond) // after what it said before was answered
	_, known := s.names[a.url]
	before := s.names[a.url]
	s.names[a.url] = a.names
	if a.version != "" {
		s.accepted[a.url] = a.version
	}
	if !s.delta {
		return s.request(a.url, s.nonces[a.url])
	}
	q := synth.DeltaRequest{TypeURL: a.url, Node: &decode.Node{ID: s.node}, Subscribe: a.names}
	if known {
		q.Subscribe = slices.DeleteFunc(slices.Clone(a.names), func(n string) bool { return slices.Contains(before, n) })
		q.Unsubscribe = slices.DeleteFunc(slices.Clone(before), func(n string) bool { return slices.Contains(a.names, n) })
	}
	for _, n := range a.has {
		q.Initial = append(q.Initial, decode.NameVersion{Name: n, Version: "1"})
	}
	s.say("> %s sub=%s unsub=%s init=%s", xds.ShortType(a.url), q.Subscribe, q.Unsubscribe, a.has)
	return s.send(q.Marshal())
}

// request answers, or asks in the state of the world.
func (s *speaker) request(url, nonce string) error {
	var e *decode.Error
	words := s.words[nonce]
	if words != "" {
		e = &decode.Error{Code: 13, Message: words}
	}
	if s.delta {
		s.say("> %s N=%s %s", xds.ShortType(url), nonce, words)
		q := synth.DeltaRequest{TypeURL: url, Nonce: nonce, Node: &decode.Node{ID: s.node}, Error: e}
		return s.send(q.Marshal())
	}
	s.say("> %s V=%s N=%s %s %s", xds.ShortType(url), s.accepted[url], nonce, s.names[url], words)
	q := synth.Request{TypeURL: url, Version: s.accepted[url], Nonce: nonce, Node: &decode.Node{ID: s.node}, Names: s.names[url], Error: e}
	return s.send(q.Marshal())
}

func (s *speaker) send(b []byte) error { return s.stream.SendMsg(&b) }

// hear takes a response, and answers it, or goes away.
func (s *speaker) hear(b []byte, again []ask) (left bool, err error) {
	m := decode.Peek(s.method, session.Server, "", b)
	s.count[m.TypeURL]++
	s.see(&m)
	time.Sleep(time.Millisecond) // so that of what crosses it is known which came first
	if s.leave != nil && s.leave(&m, s.count[m.TypeURL]) {
		s.say("goes away")
		return true, nil
	}
	words := s.refuse(&m, s.count[m.TypeURL])
	if words == "(silence)" {
		return false, nil
	}
	s.nonces[m.TypeURL], s.words[m.Nonce] = m.Nonce, words
	if words == "" {
		s.accepted[m.TypeURL] = m.Version
	}
	err = s.request(m.TypeURL, m.Nonce)
	for _, a := range again {
		if err == nil && words == "" && a.after == xds.ShortType(m.TypeURL) {
			err = s.ask(a)
		}
	}
	return false, err
}

func (c *picky) see(m *decode.Message) {
	var parts []string
	for i := range m.Resources {
		parts = append(parts, m.Resources[i].Name+"#"+contentOf(&m.Resources[i]))
	}
	for _, n := range m.Removed {
		parts = append(parts, "-"+n)
	}
	line := xds.ShortType(m.TypeURL) + " " + strings.Join(parts, ",")
	c.say("< %s %s", m.Nonce, line)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, line)
}

// contentOf tells contents of a script apart.
func contentOf(r *decode.Resource) string {
	if strings.Contains(string(r.Body), standin.MaskHead) {
		return "masked"
	}
	return fmt.Sprintf("%x", sumOf(r.Body))[:4]
}

func sumOf(b []byte) [16]byte { return inspect.New(nil).Inspect("x", b, false).Hash }
