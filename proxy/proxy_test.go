package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/http2"

	"github.com/xdsproxy/xdsproxy/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryLog keeps entries, and lets a test wait for one.
type memoryLog struct {
	mu      sync.Mutex
	entries []session.Entry
}

func (l *memoryLog) Append(e session.Entry) session.Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
	return session.Seq(len(l.entries))
}

func (l *memoryLog) all() []session.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

// guard bounds waits for what comes when all is well. It is there for what hangs,
// and so long that a busy machine does not reach it.
const guard = time.Minute

// await returns the first entry that fits, once there is one.
func (l *memoryLog) await(t *testing.T, what string, fits func(session.Entry) bool) session.Entry {
	t.Helper()
	for deadline := time.Now().Add(guard); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		for _, e := range l.all() {
			if fits(e) {
				return e
			}
		}
	}
	t.Fatalf("no entry of %s among %v", what, l.all())
	return session.Entry{}
}

func ofKind(k session.Kind) func(session.Entry) bool {
	return func(e session.Entry) bool { return e.Kind == k }
}

var loopback = Addr{"tcp", "127.0.0.1:0"}

// grpcOpening is what a client sends to open stream 1.
func grpcOpening() []byte {
	var b bytes.Buffer
	b.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&b, nil)
	f.WriteSettings()
	// :path /s/M as a literal, content-type application/grpc likewise
	block := []byte("\x04\x04/s/M\x0f\x10\x10application/grpc")
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block, EndHeaders: true})
	return b.Bytes()
}

func dataFrame(payload []byte) []byte {
	var b bytes.Buffer
	http2.NewFramer(&b, nil).WriteData(1, false, payload)
	return b.Bytes()
}

// What leaves is what came, in any pieces, over TCP and unix sockets.
func TestBytesAreEqual(t *testing.T) { inEachMode(t, testBytesAreEqual) }

func testBytesAreEqual(t *testing.T, secure mode) {
	unix := func(name string) Addr { return Addr{"unix", filepath.Join(t.TempDir(), name)} }
	for name, addrs := range map[string][2]Addr{
		"tcp":       {loopback, loopback},
		"unix":      {unix("down"), unix("up")},
		"tcp-unix":  {loopback, unix("up2")},
		"unix-tcp":  {unix("down2"), loopback},
		"abstract":  {{"unix", fmt.Sprintf("@xdsproxy-test-%d-%s", os.Getpid(), filepath.Base(t.TempDir()))}, loopback},
		"loopback6": {{"tcp", "[::1]:0"}, loopback},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSecureWorld(t, secure, addrs[0], addrs[1], 0)
			client, server := w.dial()
			rng := rand.New(rand.NewPCG(1, 2))
			for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
				sent := append(grpcOpening(), make([]byte, 3<<20)...)
				for i := 100; i < len(sent); i++ {
					sent[i] = byte(rng.Uint32())
				}
				go func() {
					for rest := sent; len(rest) > 0; {
						n := min(len(rest), 1+rng.IntN(100_000))
						if _, err := way[0].Write(rest[:n]); err != nil {
							return
						}
						rest = rest[n:]
					}
					way[0].(halfCloser).CloseWrite()
				}()
				got, err := io.ReadAll(way[1])
				if err != nil || !bytes.Equal(got, sent) {
					t.Fatalf("sent %d bytes, got %d, %v", len(sent), len(got), err)
				}
			}
			e := w.log.await(t, "disconnect", ofKind(session.KindDisconnect))
			if e.Side != session.Client {
				t.Errorf("ended by the %s", e.Side)
			}
			peer := w.log.all()[0].Peer
			if peer == nil || peer.Upstream == "" || peer.Listen == "" || peer.Client == "" {
				t.Errorf("connect says %+v", peer)
			}
		})
	}
}

func TestHalfCloseIsPassedOn(t *testing.T) { inEachMode(t, testHalfCloseIsPassedOn) }

