//go:build !linux

package proxy

import (
	"net"
	"net/netip"
	"syscall"
)

// canOriginalDst says whether this system tells where a redirected connection
// was going.
const canOriginalDst = false

func originalDst(net.Conn) (netip.AddrPort, error) { return netip.AddrPort{}, errNoOriginalDst }

func bindAny(string, syscall.RawConn) (int, error) { return 0, errNoOriginalDst }
