package e2e

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// fault is what a middleman does to one connection, in one direction, once so
// many bytes of it have passed.
type fault struct {
	kind  faultKind
	up    bool // to what the client sends, else to what the server sends
	after int
	pause time.Duration
}

type faultKind uint8

const (
	faultNone  faultKind = iota
	faultReset           // both sockets are reset
	faultClose           // both are closed
	faultHalf            // the direction ends, and what comes of it later is thrown away
	faultStall           // nothing is read of it for a while
	faultSlow            // it is read a few bytes at a time, for a while
	faultTiny            // it is written on a few bytes at a time
	faultKinds
)

// anyFault is a fault of a random kind, often none.
func anyFault(r *rand.Rand) fault {
	f := fault{up: r.IntN(2) == 0, pause: time.Duration(20+r.IntN(1500)) * time.Millisecond}
	if r.IntN(3) > 0 {
		f.kind = faultKind(1 + r.IntN(int(faultKinds)-1))
	}
	if r.IntN(4) > 0 {
		f.after = 1 << r.IntN(18)
		f.after += r.IntN(f.after)
	}
	return f
}

// actor says who ended a connection toward the proxy first.
type actor int32

const (
	nobody actor = iota
	theProxy
	theOther // the middleman, or the peer behind it
)

// middleman is one connection through an injector.
type middleman struct {
	number  int // in the address that it dials from
	began   time.Time
	in, out *net.TCPConn
	proxy   *net.TCPConn // whichever of them leads to the proxy
	first   atomic.Int32
}

func (m *middleman) ended(by actor) { m.first.CompareAndSwap(int32(nobody), int32(by)) }

// injector stands on one leg of the proxy and does to it what networks and
// peers do.
type injector struct {
	target string
	near   bool // it stands before the proxy, else behind it
	plan   func() fault
	number func(remote net.Addr) int

	mu       sync.Mutex
	l        net.Listener
	addr     string
	byFrom   map[string][]*middleman // by the address that it was dialled from
	byNumber map[int]*middleman
	open     map[*middleman]struct{}
	faults   [faultKinds]int
	wg       sync.WaitGroup
}

func newInjector(t *testing.T, target string, near bool, plan func() fault, number func(net.Addr) int) *injector {
	t.Helper()
	i := &injector{
		target: target, near: near, plan: plan, number: number, addr: freeAddr(t),
		byFrom: map[string][]*middleman{}, byNumber: map[int]*middleman{}, open: map[*middleman]struct{}{},
	}
	if err := i.listen(); err != nil {
		t.Fatal(err)
	}
	return i
}

func (i *injector) listen() error {
	l, err := xdstest.Listen(i.addr)
	if err != nil {
		return err
	}
	i.mu.Lock()
	i.l, i.addr = l, l.Addr().String()
	i.mu.Unlock()
	i.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			i.wg.Go(func() { i.serve(c.(*net.TCPConn)) })
		}
	})
	return nil
}

// refuse makes it refuse connections for a while.
func (i *injector) refuse(d time.Duration) error {
	i.mu.Lock()
	l := i.l
	i.mu.Unlock()
	l.Close()
	time.Sleep(d)
	return i.listen()
}

// close resets what is open and waits until it is over.
func (i *injector) close() {
	i.mu.Lock()
	i.l.Close()
	for m := range i.open {
		m.ended(theOther)
		abort(m.in)
		abort(m.out)
	}
	i.mu.Unlock()
	i.wg.Wait()
}

func abort(c *net.TCPConn) {
	_ = c.SetLinger(0)
	c.Close()
}

// numbered is an address of the loopback network that tells connections apart.
func numbered(base, n int) *net.TCPAddr {
	return &net.TCPAddr{IP: net.IPv4(127, byte(base+n/62500), byte(1+n/250%250), byte(1+n%250))}
}

// numberOf undoes numbered.
func numberOf(base int, ip net.IP) int {
	b := ip.To4()
	return (int(b[1])-base)*62500 + (int(b[2])-1)*250 + int(b[3]) - 1
}

