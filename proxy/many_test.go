package proxy

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// Several pairs share one process, one log and one numbering.
func TestSeveralPairs(t *testing.T) {
	log := &memoryLog{}
	var pairs []Pair
	var ups []net.Listener
	for range 3 {
		up, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer up.Close()
		ups = append(ups, up)
		pairs = append(pairs, Pair{Listen: loopback, Upstream: Addr{"tcp", up.Addr().String()}})
	}
	p, err := Listen(Config{Pairs: pairs, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Serve(ctx) }()
	for i, a := range p.Addrs() {
		c, err := net.Dial("tcp", a.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s, err := ups[i].Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c.Write(grpcOpening())
		if _, err := io.CopyN(io.Discard, s, int64(len(grpcOpening()))); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	conns, streams := map[session.ConnID]string{}, map[session.StreamID]bool{}
	for _, e := range log.all() {
		switch e.Kind {
		case session.KindConnect:
			conns[e.Conn] = e.Peer.Upstream
		case session.KindOpen:
			streams[e.Stream] = true
		}
	}
	if len(conns) != 3 || len(streams) != 3 {
		t.Fatalf("connections %v, streams %v", conns, streams)
	}
	for i, up := range ups {
		if conns[session.ConnID(i+1)] != up.Addr().String() {
			t.Errorf("connection %d went to %s, not to %s", i+1, conns[session.ConnID(i+1)], up.Addr())
		}
	}
}

// A connection that waits holds no read buffers.
func TestIdleConnectionsAreCheap(t *testing.T) { inEachMode(t, testIdleConnectionsAreCheap) }

func testIdleConnectionsAreCheap(t *testing.T, secure mode) {
	const n = 150
	w := newSecureWorld(t, secure, loopback, loopback, 0)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC() // a pool forgets what lies idle for two collections
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for range n {
		client, server := w.dial()
		client.Write(grpcOpening())
		if _, err := io.CopyN(io.Discard, server, int64(len(grpcOpening()))); err != nil {
			t.Fatal(err)
		}
	}
	most := int64(bufferSize / 2)
	if secure != (mode{}) {
		most = bufferSize // crypto/tls keeps certificates, and what the last record came in
	}
	if each := (heap() - before) / n; each > most {
		t.Errorf("an idle connection costs %d bytes of heap", each)
	} else {
		t.Logf("an idle connection costs %d bytes of heap, its ends in this test included", each)
	}
}

// A pair whose upstream is one of our own listeners must not breed connections.
func TestUpstreamThatLeadsBack(t *testing.T) { inEachMode(t, testUpstreamThatLeadsBack) }

func testUpstreamThatLeadsBack(t *testing.T, secure mode) {
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	self := Addr{"tcp", probe.Addr().String()}
	probe.Close()
	w := &world{t: t, log: &memoryLog{}, secure: secure, pki: newPKI(t)}
	w.start(self, self, 0)
	c, err := net.Dial("tcp", self.Address)
	if err == nil { // else it was reset already
		defer c.Close()
		if secure.client {
			c = tls.Client(c, &tls.Config{RootCAs: w.pki.root.Pool(), ServerName: "localhost", NextProtos: []string{"h2"}})
		}
		c.Write(grpcOpening())
		io.ReadAll(c)
	}
	w.log.await(t, "note", func(e session.Entry) bool {
		return e.Note != nil && strings.Contains(e.Note.Text, "leads back to this proxy")
	})
	for _, e := range w.log.all() {
		if e.Note != nil && strings.HasPrefix(e.Note.Text, "client ") && strings.Contains(e.Note.Text, "speaks") {
			t.Errorf("the client is blamed: %s", e.Note.Text)
		}
	}
	if n := w.proxy.conns.Load(); n > 1000 {
		t.Errorf("one client made %d connections", n)
	}
}
