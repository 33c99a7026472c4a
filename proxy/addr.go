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

// Listen binds a. A unix socket that nobody listens on any more is replaced. One that
// somebody else has put in the place of this one stays when this one is closed.
func (a Addr) Listen() (net.Listener, error) {
	l, err := net.Listen(a.Network, a.Address)
	if a.Network != "unix" {
		return l, err
	}
	if errors.Is(err, syscall.EADDRINUSE) && a.abandoned() && os.Remove(a.Address) == nil {
		l, err = net.Listen(a.Network, a.Address)
	}
	u, is := l.(*net.UnixListener)
	if err != nil || !is {
		return l, err
	}
	made, err := os.Lstat(a.Address)
	if err != nil {
		return l, nil // it has no file: an abstract one
	}
	u.SetUnlinkOnClose(false)
	return &unixListener{u, a.Address, made}, nil
}

// abandoned says whether nobody listens on a unix socket that is there.
func (a Addr) abandoned() bool {
	c, err := net.Dial("unix", a.Address)
	if err == nil {
		c.Close()
		return false
	}
	fi, gone := os.Lstat(a.Address)
	return errors.Is(err, syscall.ECONNREFUSED) && gone == nil && fi.Mode()&os.ModeSocket != 0
}

// unixListener removes its file when it is closed, if that is still its own.
type unixListener struct {
	*net.UnixListener
	path string
	made os.FileInfo
}

func (l *unixListener) Close() error {
	if now, err := os.Lstat(l.path); err == nil && os.SameFile(l.made, now) && now.ModTime().Equal(l.made.ModTime()) {
		_ = os.Remove(l.path)
	}
	return l.UnixListener.Close()
}
