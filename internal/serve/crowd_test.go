package serve

import (
	"context"
	"net"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// Connections that ask for nothing keep no viewer from coming, and none that is
// there, even if it waits for what has not been written yet.
func TestViewersAreNotStarved(t *testing.T) {
	for name, greeting := range map[string]string{
		"silent":  "",
		"settled": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			log, f := newLog(t, recorder.Options{}, false), newTraffic()
			s := New(Config{Log: log})
			t.Cleanup(func() { s.Close(0) })
			l, token := listen(t, "tcp")
			s.Serve(l, token)
			addr := l.Addr().String()
			write(t, log, f, 10)
			lost := make(chan State, 1)
			o := quick()
			o.State = func(s State) {
				select {
				case lost <- s:
				default:
				}
			}
			waiting := dial(t, "tcp", addr, o).Open(0, 0)
			defer waiting.Close()
			waiting.Follow(true)
			for range 10 {
				if _, err := waiting.Next(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(xdstest.Crowd(addr, greeting, 300))

			r := dial(t, "tcp", addr, quick()).Open(0, 0)
			defer r.Close()
			if got, err := all(r); err != nil || len(got) != 10 {
				t.Errorf("%d entries, %v", len(got), err)
			}
			write(t, log, f, 1)
			if _, err := waiting.Next(context.Background()); err != nil {
				t.Error(err)
			}
			select {
			case s := <-lost:
				t.Errorf("a viewer that waited was lost: %v", s.Cause)
			default:
			}
		})
	}
}

// A proxy that has to make room hangs up on who has not spoken yet.
func TestAskedAgainWhereItHangsUp(t *testing.T) {
	log, f := newLog(t, recorder.Options{}, false), newTraffic()
	write(t, log, f, 3)
	s := New(Config{Log: log})
	t.Cleanup(func() { s.Close(0) })
	l, token := listen(t, "tcp")
	s.Serve(&crowded{Listener: l, hangUps: inquiries - 1}, token)
	c, err := Dial(t.Context(), "tcp", l.Addr().String(), quick())
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Info().Facts.Entries; got != 3 {
		t.Errorf("%d entries", got)
	}
}

// crowded hangs up on the first connections.
type crowded struct {
	net.Listener
	hangUps int
}

func (l *crowded) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || l.hangUps == 0 {
			return c, err
		}
		l.hangUps--
		_ = c.Close()
	}
}
