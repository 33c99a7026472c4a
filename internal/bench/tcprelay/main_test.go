package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"io"
	"math/rand"
	"net"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// Frames are followed across reads, and the payloads of DATA frames are what is copied,
// however the bytes come.
func TestWalker(t *testing.T) {
	frame := func(kind byte, payload string) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8)
		return append(append(b[:3], kind, 0, 0, 0, 0, 1), payload...)
	}
	stream := slices.Concat(frame(4, ""), frame(0, "hello"), frame(1, "header"), frame(0, ""), frame(0, "goodbye"), frame(9, "xx"))
	ends := []struct { // how far one has read, and what was copied of the last DATA frame then
		at   int
		data string
	}{{9, ""}, {9 + 9 + 2, "he"}, {9 + 14, "hello"}, {9 + 14 + 9 + 3, "hello"}, {9 + 14 + 15, "hello"}, {9 + 14 + 15 + 9, ""}, {9 + 14 + 15 + 9 + 9 + 4, "good"}, {len(stream), "goodbye"}}
	for _, preface := range []int{0, prefaceLen} {
		for n := 1; n < 30; n++ {
			w := &walker{preface: preface}
			all := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")[:preface:preface], stream...)
			done := 0
			for _, e := range ends {
				for p := range slices.Chunk(all[done:preface+e.at], n) {
					w.feed(p)
				}
				done = preface + e.at
				if string(w.buf) != e.data {
					t.Fatalf("pieces of %d, preface of %d, after %d bytes: %q, want %q", n, preface, e.at, w.buf, e.data)
				}
			}
			if w.left != 0 || w.n != 0 || w.preface != 0 {
				t.Errorf("pieces of %d, preface of %d: %+v", n, preface, w)
			}
		}
	}
}

// freeAddress is one that the system gives to nobody who does not ask for it: its port is
// below those that it chooses itself.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(20000+rand.Intn(10000)))
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
}

func dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			return c.(*net.TCPConn)
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // it does not listen yet
	}
}

// Bytes pass both ways as they are, and the end of one side is seen by the other, which may
// go on. Who cannot be served is sent away.
func TestRelay(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	addr := freeAddress(t)
	flag.CommandLine = flag.NewFlagSet("tcprelay", flag.ExitOnError) // that of the test has its own flags
	os.Args = []string{"tcprelay", "-listen", addr, "-upstream", server.Addr().String(), "-before"}
	go main() // which never ends
	type sent struct {
		b   []byte
		err error
	}
	const size = 1 << 20
	up, down := make([]byte, size), make([]byte, size)
	for i := range size {
		up[i], down[i] = byte(i*7+i>>8), byte(i*5+i>>9)
	}
	for _, clientFirst := range []bool{true, false} {
		client := dial(t, addr)
		accepted, err := server.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer accepted.Close()
		_ = accepted.SetDeadline(time.Now().Add(time.Minute))
		first, second, one, other := client, accepted.(*net.TCPConn), up, down
		if !clientFirst {
			first, second, one, other = second, first, down, up
		}
		heard := make(chan sent)
		go func() {
			b, err := io.ReadAll(second)
			heard <- sent{b, err}
		}()
		if _, err := first.Write(one); err != nil {
			t.Fatal(err)
		}
		if err := first.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if h := <-heard; h.err != nil || !bytes.Equal(h.b, one) {
			t.Errorf("client first %t: %d bytes, %v", clientFirst, len(h.b), h.err)
		}
		go func() {
			b, err := io.ReadAll(first)
			heard <- sent{b, err}
		}()
		if _, err := second.Write(other); err != nil {
			t.Fatal(err)
		}
		if err := second.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if h := <-heard; h.err != nil || !bytes.Equal(h.b, other) {
			t.Errorf("client first %t, what is answered: %d bytes, %v", clientFirst, len(h.b), h.err)
		}
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := dial(t, addr).Read(make([]byte, 1)); n != 0 || err == nil || os.IsTimeout(err) {
		t.Errorf("without a server: %d bytes, %v", n, err)
	}
}

// Who does not listen any more is not written to for ever.
func TestGone(t *testing.T) {
	pair := func() (a, b *net.TCPConn) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		a = dial(t, l.Addr().String())
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return a, c.(*net.TCPConn)
	}
	writes, src := pair()
	dst, _ := pair()
	_ = dst.Close() // so that no write succeeds
	over := make(chan struct{})
	go func() {
		defer close(over)
		pump(dst, src, &walker{}, false)
	}()
	if _, err := writes.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	<-over
	_ = src.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := src.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("it can still be read: %v", err)
	}
}
