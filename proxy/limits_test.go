package proxy

import (
	"errors"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// limited is a world whose upstream accepts whatever comes.
func limited(t *testing.T, l Limits) *world {
	t.Helper()
	up, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { up.Close() })
	w := &world{t: t, log: &memoryLog{}, upstream: up, limits: l}
	w.start(loopback, Addr{"tcp", up.Addr().String()}, 0)
	return w
}

// Each client takes two files.
func TestRoomForTwoFilesEach(t *testing.T) {
	limit := openFiles()
	if limit == 0 {
		t.Skip("this system has no limit that can be asked")
	}
	for held, full := range map[int64]bool{0: false, limit / 4: false, limit / 2: true, limit: true} {
		p := &Proxy{}
		p.held.Store(held)
		if err := p.room(); errors.Is(err, syscall.EMFILE) != full {
			t.Errorf("with %d clients and %d open files: %v", held, limit, err)
		}
	}
}

// exhausted is a listener that accepts nobody, and is closed in the end.
type exhausted struct {
	net.Listener
	left  int
	began time.Time
	asked []time.Duration
}

func (*exhausted) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5} }

func (l *exhausted) Accept() (net.Conn, error) {
	l.asked = append(l.asked, time.Since(l.began))
	if l.left--; l.left < 0 {
		return nil, net.ErrClosed
	}
	return nil, syscall.EMFILE
}

// While nobody can be accepted it is tried again, more and more rarely, up to once a
// second.
func TestAcceptingIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &memoryLog{}
		p, err := Listen(Config{Log: log})
		if err != nil {
			t.Fatal(err)
		}
		l := &exhausted{left: 10, began: time.Now()}
		p.accept(t.Context(), l, Pair{}, security{})
		wait, at := 5*time.Millisecond, time.Duration(0)
		for i, got := range l.asked {
			if got != at {
				t.Errorf("try %d is after %s, not %s", i+1, got, at)
			}
			at += wait
			wait = min(2*wait, time.Second)
		}
		if notes, _ := told(log.all(), session.NoteAcceptFailed); len(l.asked) != 11 || notes != 1 {
			t.Errorf("%d tries, told %d times", len(l.asked), notes)
		}
	})
}

// knock connects and waits to be refused. The reset may come before the client
// has noticed that it is connected.
func (w *world) knock() error {
	c, err := net.Dial("tcp", w.proxy.Addrs()[0].String())
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(guard))
	_, err = io.ReadAll(c)
	return err
}

// told counts what notes of a code say, the sums included.
func told(entries []session.Entry, code session.NoteCode) (notes, times int) {
	more := regexp.MustCompile(`\b(\d+) more `)
	for _, e := range entries {
		if e.Note == nil || e.Note.Code != code {
			continue
		}
		notes++
		if m := more.FindStringSubmatch(e.Note.Text); m != nil {
			n, _ := strconv.Atoi(m[1])
			times += n
		} else {
			times++
		}
	}
	return notes, times
}

func TestMaxConnections(t *testing.T) {
	w := limited(t, Limits{MaxConnections: 2})
	first, firstServer := w.dial()
	w.dial()
	if err := w.knock(); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("the third client sees %v", err)
	}
	note := w.log.await(t, "note", ofKind(session.KindNote))
	want := "on " + w.proxy.Addrs()[0].String() + ": 2 connections are open, as many as may be"
	if note.Note.Code != session.NoteRefused || !strings.HasSuffix(note.Note.Text, want) || !strings.Contains(note.Note.Hint, "--max-connections") {
		t.Errorf("note is %+v, want %q", note.Note, want)
	}
	// One that ends makes room, once the proxy has noticed.
	first.Close()
	firstServer.Close()
	w.log.await(t, "disconnect", ofKind(session.KindDisconnect))
	for {
		c, err := net.Dial("tcp", w.proxy.Addrs()[0].String())
		if err != nil {
			continue // it was refused before the dial had returned
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(guard))
		if _, err := c.Write([]byte("hello")); err != nil {
			continue
		}
		if w.proxy.held.Load() == 2 {
			break
		}
	}
	w.stop()
	if _, times := told(w.log.all(), session.NoteRefused); times != int(w.proxy.Refused()) {
		t.Errorf("told of %d refusals, there were %d", times, w.proxy.Refused())
	}
}

