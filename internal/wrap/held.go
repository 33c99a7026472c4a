package wrap

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/held"
)

// Held is where the command can be asked what it holds, as its bootstrap says; nil if
// nobody wants to.
func (p *Plan) Held(wanted bool) []held.Place {
	if !wanted {
		return nil
	}
	addr, free := p.Doc.Admin()
	if free {
		p.con.Say("Envoy's admin port is any that is free, so that Envoy is not asked what it holds; give it a port in the bootstrap for that")
	}
	if addr == "" {
		return nil
	}
	place := held.Place{Source: held.EnvoyAdmin, Network: "tcp", Address: addr}
	if path, is := strings.CutPrefix(addr, "unix:"); is {
		place.Network, place.Address = "unix", path
	}
	return []held.Place{place}
}
