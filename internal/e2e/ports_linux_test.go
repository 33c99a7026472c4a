package e2e

import (
	"net/netip"
	"os"
	"syscall"
	"testing"
)

// reserve keeps an address for this test until its end: a listener may have it, again
// and again, but the system gives its port to nobody who asks for any port. Some
// systems give every port from 16000 on.
func reserve(t *testing.T, addr string) {
	t.Helper()
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(os.NewSyscallError("socket", err))
	}
	t.Cleanup(func() { _ = syscall.Close(s) })
	// Both may bind, as nobody listens at this socket and a listener sets it too.
	if err := syscall.SetsockoptInt(s, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		t.Fatal(os.NewSyscallError("setsockopt", err))
	}
	if err := syscall.Bind(s, &syscall.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		t.Fatal(os.NewSyscallError("bind", err))
	}
}
