package playback

import (
	"context"
	"net"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Live is how the live side is spoken with, and how what passes is kept.
type Live struct {
	Security    proxy.Pair // how TLS is spoken with it; its addresses are not set
	DialTimeout time.Duration
	Logger      *zap.Logger
	// KeyLogs opens the key logs of Security.
	KeyLogs func() (done func(), err error)
	// Announce says what of Security a person must know.
	Announce func()
	// Record begins a recording that is kept.
	Record func(path string) (Recording, error)
}

// Recording is a recording that is being written.
type Recording interface {
	proxy.Log
	Close() error
	// Announce says what is in it, once it is closed, and makes it the newest.
	Announce()
	// Discard removes it.
	Discard()
}

// relay starts a proxy that speaks with the live side as it is to be spoken with.
// done ends it. Where there is an error, done does nothing.
func (l *Live) relay(at, upstream proxy.Addr, log proxy.Log, logger *zap.Logger) (p *proxy.Proxy, done func(), err error) {
	pair := l.Security
	pair.Listen, pair.Upstream = at, upstream
	p, err = proxy.Listen(proxy.Config{Pairs: []proxy.Pair{pair}, Log: log, Logger: logger, DialTimeout: l.DialTimeout, Drain: time.Second})
	if err != nil {
		return nil, func() {}, err
	}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = p.Serve(ctx) }) // it fails only where Listen did
	return p, func() { stop(); serving.Wait() }, nil
}

type dialing = func(context.Context) (net.Conn, error)

func (l *Live) dialer(to proxy.Addr) dialing {
	return func(ctx context.Context) (net.Conn, error) {
		d := net.Dialer{Timeout: l.DialTimeout}
		return d.DialContext(ctx, to.Network, to.Address)
	}
}

// passing is a recording for the time of a replay, whatever the settings of others
// say. It goes with its directory.
type passing struct{ *recorder.Log }

func (passing) Announce()  {}
func (p passing) Discard() { _ = p.Close() }

func (r *Replay) unkept(path string) (Recording, error) {
	o := store.Copy(true)
	o.Program, o.Logger = build.Name(), r.Logger
	log, err := recorder.Create(path, o)
	return passing{log}, err
}

// troubles passes on what a proxy sees, and keeps the last thing that went wrong
// with a connection.
type troubles struct {
	log proxy.Log // nil: none

	mu   sync.Mutex
	seq  session.Seq
	last *session.Note
}

// Append is that of proxy.Log.
func (t *troubles) Append(e session.Entry) session.Seq {
	t.mu.Lock()
	if e.Kind == session.KindNote && e.Note.Hint != "" {
		t.last = e.Note
	}
	t.seq++
	seq := t.seq
	t.mu.Unlock()
	if t.log == nil {
		return seq
	}
	return t.log.Append(e)
}

// why is the last thing that went wrong; nil if nothing did.
func (t *troubles) why() *session.Note {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}