// Clients that come again at once, thousands of times, are told of by a few
// notes and no other entries, which count them all.
func TestStormOfRefusals(t *testing.T) {
	w := limited(t, Limits{MaxConnections: 1})
	w.dial()
	var storm sync.WaitGroup
	for range 8 {
		storm.Go(func() {
			for range 250 {
				w.knock()
			}
		})
	}
	storm.Wait()
	w.stop()
	entries := w.log.all()
	notes, times := told(entries, session.NoteRefused)
	if times != 2000 || w.proxy.Refused() != 2000 {
		t.Errorf("told of %d refusals, counted %d, there were 2000", times, w.proxy.Refused())
	}
	if len(entries) != notes+2 || notes > 200 {
		t.Errorf("%d entries, %d of them notes of refusals", len(entries), notes)
	}
}

func TestMaxStreams(t *testing.T) {
	w := limited(t, Limits{MaxStreams: 1})
	client, _ := w.dial()
	client.Write(grpcOpening())
	w.log.await(t, "open", ofKind(session.KindOpen))
	if n := w.proxy.followed.Load(); n != 1 {
		t.Errorf("%d streams are open", n)
	}
	if err := w.knock(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the second client sees %v", err)
	}
	note := w.log.await(t, "note", ofKind(session.KindNote)).Note
	if !strings.HasSuffix(note.Text, "1 streams are open, as many as may be") || !strings.Contains(note.Hint, "--max-streams") {
		t.Errorf("note is %+v", note)
	}
	reset(client)
	w.log.await(t, "cancel", ofKind(session.KindCancel))
	if n := w.proxy.followed.Load(); n != 0 {
		t.Errorf("%d streams are open after the end of all", n)
	}
	w.dial()
}

// While an upstream is gone only the first client has entries of its own.
func TestStormOnADeadUpstream(t *testing.T) {
	w := limited(t, Limits{})
	w.upstream.Close()
	const clients = 500
	for range clients {
		if err := w.knock(); !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("a client sees %v", err)
		}
	}
	w.stop()
	entries := w.log.all()
	notes, times := told(entries, session.NoteDialFailed)
	if times != clients {
		t.Errorf("told of %d failures, there were %d", times, clients)
	}
	kinds := map[session.Kind]int{}
	for _, e := range entries {
		kinds[e.Kind]++
	}
	// A burst that was over before the next client came begins anew.
	if kinds[session.KindConnect] != kinds[session.KindDisconnect] || kinds[session.KindConnect] > notes || notes > clients/5 {
		t.Errorf("entries are %v, %d notes of failures", kinds, notes)
	}
}

// A thousand clients at once each get their connection.
func TestStormOfConnections(t *testing.T) {
	w := limited(t, Limits{})
	var server sync.WaitGroup
	server.Go(func() {
		for {
			c, err := w.upstream.Accept()
			if err != nil {
				return
			}
			server.Go(func() { io.Copy(c, c); c.Close() })
		}
	})
	var storm sync.WaitGroup
	for range 1000 {
		storm.Go(func() {
			c, err := net.Dial("tcp", w.proxy.Addrs()[0].String())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(guard))
			c.Write([]byte("hello"))
			if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
				t.Error(err)
			}
		})
	}
	storm.Wait()
	w.stop()
	w.upstream.Close()
	server.Wait()
	if n := w.proxy.held.Load(); n != 0 {
		t.Errorf("%d connections are held after the end of all", n)
	}
}
