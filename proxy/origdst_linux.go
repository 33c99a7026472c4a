package proxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// canOriginalDst says whether this system tells where a redirected connection
// was going.
const canOriginalDst = true

// originalDst asks the system where a client was going when a rule of netfilter
// (REDIRECT) brought it here.
func originalDst(nc net.Conn) (netip.AddrPort, error) {
	local, is := nc.LocalAddr().(*net.TCPAddr)
	if !is {
		return netip.AddrPort{}, errNotRedirected
	}
	raw, err := nc.(syscall.Conn).SyscallConn()
	if err != nil {
		return netip.AddrPort{}, err
	}
	var to netip.AddrPort
	var asking error
	ask := askOriginal6
	if local.IP.To4() != nil { // also where the listener is of both families
		ask = askOriginal4
	}
	if err := raw.Control(func(fd uintptr) { to, asking = ask(int(fd)) }); err != nil {
		return netip.AddrPort{}, err
	}
	switch {
	case errors.Is(asking, unix.ENOENT), errors.Is(asking, unix.ENOPROTOOPT):
		// Connection tracking does not know it, or is not there at all.
		return netip.AddrPort{}, errNotRedirected
	case asking != nil:
		return netip.AddrPort{}, fmt.Errorf("cannot ask where it was going: %w", os.NewSyscallError("getsockopt", asking))
	}
	return to, nil
}

// askOriginal4 is for IPv4: a sockaddr_in (16 bytes) of which x/sys has no
// reader fits into another structure that it can read.
func askOriginal4(fd int) (netip.AddrPort, error) {
	m, err := unix.GetsockoptIPv6Mreq(fd, unix.IPPROTO_IP, unix.SO_ORIGINAL_DST)
	if err != nil {
		return netip.AddrPort{}, err
	}
	b := m.Multiaddr // family, port, address
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:4])), nil
}

// askOriginal6 is for IPv6: IP6T_SO_ORIGINAL_DST has the number of
// SO_ORIGINAL_DST, and gives a sockaddr_in6 (28 bytes).
func askOriginal6(fd int) (netip.AddrPort, error) {
	m, err := unix.GetsockoptIPv6MTUInfo(fd, unix.IPPROTO_IPV6, unix.SO_ORIGINAL_DST)
	if err != nil {
		return netip.AddrPort{}, err
	}
	ip := netip.AddrFrom16(m.Addr.Addr)
	if m.Addr.Scope_id != 0 {
		ip = ip.WithZone(strconv.FormatUint(uint64(m.Addr.Scope_id), 10))
	}
	var port [2]byte // in the order of the network
	binary.NativeEndian.PutUint16(port[:], m.Addr.Port)
	return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(port[:])), nil
}

// bindAny gives a socket a port of its own before it connects.
func bindAny(network string, raw syscall.RawConn) (port int, err error) {
	var anywhere unix.Sockaddr = &unix.SockaddrInet4{}
	if network == "tcp6" {
		anywhere = &unix.SockaddrInet6{}
	}
	var bound unix.Sockaddr
	controlled := raw.Control(func(fd uintptr) {
		if err = unix.Bind(int(fd), anywhere); err == nil {
			bound, err = unix.Getsockname(int(fd))
		}
	})
	if err = errors.Join(controlled, err); err != nil {
		return 0, err
	}
	switch a := bound.(type) {
	case *unix.SockaddrInet4:
		return a.Port, nil
	case *unix.SockaddrInet6:
		return a.Port, nil
	}
	return 0, fmt.Errorf("a socket of %T", bound)
}