func testHalfCloseIsPassedOn(t *testing.T, secure mode) {
	w := newSecureWorld(t, secure, loopback, loopback, 0)
	client, server := w.dial()
	client.Write([]byte("GET"))
	client.(halfCloser).CloseWrite()
	if _, err := io.ReadAll(server); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Write([]byte("still here")); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if got, err := io.ReadAll(client); string(got) != "still here" || err != nil {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestResetIsReset(t *testing.T) { inEachMode(t, testResetIsReset) }

func testResetIsReset(t *testing.T, secure mode) {
	for _, by := range []session.Side{session.Client, session.Server} {
		t.Run(by.String(), func(t *testing.T) {
			w := newSecureWorld(t, secure, loopback, loopback, 0)
			client, server := w.dial()
			if _, err := client.Write(grpcOpening()); err != nil {
				t.Fatal(err)
			}
			w.log.await(t, "open", ofKind(session.KindOpen))
			from, to := client, server
			if by == session.Server {
				from, to = server, client
			}
			io.CopyN(io.Discard, server, int64(len(grpcOpening())))
			socketOf(from).SetLinger(0)
			socketOf(from).Close()
			if _, err := io.ReadAll(to); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the other end sees %v", err)
			}
			end := w.log.await(t, "disconnect", ofKind(session.KindDisconnect))
			if end.Side != by || !strings.Contains(end.Status.Message, "connection reset") {
				t.Errorf("disconnect by %s: %s", end.Side, end.Status.Message)
			}
			cancel := w.log.await(t, "cancel", ofKind(session.KindCancel))
			if cancel.Side != by || cancel.Stream != 1 {
				t.Errorf("stream ended by %s: %+v", cancel.Side, cancel.Status)
			}
		})
	}
}

func TestRefusedUpstreamResetsTheClient(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	upstream := Addr{"tcp", gone.Addr().String()}
	gone.Close()
	w := &world{t: t, log: &memoryLog{}}
	w.start(loopback, upstream, 0)
	c, err := net.Dial("tcp", w.proxy.Addrs()[0].String())
	if err == nil {
		defer c.Close()
		c.SetDeadline(time.Now().Add(guard))
		_, err = io.ReadAll(c)
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client sees %v", err)
	}
	w.log.await(t, "disconnect", ofKind(session.KindDisconnect))
	var kinds []string
	for _, e := range w.log.all() {
		kinds = append(kinds, e.Kind.String())
		if e.Note != nil && (e.Note.Code != session.NoteDialFailed || !strings.Contains(e.Note.Text, "connection refused")) {
			t.Errorf("note is %+v", e.Note)
		}
	}
	if !slices.Equal(kinds, []string{"connect", "note", "disconnect"}) {
		t.Errorf("entries are %v", kinds)
	}
}

// What was read but could not be written on is told.
func TestUndeliveredBytesAreTold(t *testing.T) { inEachMode(t, testUndeliveredBytesAreTold) }

func testUndeliveredBytesAreTold(t *testing.T, secure mode) {
	w := newSecureWorld(t, secure, loopback, loopback, 0)
	client, server := w.dial()
	client.Write(grpcOpening())
	io.CopyN(io.Discard, server, int64(len(grpcOpening())))
	// The server reads no more, and the client writes until the proxy holds bytes that
	// it has read and cannot write.
	written := make(chan struct{})
	go func() {
		defer close(written)
		const size = 16000
		for big := dataFrame(append([]byte{0, 0, 0, size >> 8, size & 0xff}, make([]byte, size)...)); ; {
			if _, err := client.Write(big); err != nil {
				return
			}
		}
	}()
	awaitHeldUp(t)
	socketOf(server).SetLinger(0)
	socketOf(server).Close()
	<-written
	w.log.await(t, "disconnect", ofKind(session.KindDisconnect))
	note := w.log.await(t, "note", ofKind(session.KindNote))
	if note.Note.Code != session.NoteUndelivered || note.Side != session.Server {
		t.Errorf("note is %s on the %s's side: %s", note.Note.Code, note.Side, note.Note.Text)
	}
}

// awaitHeldUp waits until a pump is within a write of which the kernel takes no more.
// That the other end can write no more does not tell of it: the proxy may just not have
// had its turn.
func awaitHeldUp(t *testing.T) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	for deadline := time.Now().Add(guard); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(stack, "[IO wait") && strings.Contains(stack, ").Write(") && strings.Contains(stack, "(*conn).pump(") {
				return
			}
		}
	}
	t.Fatal("no write of the proxy is held up")
}