func (i *injector) serve(in *net.TCPConn) {
	m := &middleman{began: time.Now(), in: in, number: i.number(in.RemoteAddr())}
	from := in.RemoteAddr().String()
	i.mu.Lock()
	i.byFrom[from] = append(i.byFrom[from], m)
	i.byNumber[m.number] = m
	i.mu.Unlock()
	base := nearBase
	if !i.near {
		base = farBase
	}
	d := net.Dialer{LocalAddr: numbered(base, m.number), Timeout: patience}
	out, err := d.Dial("tcp", i.target)
	if err != nil {
		m.ended(theOther)
		abort(in)
		return
	}
	m.out = out.(*net.TCPConn)
	m.proxy = m.in
	if i.near {
		m.proxy = m.out
	}
	f := i.plan()
	i.mu.Lock()
	i.open[m] = struct{}{}
	i.faults[f.kind]++
	i.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { m.pump(m.in, m.out, f, f.up) })
	both.Go(func() { m.pump(m.out, m.in, f, !f.up) })
	both.Wait()
	m.ended(theOther)
	m.in.Close()
	m.out.Close()
	i.mu.Lock()
	delete(i.open, m)
	i.mu.Unlock()
}

// pump moves bytes one way. Whoever ends the connection toward the proxy is
// noted before the proxy can notice.
func (m *middleman) pump(src, dst *net.TCPConn, f fault, mine bool) {
	by := theOther
	if src == m.proxy {
		by = theProxy
	}
	buf := make([]byte, 16<<10)
	passed, until := 0, time.Time{}
	for {
		p := buf
		if mine && f.kind == faultSlow && passed >= f.after && passed < f.after+4096 {
			p = buf[:64]
			time.Sleep(2 * time.Millisecond)
		}
		n, err := src.Read(p)
		data := p[:n]
		if mine && f.kind != faultNone && passed+n >= f.after && until.IsZero() {
			until = time.Now().Add(f.pause)
			switch f.kind {
			case faultReset, faultClose:
				m.ended(theOther)
				if f.kind == faultReset {
					abort(m.in)
					abort(m.out)
				}
				m.in.Close()
				m.out.Close()
				return
			case faultHalf:
				if dst == m.proxy {
					m.ended(theOther)
				}
				_ = dst.CloseWrite()
				_ = src.SetReadDeadline(until)
				_, _ = io.Copy(io.Discard, src)
				// A peer that hears nothing more would wait for ever.
				m.ended(theOther)
				m.in.Close()
				m.out.Close()
				return
			case faultStall:
				time.Sleep(f.pause)
			}
		}
		step := len(data)
		if mine && f.kind == faultTiny && passed >= f.after && passed < f.after+4096 {
			step = 1 + passed%7
		}
		passed += n
		for len(data) > 0 {
			k := min(step, len(data))
			if _, werr := dst.Write(data[:k]); werr != nil {
				// dst has ended; its own pump has noted who, unless it waits.
				if dst == m.proxy {
					m.ended(theProxy)
				} else {
					m.ended(theOther)
				}
				abort(m.in)
				abort(m.out)
				return
			}
			data = data[k:]
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			m.ended(by)
			_ = dst.CloseWrite()
			return
		default:
			m.ended(by)
			abort(m.in)
			abort(m.out)
			return
		}
	}
}

// find returns the connection that was dialled from an address in this time, nil
// if there is none, or more than one.
func (i *injector) find(from string, after, before time.Time) (found *middleman) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, m := range i.byFrom[from] {
		switch {
		case m.began.Before(after) || m.began.After(before):
		case found != nil:
			return nil
		default:
			found = m
		}
	}
	return found
}

// numbered returns the connection of a client.
func (i *injector) numbered(n int) *middleman {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.byNumber[n]
}

func (i *injector) counts() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	names := [...]string{"none", "reset", "close", "half-close", "stall", "slow", "tiny"}
	text := ""
	for k, n := range i.faults {
		text += fmt.Sprintf(" %s %d", names[k], n)
	}
	return text
}
