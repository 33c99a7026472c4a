package settings

import (
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// OneSide is how a command that is one side itself speaks TLS with the live
// other one: with clients, or with the control plane there. The pair is not
// whole.
func (ss *Settings) OneSide(clients bool, live proxy.Addr) (pair proxy.Pair, err error) {
	table := ss.pairTable()
	for _, s := range table {
		switch {
		case s.Origin != fromFlag:
		case clients && (s.Group == GroupUpstreamTLS || s.Group == GroupHeaders):
			return pair, console.Misused("%s is for --as client: with --as server there is no control plane to speak to", s.said())
		case !clients && s.Group == GroupClientTLS:
			return pair, console.Misused("%s is for --as server: with --as client no client comes", s.said())
		}
	}
	if err := ss.settlePair(); err != nil {
		return pair, err
	}
	c := &ss.pair
	if clients {
		pair.ListenTLS = c.listenTLS()
	} else {
		pair.Upstream, pair.UpstreamTLS = live, c.dialTLS()
		if pair.Rewrite, err = c.rewriting(); err != nil {
			return pair, console.Misused("%w", err).Adding(err)
		}
	}
	if u := pair.UpstreamTLS; u != nil && live.Network == "unix" && u.ServerName == "" && !u.Insecure {
		return pair, console.Misused("TLS with %s, which has no host: whom must its certificate name?", live).
			Hint("say it with --upstream-server-name")
	}
	c.logKeys(&pair, keyLogs{})
	return pair, table.unused([]proxy.Pair{pair})
}
