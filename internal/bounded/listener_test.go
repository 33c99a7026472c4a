package bounded

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// pairs are connections that were accepted one after the other, and their peers.
type pairs struct {
	t            *testing.T
	l            net.Listener
	conns, peers []net.Conn
}

func newPairs(t *testing.T, limit int) *pairs {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return &pairs{t: t, l: NewListener(l, limit)}
}

func (p *pairs) add() *Conn {
	p.t.Helper()
	peer, err := net.Dial("tcp", p.l.Addr().String())
	if err != nil {
		p.t.Fatal(err)
	}
	c, err := p.l.Accept()
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _, _ = peer.Close(), c.Close() })
	p.conns, p.peers = append(p.conns, c), append(p.peers, peer)
	return Of(c.RemoteAddr())
}

// open says which of them are.
func (p *pairs) open() (out []int) {
	for i, c := range p.conns {
		_ = c.SetReadDeadline(time.Now())
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			out = append(out, i)
		}
	}
	return out
}

func (p *pairs) are(want ...int) {
	p.t.Helper()
	got := p.open()
	if len(got) != len(want) {
		p.t.Fatalf("open are %v, not %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			p.t.Fatalf("open are %v, not %v", got, want)
		}
	}
}

func TestOldestIdleGoes(t *testing.T) {
	p := newPairs(t, 2)
	first := p.add()
	first.Busy()
	first.Busy()
	p.add()
	p.add()
	p.are(0, 1, 2) // who is served takes no room of those who are not
	p.add()
	p.are(0, 2, 3)
	first.Idle()
	p.are(0, 2, 3) // it serves somebody still
	first.Idle()
	p.are(0, 3)
	_ = p.conns[3].Close()
	p.add()
	p.are(0, 4) // a closed one has made room
	p.add()
	p.are(4, 5)
	first.Busy() // what is closed stays so
	p.are(4, 5)
}

func TestOldestBusyGoes(t *testing.T) {
	p := newPairs(t, 2)
	for range 3 {
		p.add().Busy()
	}
	p.are(1, 2)
	p.add()
	p.are(1, 2, 3)
}

func TestOthersAddress(t *testing.T) {
	if c := Of(&net.TCPAddr{}); c != nil {
		t.Error(c)
	}
}
