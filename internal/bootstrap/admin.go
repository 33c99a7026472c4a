package bootstrap

import (
	"math"
	"net"
	"net/netip"
	"strconv"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// Admin is where the admin interface of this Envoy can be reached from its machine:
// host:port or unix:/path; "" if it has none. free says that it has one, at a port that
// is free then.
func (d *Document) Admin() (addr string, free bool) {
	if d.Kind != Envoy {
		return "", false
	}
	at := field(field(d.root, "admin"), "address")
	if path := text(field(field(at, "pipe"), "path")); path != "" {
		return "unix:" + path, false
	}
	socket := field(at, "socket_address")
	host := text(field(socket, "address"))
	number, ok := lenient.Number(field(socket, "port_value"))
	switch ip, err := netip.ParseAddr(host); {
	case host == "" || field(socket, "port_value") != nil && !ok || number > math.MaxUint16:
		return "", false
	case number == 0:
		return "", true
	case err == nil && ip.IsUnspecified() && ip.Is4():
		host = "127.0.0.1"
	case err == nil && ip.IsUnspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, strconv.Itoa(int(number))), false
}