func TestDrainEndsAtAMessageBoundary(t *testing.T) { inEachMode(t, testDrainEndsAtAMessageBoundary) }

func testDrainEndsAtAMessageBoundary(t *testing.T, secure mode) {
	w := newSecureWorld(t, secure, loopback, loopback, 20*time.Second)
	client, server := w.dial()
	opening := grpcOpening()
	message := append([]byte{0, 0, 0, 0, 10}, "0123456789"...)
	first, second := dataFrame(message[:8]), append(dataFrame(message[8:]), dataFrame(message[:4])...)
	client.Write(append(slices.Clone(opening), first...))
	w.log.await(t, "open", ofKind(session.KindOpen))
	io.CopyN(io.Discard, server, int64(len(opening)+len(first)))

	stopped := make(chan struct{})
	go func() { w.stop(); close(stopped) }()
	w.awaitDrain()
	client.Write(second)
	got, err := io.ReadAll(server)
	if want := second[:9+len(message)-8]; err != nil || !bytes.Equal(got, want) {
		t.Errorf("the server got %q, %v; want %q", got, err, want)
	}
	<-stopped
	if m := w.log.await(t, "message", ofKind(session.KindMessage)).Message; string(m.Data.Bytes()) != "0123456789" {
		t.Errorf("message is %q", m.Data.Bytes())
	}
	if end := w.log.await(t, "disconnect", ofKind(session.KindDisconnect)); end.Side != session.Proxy {
		t.Errorf("ended by the %s: %s", end.Side, end.Status.Message)
	}
	if note := w.log.await(t, "note", ofKind(session.KindNote)).Note; note.Code != session.NoteUndelivered {
		t.Errorf("what was cut off is told as %+v", note)
	}
}

// While one direction is inside a message the other goes on too: the message
// may need the window updates that travel there, and an end of file would end
// the connection. When the pair does end, what was written arrives, even if the
// peer sends on.
func TestDrainWaitsForBothDirections(t *testing.T) { inEachMode(t, testDrainWaitsForBothDirections) }

func testDrainWaitsForBothDirections(t *testing.T, secure mode) {
	w := newSecureWorld(t, secure, loopback, loopback, 20*time.Second)
	client, server := w.dial()
	client.Write(grpcOpening())
	io.CopyN(io.Discard, server, int64(len(grpcOpening())))
	var answer bytes.Buffer
	f := http2.NewFramer(&answer, nil)
	f.WriteSettings()
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("\x88\x0f\x10\x10application/grpc"), EndHeaders: true})
	const size = 2 << 20
	message := append([]byte{0, size >> 24, size >> 16 & 0xff, 0, 0}, make([]byte, size)...)
	for rest := message; len(rest) > 0; {
		n := min(len(rest), 16000)
		f.WriteData(1, false, rest[:n])
		rest = rest[n:]
	}
	total := answer.Len()
	half := answer.Next(total / 2)
	go server.Write(half)
	w.log.await(t, "header", ofKind(session.KindHeader))
	// What comes with the headers is passed on: the message has begun for all.
	begun := make([]byte, 100)
	if _, err := io.ReadFull(client, begun); err != nil {
		t.Fatal(err)
	}

	stopped := make(chan struct{})
	go func() { w.stop(); close(stopped) }()
	w.awaitDrain()
	var update bytes.Buffer
	http2.NewFramer(&update, nil).WriteWindowUpdate(0, 1)
	client.Write(update.Bytes())
	got := make([]byte, update.Len())
	if _, err := io.ReadFull(server, got); err != nil || !bytes.Equal(got, update.Bytes()) {
		t.Fatalf("the server got %q, %v in the middle of its message", got, err)
	}
	go server.Write(answer.Bytes())
	if _, err := io.ReadFull(client, make([]byte, total/2-len(begun))); err != nil {
		t.Fatal(err)
	}
	client.Write(update.Bytes()) // unread by the proxy, most likely, when it closes
	n, err := io.Copy(io.Discard, client)
	if want := total - total/2; err != nil || int(n) != want {
		t.Errorf("the client got %d more bytes, %v; want %d", n, err, want)
	}
	client.Close()
	server.Close()
	<-stopped
	if m := w.log.await(t, "message", ofKind(session.KindMessage)).Message; m.Truncated || m.Size != size {
		t.Errorf("message is %+v", m)
	}
}

