package proxy

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// grpcMessage is a message of gRPC in frames of DATA.
func grpcMessage(payload []byte) []byte {
	msg := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(payload)))
	msg = append(msg, payload...)
	var out []byte
	for len(msg) > 0 {
		n := min(len(msg), 16<<10)
		out, msg = append(out, dataFrame(msg[:n])...), msg[n:]
	}
	return out
}

// Both ends change their keys thousands of times in the middle of messages, and
// ask the proxy for the same. Nothing of that is seen by the other end.
func TestKeyUpdates(t *testing.T) {
	const updates, asks = 3000, 1000
	w := newSecureWorld(t, mode{true, true}, loopback, loopback, 0)
	client, server := w.takenOver()
	payload := bytes.Repeat([]byte("0123456789abcdef"), 20<<10)
	sent := append(grpcOpening(), grpcMessage(payload)...)
	back := bytes.Repeat([]byte("what the server says "), 10000)

	var all sync.WaitGroup
	say := func(r *records, text []byte) {
		for i := range updates { // never without data in between: crypto/tls takes 16 of these
			if err := r.send(typeData, text[i*len(text)/updates:(i+1)*len(text)/updates]); err != nil {
				t.Error(err)
				return
			}
			if err := r.update(i%3 == 0, i%5); err != nil { // in one record, and in two
				t.Error(err)
				return
			}
		}
		if err := r.send(typeData, []byte("end")); err != nil {
			t.Error(err)
		}
	}
	hear := func(r *records, want []byte) {
		want = append(want, "end"...)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("other bytes came, %v", err)
		}
	}
	for _, r := range []*records{client, server} {
		r.SetDeadline(time.Now().Add(guard))
	}
	all.Go(func() { say(client, sent) })
	all.Go(func() { say(server, back) })
	all.Go(func() { hear(client, back) })
	all.Go(func() { hear(server, sent) })
	all.Wait()
	if t.Failed() {
		t.Fatalf("%+v", w.log.await(t, "its end", ofKind(session.KindDisconnect)).Status)
	}
	// The answers may stand behind the end of the data.
	for _, r := range []*records{client, server} {
		go r.Read(make([]byte, 1))
	}
	w.log.await(t, "the message", func(e session.Entry) bool { return e.Kind == session.KindMessage })
	for _, e := range w.log.all() {
		if e.Kind == session.KindMessage && !bytes.Equal(e.Message.Data.Bytes(), payload) {
			t.Errorf("the message was recorded with %d bytes", e.Message.Size)
		}
		if e.Kind == session.KindDisconnect {
			t.Errorf("the connection ended: %s", e.Status.Message)
		}
	}
}

// A peer that asks for new keys without end, and reads nothing, holds up itself
// and what it is sent. It costs no memory, and the connection can be ended.
func TestKeyUpdatesOfOneWhoDoesNotRead(t *testing.T) {
	w := newSecureWorld(t, mode{true, true}, loopback, loopback, 100*time.Millisecond)
	client, server := w.takenOver()
	server.SetDeadline(time.Now().Add(guard))
	client.SetDeadline(time.Now().Add(guard))
	if err := client.send(typeData, grpcOpening()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(server, make([]byte, len(grpcOpening()))); err != nil {
		t.Fatal(err)
	}
	fill := func(r *records, write func() error) (n int) {
		r.SetWriteDeadline(time.Now().Add(time.Second))
		for ; ; n++ {
			err := write()
			switch {
			case errors.Is(err, os.ErrDeadlineExceeded):
				return n
			case err != nil:
				t.Fatal(err)
			}
		}
	}
	fill(server, func() error { return server.send(typeData, make([]byte, 16000)) }) // until the client's socket is full
	asked := fill(client, func() error { return client.update(true, 0) })
	t.Logf("%d updates were taken", asked)
	other, otherServer := w.dial() // another client does not notice
	other.Write(grpcOpening())
	if _, err := io.ReadFull(otherServer, make([]byte, len(grpcOpening()))); err != nil {
		t.Error(err)
	}
	other.Close()
	otherServer.Close()
	w.stop()
	if n := w.proxy.held.Load(); n != 0 {
		t.Errorf("%d connections are held", n)
	}
}

// What is no update where one could be ends the connection with a word, and so do
// updates, or records with nothing in them, that are too many in a row.
func TestKeyUpdatesThatAreWrong(t *testing.T) {
	says := func(text ...byte) func(*records) {
		return func(r *records) { r.send(typeHandshake, text) }
	}
	for name, do := range map[string]func(*records){
		"two in a record": says(append(keyUpdate(true), keyUpdate(true)...)...),
		"another value":   says(24, 0, 0, 1, 7),
		"too long":        says(24, 0, 0, 2, 0, 0),
		"endless":         says(24, 0xff, 0xff, 0xff),
		"a request":       says(13, 0, 0, 3, 0, 0, 0), // for a certificate
		"of no type":      says(99, 0, 0, 0),
		"a hello":         says(1, 0, 0, 0),
		"nothing":         says(),
		"half of one":     says(24, 0),
		"empty records": func(r *records) {
			for range 20 {
				r.send(typeData, nil)
			}
		},
		"many in a row": func(r *records) {
			for range 20 {
				r.update(false, 0)
			}
		},
	} {
		for _, side := range []session.Side{session.Client, session.Server} {
			t.Run(name+" of the "+side.String(), func(t *testing.T) {
				w := newSecureWorld(t, mode{true, true}, loopback, loopback, 0)
				client, server := w.takenOver()
				for _, r := range []*records{client, server} {
					r.SetDeadline(time.Now().Add(guard))
				}
				from := map[session.Side]*records{session.Client: client, session.Server: server}[side]
				do(from)
				from.send(typeData, []byte("x"))
				end := w.log.await(t, "its end", ofKind(session.KindDisconnect))
				if end.Side != side || !strings.Contains(end.Status.Message, "the "+side.String()+"'s connection broke: ") || !strings.Contains(end.Status.Message, "tls: ") {
					t.Errorf("the %s ended it: %s", end.Side, end.Status.Message)
				}
				for _, r := range []*records{client, server} {
					if _, err := io.Copy(io.Discard, r.Conn); errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("a peer is still connected")
					}
				}
			})
		}
	}
}

