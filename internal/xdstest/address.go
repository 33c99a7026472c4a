package xdstest

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"
)

// Listen opens a listener at host:port, or at a unix socket written unix:/path
// or unix:@abstract. An address that was let go a moment ago is tried again
// for a few seconds: a process that was forked in that moment has the old listener
// open until it is the other program.
func Listen(addr string) (net.Listener, error) {
	network, address := "tcp", addr
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, address = "unix", strings.TrimPrefix(path, "//")
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		l, err := net.Listen(network, address)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			return nil, fmt.Errorf("cannot listen on %s: %w", addr, err)
		}
	}
}

// addressOf writes a listener's address the way Listen reads it.
func addressOf(l net.Listener) string {
	if l.Addr().Network() == "unix" {
		return "unix:" + l.Addr().String()
	}
	return l.Addr().String()
}

// target writes an address as a gRPC dial target that no resolver looks up.
func target(addr string) string {
	switch {
	case strings.HasPrefix(addr, "unix:@"):
		return "unix-abstract:" + addr[len("unix:@"):]
	case strings.HasPrefix(addr, "unix:"):
		return addr
	}
	return "passthrough:///" + addr
}