// awaitDrain waits until every connection has been told that the proxy stops.
func (w *world) awaitDrain() {
	stopping := func() bool {
		w.proxy.mu.Lock()
		defer w.proxy.mu.Unlock()
		return w.proxy.stopping
	}
	for !stopping() {
		time.Sleep(time.Millisecond)
	}
}

func TestDrainOfAnIdleConnectionIsImmediate(t *testing.T) {
	inEachMode(t, testDrainOfAnIdleConnectionIsImmediate)
}

func testDrainOfAnIdleConnectionIsImmediate(t *testing.T, secure mode) {
	w := newSecureWorld(t, secure, loopback, loopback, time.Hour)
	client, _ := w.dial()
	client.Write(grpcOpening())
	w.log.await(t, "open", ofKind(session.KindOpen))
	w.stop() // would outlast the test if it waited for the drain
}

func TestCloseCutsAtOnce(t *testing.T) { inEachMode(t, testCloseCutsAtOnce) }

func testCloseCutsAtOnce(t *testing.T, secure mode) {
	w := newSecureWorld(t, secure, loopback, loopback, time.Hour)
	client, server := w.dial()
	client.Write(append(grpcOpening(), dataFrame([]byte{0, 0, 0, 0, 10, 'x'})...))
	w.log.await(t, "open", ofKind(session.KindOpen))
	w.proxy.Close()
	if _, err := io.ReadAll(client); err == nil {
		t.Error("the client sees a regular end")
	}
	io.ReadAll(server)
	w.stop()
}

func TestListenIsAllOrNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := Addr{"tcp", free.Addr().String()}
	free.Close()
	_, err = Listen(Config{Log: &memoryLog{}, Pairs: []Pair{{Listen: addr}, {Listen: Addr{"tcp", taken.Addr().String()}}}})
	var le *ListenError
	if !errors.As(err, &le) || err.Error() != "cannot listen on "+taken.Addr().String()+": address already in use" {
		t.Errorf("error is %v", err)
	}
	again, err := net.Listen("tcp", addr.Address)
	if err != nil {
		t.Fatalf("the first listener was left open: %v", err)
	}
	again.Close()
}

func TestStaleUnixSocketIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	a := Addr{"unix", path}
	if _, err := a.Listen(); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a live socket gives %v", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	l, err = a.Listen()
	if err != nil {
		t.Fatalf("a stale socket gives %v", err)
	}
	l.Close()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Listen(); err == nil {
		t.Error("a file was taken for a socket")
	}
}

func TestParseAddr(t *testing.T) {
	for in, want := range map[string]string{
		"127.0.0.1:80": "127.0.0.1:80", "[::1]:0": "[::1]:0", ":18000": ":18000", "istiod:15010": "istiod:15010",
		"unix:/a/b": "unix:/a/b", "unix:///a/b": "unix:/a/b", "unix:@x": "unix:@x", "unix:rel": "unix:rel",
		"": "", "host": "", "host:http": "", "host:70000": "", "unix:": "", "unix:@": "", "::1:80": "",
	} {
		a, err := ParseAddr(in)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q was read as %v", in, a)
		case want != "" && (err != nil || a.String() != want):
			t.Errorf("%q was read as %v, %v", in, a, err)
		}
	}
}

// Where a connection was going can be asked of TCP on Linux only.
func TestOriginalDstNeedsRedirection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	_, err := Listen(Config{Log: &memoryLog{}, Pairs: []Pair{{Listen: Addr{"unix", path}, OriginalDst: true}}})
	var at *ListenError
	if !errors.As(err, &at) {
		t.Fatalf("%v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it listens")
	}
}
