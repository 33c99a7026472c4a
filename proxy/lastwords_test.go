package proxy

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// A server that says why it hangs up, while its client still sends, is heard: as without
// the proxy. So is a client.
func TestLastWordsArrive(t *testing.T) {
	for _, v := range []struct {
		name   string
		secure mode
	}{{"plaintext", mode{}}, {"TLS to server", mode{server: true}}} {
		t.Run(v.name, func(t *testing.T) {
			w := newSecureWorld(t, v.secure, loopback, loopback, 0)
			for n := range 30 {
				client, server := w.dial()
				client.Write(grpcOpening())
				io.CopyN(io.Discard, server, int64(len(grpcOpening())))
				saysLast(t, server, client, time.Duration(n%3)*10*time.Millisecond)
			}
		})
	}
	t.Run("unix", func(t *testing.T) {
		dir := t.TempDir()
		w := newWorld(t, Addr{"unix", filepath.Join(dir, "l")}, Addr{"unix", filepath.Join(dir, "u")}, 0)
		for range 30 {
			client, server := w.dial()
			saysLast(t, server, client, 10*time.Millisecond)
		}
	})
	t.Run("of a client", func(t *testing.T) {
		w := newWorld(t, loopback, loopback, 0)
		for range 30 {
			client, server := w.dial()
			client.Write(grpcOpening())
			io.CopyN(io.Discard, server, int64(len(grpcOpening())))
			saysLast(t, client, server, 10*time.Millisecond)
		}
	})
}

// saysLast has who says something and closes, without having read all that the other one
// sends, which reads that.
func saysLast(t *testing.T, who, other net.Conn, after time.Duration) {
	t.Helper()
	words := strings.Repeat("because ", 8)
	go func() {
		for block := make([]byte, 64<<10); ; {
			if _, err := other.Write(block); err != nil {
				return
			}
		}
	}()
	go func() {
		io.CopyN(io.Discard, who, 100)
		time.Sleep(after)
		io.WriteString(who, words)
		who.Close()
	}()
	got, _ := io.ReadAll(other) // an error is the end, too
	other.Close()
	if string(got) != words {
		t.Errorf("%d of %d bytes arrived", len(got), len(words))
	}
}

// Where neither side takes anything any more the pair ends, and what did not arrive is
// told.
func TestLastWordsOfBoth(t *testing.T) {
	w := newWorld(t, loopback, loopback, 0)
	for range 20 {
		client, server := w.dial()
		client.Write(grpcOpening())
		io.CopyN(io.Discard, server, int64(len(grpcOpening())))
		for _, c := range []net.Conn{client, server} {
			go func() {
				for block := make([]byte, 64<<10); ; {
					if _, err := c.Write(block); err != nil {
						return
					}
				}
			}()
		}
		time.Sleep(5 * time.Millisecond)
		client.Close()
		server.Close()
	}
	for range 20 {
		w.log.await(t, "disconnect", ofKind(session.KindDisconnect))
	}
}