// Clients that bring sessions along, from the proxy or from the server that they
// knew before the proxy stood in front of it, get a full handshake. So does the
// proxy, which takes none.
func TestSessionsAreNotResumed(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			w := newSecureWorld(t, mode{true, true}, loopback, loopback, 0)
			offered := &tls.Config{Certificates: []tls.Certificate{w.pki.upstream.TLS()}, NextProtos: []string{"h2"}, MaxVersion: version}
			resumed := make(chan bool, 10)
			serving := make(chan struct{})
			go func() {
				defer close(serving)
				for {
					nc, err := w.upstream.Accept()
					if err != nil {
						return
					}
					c := tls.Server(nc, offered)
					if c.Handshake() == nil {
						resumed <- c.ConnectionState().DidResume
						io.Copy(c, c)
					}
					c.Close()
				}
			}()
			defer func() { w.upstream.Close(); <-serving }()
			client := &tls.Config{
				RootCAs: w.pki.root.Pool(), ServerName: "localhost", NextProtos: []string{"h2"}, MaxVersion: version,
				ClientSessionCache: tls.NewLRUClientSessionCache(10),
			}
			talk := func(addr net.Addr) bool {
				t.Helper()
				c, err := tls.Dial("tcp", addr.String(), client)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				got := make([]byte, len(grpcOpening()))
				c.Write(grpcOpening())
				if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, grpcOpening()) {
					t.Errorf("%q came back, %v", got, err)
				}
				return c.ConnectionState().DidResume
			}
			talk(w.upstream.Addr())
			if first := <-resumed; first || !talk(w.upstream.Addr()) || !<-resumed {
				t.Fatal("without the proxy the second session is none of the first")
			}
			for range 3 {
				if talk(w.proxy.Addrs()[0]) || <-resumed {
					t.Error("a session was resumed")
				}
			}
			talk(w.upstream.Addr()) // nor has the proxy spoilt anything
			<-resumed
			for _, e := range w.log.all() {
				if e.Kind == session.KindConnect && (e.Peer.ClientTLS.Resumed || e.Peer.ServerTLS.Resumed) {
					t.Errorf("recorded are %+v, %+v", e.Peer.ClientTLS, e.Peer.ServerTLS)
				}
				if e.Note != nil && strings.Contains(e.Note.Text, "TLS") {
					t.Errorf("a note: %s", e.Note.Text)
				}
			}
		})
	}
}

// Early data is for a server that has the session, which the proxy never has;
// crypto/tls cannot skip it. Whoever sends it is told of.
func TestEarlyData(t *testing.T) {
	w := newSecureWorld(t, mode{true, true}, loopback, loopback, 0)
	var hello bytes.Buffer
	tls.Client(recording{&hello}, &tls.Config{ServerName: "localhost"}).Handshake()
	b := hello.Bytes()
	at := 5 + 4 + 2 + 32                                   // the session's id
	at += 1 + int(b[at])                                   // the cipher suites
	at += 2 + int(binary.BigEndian.Uint16(b[at:])) + 1 + 1 // the extensions
	for _, length := range []int{3, 7, at} {
		n := binary.BigEndian.Uint16(b[length:]) + 4
		binary.BigEndian.PutUint16(b[length:], n)
	}
	b = append(b, 0, 42, 0, 0)
	go func() {
		if nc, err := w.upstream.Accept(); err == nil {
			defer nc.Close()
			tls.Server(nc, &tls.Config{Certificates: []tls.Certificate{w.pki.upstream.TLS()}}).Handshake()
			io.Copy(io.Discard, nc)
		}
	}()
	nc, err := net.Dial("tcp", w.proxy.Addrs()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.Write(b)
	n := w.log.await(t, "a note", ofKind(session.KindNote)).Note
	if n.Code != session.NoteTLSFailed || !strings.Contains(n.Text, "it sends early data (0-RTT)") || n.Hint == "" {
		t.Errorf("%+v", n)
	}
}
