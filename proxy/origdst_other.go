//go:build !linux

package proxy

import (
	"net"
	"net/netip"
)

// canOriginalDst says whether this system tells where a redirected connection
// was going.
const canOriginalDst = false

func originalDst(net.Conn) (netip.AddrPort, error) { return netip.AddrPort{}, errNoOriginalDst }
