// Package proxy moves bytes: it accepts connections of xDS clients, dials the
// management server for each, and pumps both ways until one end is done.
//
// On their way the bytes pass a tap (internal/wire), before they are written
// on, so that a cause always has a lower sequence number than its effect. The
// package's only outlet is Append; it reads no entry, decodes no message,
// changes no byte and injects none, unless a Pair has rules for rewriting
// headers (proxy/rewrite). A connection never waits for its log.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/wire"
	"github.com/xdsproxy/xdsproxy/proxy/rewrite"
	"github.com/xdsproxy/xdsproxy/session"
)

// Log takes what was seen. Append must not block.
type Log interface {
	Append(session.Entry) session.Seq
}

// Pair is one listener and the management server behind it.
type Pair struct {
	Listen, Upstream Addr
	ListenTLS        *ListenTLS   // nil: plaintext
	UpstreamTLS      *UpstreamTLS // nil: plaintext
	// OriginalDst says that Upstream is where a connection was going before a
	// rule of the firewall redirected it to Listen. Linux alone tells that.
	OriginalDst bool
	// Rewrite says what is changed in the headers of requests; nil: no byte
	// is.
	Rewrite *rewrite.Rules
}

// Config says what to proxy and how.
type Config struct {
	Pairs []Pair
	Log   Log
	// DialTimeout bounds how long a client waits for the upstream before it is
	// reset. 0: 5 s.
	DialTimeout time.Duration
	// Drain bounds how long a connection may go on once Serve is told to
	// stop. It ends earlier, as soon as neither direction is inside a
	// message. 0: at once.
	Drain time.Duration
	// TapMemory is the budget, in bytes, of all messages under assembly.
	// 0: 256 MiB.
	TapMemory int64
	// Buffers is where messages come to that Log has no more use for; nil: they
	// do not come back.
	Buffers *session.Buffers
	Limits  Limits
	Logger  *zap.Logger // nil: none
}

// Proxy is a set of listeners and the connections made through them.
type Proxy struct {
	cfg       Config
	secure    []security // of the pairs
	listeners []net.Listener
	memory    *wire.Memory
	pool      buffers
	rewrites  map[*rewrite.Rules]*rewrite.Source // what rules set now

	conns   atomic.Uint64 // the last session.ConnID given
	streams atomic.Uint64 // the last session.StreamID given

	held     atomic.Int64 // connections that were accepted and are not over
	followed atomic.Int64 // HTTP/2 streams that are open
	refused  atomic.Uint64
	bursts   bursts
	warnings chan warning

	mu       sync.Mutex
	open     map[*conn]struct{}
	dials    map[route]struct{} // the upstream legs
	stopping bool
	deadline time.Time // of the drain, once stopping
	wg       sync.WaitGroup
}

// ListenError says which address could not be listened on.
type ListenError struct {
	Addr Addr
	Err  error
}

func (e *ListenError) Error() string {
	return fmt.Sprintf("cannot listen on %s: %v", e.Addr, cause(e.Err))
}

func (e *ListenError) Unwrap() error { return e.Err }

