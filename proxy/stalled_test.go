package proxy

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// stalling is a connection of which only the first bytes that are written get
// through, one by one if slow; the rest is silently kept.
type stalling struct {
	net.Conn
	left int
	slow bool
}

func (s *stalling) Write(p []byte) (int, error) {
	for _, b := range p {
		if s.left == 0 {
			break
		}
		s.left--
		if _, err := s.Conn.Write([]byte{b}); err != nil {
			return 0, err
		}
		if s.slow {
			time.Sleep(50 * time.Millisecond)
		}
	}
	return len(p), nil
}

// whole is a number of bytes that no flight of a handshake has.
const whole = 1 << 20

// stalls are where a peer stops in its handshake, by the bytes of its flights.
var stalls = []struct {
	name    string
	client  bool // it is the client that does
	version uint16
	bytes   func(hello int) int
	slow    bool
}{
	{"before the hello", true, tls.VersionTLS13, func(int) int { return 0 }, false},
	{"in the header of the hello", true, tls.VersionTLS13, func(int) int { return 3 }, false},
	{"in the hello", true, tls.VersionTLS13, func(hello int) int { return hello / 2 }, false},
	{"hello byte by byte", true, tls.VersionTLS13, func(int) int { return whole }, true},
	{"after the hello", true, tls.VersionTLS13, func(hello int) int { return hello }, false},
	{"in the finish", true, tls.VersionTLS13, func(hello int) int { return hello + 20 }, false},
	{"after the hello, 1.2", true, tls.VersionTLS12, func(hello int) int { return hello }, false},
	{"before the finish, 1.2", true, tls.VersionTLS12, func(hello int) int { return hello + 50 }, false},
	{"before the hello of the server", false, tls.VersionTLS13, func(int) int { return 0 }, false},
	{"in the hello of the server", false, tls.VersionTLS13, func(int) int { return 40 }, false},
	{"server byte by byte", false, tls.VersionTLS13, func(int) int { return whole }, true},
	{"in the certificate of the server", false, tls.VersionTLS13, func(int) int { return 300 }, false},
	{"before the finish of the server, 1.2", false, tls.VersionTLS12, func(int) int { return 700 }, false},
}

// stallingWorld is a proxy whose peers stop in the middle of their handshakes, up
// to so many of either.
type stallingWorld struct {
	*world
	hellos  map[uint16]int // bytes of a client's, by the version
	serving atomic.Int64   // how the next connections are served: by which stall, or -1
}

func newStallingWorld(t *testing.T, patience time.Duration) *stallingWorld {
	w := &stallingWorld{world: &world{t: t, log: &memoryLog{}, secure: mode{true, true}, pki: newPKI(t), patience: patience}}
	w.serving.Store(-1)
	var err error
	if w.upstream, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			nc, err := w.upstream.Accept()
			if err != nil {
				return
			}
			how := w.serving.Load()
			serving.Go(func() { w.serve(nc, int(how)) })
		}
	})
	t.Cleanup(func() { w.upstream.Close(); serving.Wait() })
	w.start(loopback, Addr{"tcp", w.upstream.Addr().String()}, 0)

	w.hellos = map[uint16]int{}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		var first bytes.Buffer
		tls.Client(recording{&first}, w.clientConfig(version)).Handshake()
		w.hellos[version] = first.Len()
	}
	return w
}

// recording notes what is written to it, and answers nothing.
type recording struct{ to *bytes.Buffer }

func (r recording) Write(p []byte) (int, error)      { return r.to.Write(p) }
func (r recording) Read([]byte) (int, error)         { return 0, io.EOF }
func (r recording) Close() error                     { return nil }
func (r recording) LocalAddr() net.Addr              { return nil }
func (r recording) RemoteAddr() net.Addr             { return nil }
func (r recording) SetDeadline(time.Time) error      { return nil }
func (r recording) SetReadDeadline(time.Time) error  { return nil }
func (r recording) SetWriteDeadline(time.Time) error { return nil }

func (w *stallingWorld) clientConfig(version uint16) *tls.Config {
	return &tls.Config{RootCAs: w.pki.root.Pool(), ServerName: "localhost", NextProtos: []string{"h2"}, MaxVersion: version}
}

// serve echoes, or stalls. It ends when the proxy does.
func (w *stallingWorld) serve(nc net.Conn, how int) {
	defer nc.Close()
	cfg := &tls.Config{Certificates: []tls.Certificate{w.pki.upstream.TLS()}, NextProtos: []string{"h2"}}
	if how >= 0 {
		cfg.MaxVersion = stalls[how].version
		c := tls.Server(&stalling{nc, stalls[how].bytes(0), stalls[how].slow}, cfg)
		c.Handshake()
		io.Copy(io.Discard, nc)
		return
	}
	c := tls.Server(nc, cfg)
	io.Copy(c, c)
}

