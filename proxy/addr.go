package proxy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Addr is where to listen or what to dial.
type Addr struct {
	Network string // "tcp" or "unix"
	Address string // "host:port", a path, or "@name" for an abstract socket
}

// String is the form that ParseAddr reads.
func (a Addr) String() string {
	if a.Network == "unix" {
		return "unix:" + a.Address
	}
	return a.Address
}

// AddrOf is the address of a listener.
func AddrOf(a net.Addr) Addr { return Addr{Network: a.Network(), Address: a.String()} }

// Authority is the :authority by which clients ask at an address.
func (a Addr) Authority() string {
	if _, _, err := net.SplitHostPort(a.Address); a.Network == "unix" || err != nil {
		return "localhost"
	}
	return a.Address
}

// ParseAddr reads "host:port", "[::1]:port", ":port", "unix:/path",
// "unix:///path" or "unix:@abstract".
func ParseAddr(s string) (Addr, error) {
	if path, ok := strings.CutPrefix(s, "unix:"); ok {
		if strings.HasPrefix(path, "///") {
			path = path[2:]
		}
		if path == "" || path == "@" {
			return Addr{}, fmt.Errorf("address %q has no path", s)
		}
		return Addr{"unix", path}, nil
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return Addr{}, fmt.Errorf("address %q is neither host:port nor unix:/path", s)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Addr{}, fmt.Errorf("address %q has no port between 0 and 65535", s)
	} else {
		port = strconv.FormatUint(n, 10)
	}
	return Addr{"tcp", net.JoinHostPort(host, port)}, nil
}

// Listen binds a. A unix socket that nobody listens on any more is replaced.
func (a Addr) Listen() (net.Listener, error) {
	l, err := net.Listen(a.Network, a.Address)
	if a.Network != "unix" || !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	if c, derr := net.Dial("unix", a.Address); derr == nil {
		c.Close()
		return nil, err
	} else if !errors.Is(derr, syscall.ECONNREFUSED) {
		return nil, err
	}
	if fi, serr := os.Lstat(a.Address); serr != nil || fi.Mode()&os.ModeSocket == 0 {
		return nil, err
	}
	if rerr := os.Remove(a.Address); rerr != nil {
		return nil, err
	}
	return net.Listen(a.Network, a.Address)
}