// cause is what the operating system said, without the layers around it.
func cause(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// Listen binds the listeners of all pairs, or none of them. The error is a
// *ListenError, a *TLSFileError, or a *rewrite.Error of a pair's rules. Nothing
// is accepted before Serve.
func Listen(cfg Config) (*Proxy, error) {
	if cfg.DialTimeout == 0 {
		cfg.DialTimeout = 5 * time.Second
	}
	if cfg.Limits.KeepAlive == 0 {
		cfg.Limits.KeepAlive = silence
	}
	if cfg.TapMemory == 0 {
		cfg.TapMemory = session.MostRead
	}
	if cfg.Logger == nil {
		cfg.Logger = zap.NewNop()
	}
	p := &Proxy{cfg: cfg, memory: wire.NewMemory(cfg.TapMemory), open: make(map[*conn]struct{}), dials: make(map[route]struct{}), warnings: make(chan warning, maxWarnings)}
	if err := p.loadRewrites(); err != nil {
		return nil, err
	}
	for _, pair := range cfg.Pairs {
		if err := pair.check(); err != nil {
			return nil, &ListenError{pair.Listen, err}
		}
		sec, err := secure(pair, cfg.Logger)
		if err != nil {
			return nil, err
		}
		p.secure = append(p.secure, sec)
	}
	for _, pair := range cfg.Pairs {
		l, err := pair.Listen.Listen()
		if err != nil {
			p.CloseListeners()
			return nil, &ListenError{pair.Listen, err}
		}
		p.listeners = append(p.listeners, l)
	}
	return p, nil
}

// Addrs are the bound addresses, in the order of the pairs.
func (p *Proxy) Addrs() []net.Addr {
	out := make([]net.Addr, len(p.listeners))
	for i, l := range p.listeners {
		out[i] = l.Addr()
	}
	return out
}

// NewStream is the next stream id of the session, for what is recorded beside the
// relay.
func (p *Proxy) NewStream() session.StreamID { return session.StreamID(p.streams.Add(1)) }

// Clients is how many client connections are open.
func (p *Proxy) Clients() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

// Serve accepts connections until ctx is done, then drains: it stops
// accepting, lets each connection reach a point between two messages, and
// returns when the last connection is closed.
func (p *Proxy) Serve(ctx context.Context) error {
	defer p.look()()
	for i, l := range p.listeners {
		p.wg.Go(func() { p.accept(ctx, l, p.cfg.Pairs[i], p.secure[i]) })
	}
	<-ctx.Done()
	p.CloseListeners()
	p.mu.Lock()
	p.stopping = true
	p.deadline = time.Now().Add(p.cfg.Drain)
	for c := range p.open {
		c.drain(p.deadline)
	}
	p.mu.Unlock()
	p.wg.Wait()
	return nil
}

// Close ends every connection at once. Serve returns soon after if its context
// is done too.
func (p *Proxy) Close() {
	p.CloseListeners()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopping = true
	p.deadline = time.Now()
	for c := range p.open {
		c.abort()
	}
}

// CloseListeners lets no more clients in; those that are in are served on.
func (p *Proxy) CloseListeners() {
	for _, l := range p.listeners {
		l.Close()
	}
}

func (p *Proxy) accept(ctx context.Context, l net.Listener, pair Pair, sec security) {
	for backoff := time.Duration(0); ; {
		var nc net.Conn
		err := p.room()
		if err == nil {
			nc, err = l.Accept()
		}
		switch {
		case err == nil:
			backoff = 0
			if p.admit(nc, l.Addr()) {
				p.wg.Go(func() { p.serve(ctx, nc, l.Addr(), pair, sec) })
			}
			continue
		case errors.Is(err, net.ErrClosed):
			return
		}
		// Out of file descriptors, most likely: connections that end make room.
		backoff = min(max(2*backoff, 5*time.Millisecond), time.Second)
		p.acceptFailed(l.Addr(), err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff):
		}
	}
}

// add registers a connection; from then on a drain reaches it.
func (p *Proxy) add(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[c] = struct{}{}
	if p.stopping {
		c.drain(p.deadline)
	}
}

func (p *Proxy) remove(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

// route is a connection as its dialler sees it.
type route struct{ from, to string }

// dialled notes an upstream leg until the function that it returns is called.
func (p *Proxy) dialled(up net.Conn) (forget func()) {
	r := route{up.LocalAddr().String(), up.RemoteAddr().String()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dials[r] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.dials, r)
	}
}

// dialledBy says whether what was accepted is the other end of one of our own
// upstream legs: then the upstream leads to one of our listeners. Unix sockets
// have no address to tell by. It is asked after dialling on, when that leg has
// long been noted.
func (p *Proxy) dialledBy(accepted net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ours := p.dials[route{accepted.RemoteAddr().String(), accepted.LocalAddr().String()}]
	return ours && accepted.LocalAddr().Network() == "tcp"
}