// stall opens a connection that goes no further. What it returns waits until the
// proxy has let go of it.
func (w *stallingWorld) stall(how int) (wait func()) {
	nc, err := net.Dial("tcp", w.proxy.Addrs()[0].String())
	if err != nil {
		w.t.Fatal(err)
	}
	s := stalls[how]
	under := &stalling{nc, whole, false}
	if s.client {
		under.left, under.slow = s.bytes(w.hellos[s.version]), s.slow
	}
	var over sync.WaitGroup
	over.Go(func() {
		defer nc.Close()
		tls.Client(under, w.clientConfig(s.version)).Handshake()
		nc.SetReadDeadline(time.Now().Add(guard))
		if _, err := io.Copy(io.Discard, nc); err != nil && isTimeout(err) {
			w.t.Errorf("%s: the proxy holds on", s.name)
		}
	})
	return over.Wait
}

// healthy is a client that gets an answer, on a new connection.
func (w *stallingWorld) healthy() {
	w.t.Helper()
	c, err := tls.Dial("tcp", w.proxy.Addrs()[0].String(), w.clientConfig(0))
	if err != nil {
		w.t.Error(err)
		return
	}
	defer c.Close()
	w.talk(c)
}

func (w *stallingWorld) talk(c net.Conn) {
	w.t.Helper()
	c.SetDeadline(time.Now().Add(guard))
	got := make([]byte, len(grpcOpening()))
	c.Write(grpcOpening())
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, grpcOpening()) {
		w.t.Errorf("%d bytes, %v", len(got), err)
	}
}

// Five hundred peers that stop at some point of their handshakes hold up nobody:
// who is connected goes on, and who comes gets in, while they are there.
func TestStalledHandshakesHoldUpNobody(t *testing.T) {
	const n = 500
	w := newStallingWorld(t, time.Minute)
	there, err := tls.Dial("tcp", w.proxy.Addrs()[0].String(), w.clientConfig(0))
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	w.talk(there)
	var waits []func()
	for i := range n {
		how := i % len(stalls)
		// Nobody says which of the server's connections is whose; so the healthy
		// ones come when all others have.
		if !stalls[how].client {
			w.serving.Store(int64(how))
		}
		before := len(w.upstreams())
		waits = append(waits, w.stall(how))
		for !stalls[how].client && len(w.upstreams()) == before {
			time.Sleep(time.Millisecond)
		}
	}
	w.serving.Store(-1)
	for w.proxy.held.Load() != n+1 {
		time.Sleep(time.Millisecond)
	}
	for range 20 {
		w.talk(there)
		w.healthy()
	}
	if held := w.proxy.held.Load(); held < n {
		t.Errorf("%d connections are left", held)
	}
	there.Close()
	w.stop()
	for _, wait := range waits {
		wait()
	}
}

// upstreams are the upstream legs that there are.
func (w *stallingWorld) upstreams() []route {
	w.proxy.mu.Lock()
	defer w.proxy.mu.Unlock()
	var all []route
	for r := range w.proxy.dials {
		all = append(all, r)
	}
	return all
}

// After their time is over nothing is left of them: no connection, no goroutine,
// no descriptor and no memory; and each is told of.
func TestStalledHandshakesEnd(t *testing.T) {
	const n = 260
	w := newStallingWorld(t, time.Second)
	w.healthy()
	descriptors := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(fds)
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	settled := func(what string, now func() int, most int) {
		t.Helper()
		for until := time.Now().Add(guard); now() > most; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("%d %s are left, there were %d", now(), what, most)
			}
		}
	}
	settled("connections", func() int { return int(w.proxy.held.Load()) }, 0)
	fds, goroutines, memory := descriptors(), runtime.NumGoroutine(), heap()
	var waits []func()
	for how, s := range stalls {
		for range n / len(stalls) {
			waits = append(waits, w.stall(how))
		}
		if s.client && stalls[how+1].client {
			continue // all clients at once; a server stalls in one way at a time
		}
		for _, wait := range waits {
			wait()
		}
		waits = nil
		w.serving.Store(int64(how + 1))
	}
	settled("connections", func() int { return int(w.proxy.held.Load()) }, 0)
	settled("descriptors", descriptors, fds)
	settled("goroutines", runtime.NumGoroutine, goroutines)
	if more := heap() - memory; more > 4<<20 {
		t.Errorf("%d bytes more", more)
	}
	w.serving.Store(-1)
	w.healthy()
	w.stop() // which sums up
	_, times := told(w.log.all(), session.NoteTLSFailed)
	if want := n / len(stalls) * len(stalls); times != want {
		t.Errorf("%d failures were told of, and there were %d", times, want)
	}
}
