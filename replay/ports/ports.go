// Package ports puts listeners of a recording where they can listen on this
// machine. It tries an address by taking it itself, for a moment, and changes
// of a response nothing but addresses that cannot be had.
package ports

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// Book remembers which address stands for which, so that a listener stays where
// it was put, and one that its client already has is not taken for somebody
// else's. It may be used by several goroutines.
type Book struct {
	mu    sync.Mutex
	made  map[key]moved
	given map[place]bool
}

type moved struct {
	to  place
	why string
}

type key struct {
	client string
	place
}

type place struct {
	udp bool
	at  netip.AddrPort
}

// maxMade bounds the addresses that are remembered; what is beyond is left.
const maxMade = 1 << 16

// Place returns where a client is to listen instead of at an address, and why; ""
// if the address can be had.
func (b *Book) Place(client string, udp bool, at netip.AddrPort) (netip.AddrPort, string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := key{client, place{udp, at}}
	if m, known := b.made[k]; known {
		return m.to.at, m.why
	}
	if b.made == nil {
		b.made, b.given = map[key]moved{}, map[place]bool{}
	}
	if len(b.made) >= maxMade {
		return at, ""
	}
	m := moved{to: k.place}
	if err := try(m.to); err != nil {
		if m.to = b.other(m.to); m.to != k.place {
			m.why = why(err)
		}
	}
	b.made[k] = m
	b.given[m.to] = true
	return m.to.at, m.why
}

// other is a place at the loopback: with the same port, if that can be had. It is
// the same place if there is none.
func (b *Book) other(p place) place {
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if p.at.Addr().Is6() && !p.at.Addr().Is4In6() {
		loopback = netip.IPv6Loopback()
	}
	for _, ip := range []netip.Addr{loopback, netip.AddrFrom4([4]byte{127, 0, 0, 1})} {
		to := place{p.udp, netip.AddrPortFrom(ip, p.at.Port())}
		if !b.given[to] && try(to) == nil {
			return to
		}
		for range 8 {
			if to.at = free(p.udp, ip); to.at.IsValid() && !b.given[to] {
				return to
			}
		}
	}
	return p
}

// try says why nobody can listen somewhere; nil if somebody can, or if it cannot
// be told.
func try(p place) error {
	_, err := take(p.udp, p.at)
	for _, e := range []error{syscall.EADDRINUSE, syscall.EADDRNOTAVAIL, syscall.EACCES, syscall.EAFNOSUPPORT} {
		if errors.Is(err, e) {
			return e
		}
	}
	return nil
}

// free is a free port of an address; not valid if there is none.
func free(udp bool, ip netip.Addr) netip.AddrPort {
	at, _ := take(udp, netip.AddrPortFrom(ip, 0))
	return at
}

// take takes an address for a moment, and returns it.
func take(udp bool, at netip.AddrPort) (netip.AddrPort, error) {
	if udp {
		return listen(udp, at)
	}
	return bind(at)
}

// listen listens for a moment, and returns where.
func listen(udp bool, at netip.AddrPort) (netip.AddrPort, error) {
	var c net.ListenConfig
	if udp {
		l, err := c.ListenPacket(context.Background(), "udp", at.String())
		if err != nil {
			return netip.AddrPort{}, err
		}
		defer l.Close()
		return l.LocalAddr().(*net.UDPAddr).AddrPort(), nil
	}
	l, err := c.Listen(context.Background(), "tcp", at.String())
	if err != nil {
		return netip.AddrPort{}, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort(), nil
}

func why(err error) string {
	switch err {
	case syscall.EADDRINUSE:
		return "is in use"
	case syscall.EACCES:
		return "needs privileges"
	}
	return "is no address of this machine"
}
