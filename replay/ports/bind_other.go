//go:build !unix

package ports

import "net/netip"

// bind takes an address of TCP for a moment, and returns it.
func bind(at netip.AddrPort) (netip.AddrPort, error) { return listen(false, at) }
