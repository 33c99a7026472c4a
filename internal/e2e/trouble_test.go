package e2e

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/xdsproxy/xdsproxy/session"
)

// notes are the codes of the notes in the recording.
func (p *proxy) notes(t *testing.T) []session.NoteCode {
	t.Helper()
	var out []session.NoteCode
	for _, e := range p.entries(t) {
		if e.Kind == session.KindNote {
			out = append(out, e.Note.Code)
		}
	}
	return out
}

// said is what the notes in the recording say, with their hints.
func (p *proxy) said(t *testing.T) string {
	t.Helper()
	var out []string
	for _, e := range p.entries(t) {
		if e.Kind == session.KindNote {
			out = append(out, e.Note.Text+" ("+e.Note.Hint+")")
		}
	}
	return strings.Join(out, "\n")
}

func TestRefusedUpstream(t *testing.T) {
	t.Parallel()
	p := startProxy(t, freeAddr(t))
	// The reset may come before the client has noticed that it is connected.
	conn, err := net.Dial("tcp", p.addr)
	if err == nil {
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client got %v, want a reset", err)
	}
	p.stop(t)
	if notes := p.notes(t); !slices.Contains(notes, session.NoteDialFailed) {
		t.Errorf("notes in the recording: %q", notes)
	}
	if f := p.info(t); !f.Complete || f.Connections != 1 {
		t.Errorf("info: %+v", f)
	}
}

// What is not HTTP/2, from the beginning or from some byte on, passes all the
// same, and the recording says that it could not be read.
func TestGarbage(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 300_000)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
		noise[i] = byte(r.Uint32())
	}
	for name, first := range map[string]string{
		"from the beginning": "",
		"after the preface":  http2.ClientPreface,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			echoed := make(chan error, 1)
			go func() {
				conn, err := l.Accept()
				if err == nil {
					_, err = io.Copy(conn, conn)
					conn.Close()
				}
				echoed <- err
			}()
			inner := startPipe(t, l.Addr().String())
			p := startProxy(t, inner.addr)
			outer := startPipe(t, p.addr)
			conn, err := net.Dial("tcp", outer.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(patience))
			sent := append([]byte(first), noise...)
			go func() {
				_, _ = conn.Write(sent)
				_ = conn.(*net.TCPConn).CloseWrite()
			}()
			got, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, sent) {
				t.Errorf("%d bytes came back of %d", len(got), len(sent))
			}
			l.Close()
			if err := <-echoed; err != nil {
				t.Error(err)
			}
			sameBytes(t, outer.first(t), inner.first(t))
			p.stop(t)
			if notes := p.notes(t); !slices.Contains(notes, session.NoteBlind) {
				t.Errorf("notes in the recording: %q", notes)
			}
		})
	}
}
