package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
)

// reserve finds an address, and keeps it for this test until its end: a listener may
// have it, again and again, but the system gives its port to nobody who asks for any.
//
// It is bound and never listened at. A process that another test starts has what this
// one has open until it is the other program: a listener that was closed here may be
// open there for a moment, and then nobody else may listen.
func reserve(t *testing.T) (string, error) {
	t.Helper()
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", os.NewSyscallError("socket", err)
	}
	t.Cleanup(func() { _ = syscall.Close(s) })
	// Both may bind, as nobody listens at this socket and a listener sets it too.
	if err := syscall.SetsockoptInt(s, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return "", os.NewSyscallError("setsockopt", err)
	}
	for range 100 {
		at := syscall.SockaddrInet4{Port: 10_000 + rand.IntN(22_000), Addr: [4]byte{127, 0, 0, 1}}
		if err = syscall.Bind(s, &at); err == nil {
			return fmt.Sprintf("127.0.0.1:%d", at.Port), nil
		}
	}
	return "", os.NewSyscallError("bind", err)
}
