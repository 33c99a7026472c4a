//go:build unix

package ports

import (
	"net/netip"
	"syscall"
)

// bind takes an address of TCP for a moment, and returns it. It does not listen there:
// so it fails where somebody listens, and stands in nobody's way, neither in that of
// another replay that tries the same nor of the client that is to listen there.
func bind(at netip.AddrPort) (netip.AddrPort, error) {
	ip := at.Addr().Unmap()
	if ip.Zone() != "" {
		return listen(false, at)
	}
	family, to := syscall.AF_INET, syscall.Sockaddr(&syscall.SockaddrInet4{Port: int(at.Port())})
	if ip.Is4() {
		to.(*syscall.SockaddrInet4).Addr = ip.As4()
	} else {
		family, to = syscall.AF_INET6, &syscall.SockaddrInet6{Port: int(at.Port()), Addr: ip.As16()}
	}
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return netip.AddrPort{}, err
	}
	defer syscall.Close(fd)
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return netip.AddrPort{}, err
	}
	if err := syscall.Bind(fd, to); err != nil {
		return netip.AddrPort{}, err
	}
	got, err := syscall.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, err
	}
	switch got := got.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(got.Addr), uint16(got.Port)), nil
	case *syscall.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(got.Addr), uint16(got.Port)), nil
	}
	return at, nil
}
