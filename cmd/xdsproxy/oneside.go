package main

import "github.com/xdsproxy/xdsproxy/proxy"

// oneSide is how a command that is one side itself speaks TLS with the live
// other one: with clients, or with the control plane there. The pair is not
// whole.
func (a *app) oneSide(clients bool, live proxy.Addr) (pair proxy.Pair, err error) {
	table := a.pairTable()
	for _, s := range table {
		switch {
		case s.origin != fromFlag:
		case clients && (s.group == groupUpstreamTLS || s.group == groupHeaders):
			return pair, misused("%s is for --as client: with --as server there is no control plane to speak to", s.said())
		case !clients && s.group == groupClientTLS:
			return pair, misused("%s is for --as server: with --as client no client comes", s.said())
		}
	}
	if err := a.settlePair(); err != nil {
		return pair, err
	}
	c := &a.config.pair
	if clients {
		pair.ListenTLS = c.listenTLS()
	} else {
		pair.Upstream, pair.UpstreamTLS = live, c.dialTLS()
		if pair.Rewrite, err = c.rewriting(); err != nil {
			return pair, misused("%w", err).Adding(err)
		}
	}
	if u := pair.UpstreamTLS; u != nil && live.Network == "unix" && u.ServerName == "" && !u.Insecure {
		return pair, misused("TLS with %s, which has no host: whom must its certificate name?", live).
			Hint("say it with --upstream-server-name")
	}
	c.logKeys(&pair, keyLogs{})
	return pair, table.unused([]proxy.Pair{pair})
}
