package wrap

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/bootstrap"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// Servers are those that a proxy can stand in for; of the others it is
// said why it cannot.
func (p *Plan) Servers() ([]*bootstrap.Server, error) {
	var servers []*bootstrap.Server
	var why []string
	secured := false
	for _, s := range p.Doc.Servers {
		if s.Obstacle == nil {
			servers = append(servers, s)
			continue
		}
		secured = secured || s.Obstacle.Secured
		why = append(why, fmt.Sprintf("%s: %s", describe(s), render.Safe(s.Obstacle.Why)))
	}
	const plaintext = "certificates can be taken over from files and from the bootstrap itself; else name a plaintext port of the server there, such as Istio's 15010"
	switch {
	case len(p.Doc.Servers) == 0:
		return nil, console.Failed("%s names no xDS server", p.Name).
			Hint("Envoy names them by ads_config or another config source with grpc_services or cluster_names, gRPC by xds_servers")
	case len(servers) == 0:
		f := console.Failed("%s names no xDS server that can be wrapped", p.Name)
		for _, w := range why {
			f.Hint("%s", w)
		}
		if secured {
			f.Hint(plaintext)
		}
		return nil, f
	}
	for _, w := range why {
		p.con.Warn("cannot wrap %s; the command goes there directly", w)
	}
	if secured {
		p.con.Tell("xdsproxy: hint: %s", plaintext)
	}
	for _, w := range p.Doc.Warnings {
		p.con.Warn("%s", w)
	}
	return servers, nil
}

// describe names a server as the one who wrote the bootstrap knows it.
func describe(s *bootstrap.Server) string {
	text := s.Address
	if names := strings.Join(s.Names, ", "); text == "" {
		text = "cluster " + names
	} else if names != "" {
		text += " (" + names + ")"
	}
	what := []string{}
	for _, u := range s.Uses {
		if len(what) == 0 || what[len(what)-1] != u.What {
			what = append(what, u.What)
		}
	}
	return render.Safe(text + ", for " + strings.Join(what, ", "))
}

// Pairs puts a listener in front of each server, of the kind that the client
// expects there: its sockets in dir, or any port of loopback.
func (p *Plan) Pairs(servers []*bootstrap.Server, dir string) ([]proxy.Pair, error) {
	pairs := make([]proxy.Pair, len(servers))
	for i, s := range servers {
		upstream, err := proxy.ParseAddr(s.Address)
		if err != nil {
			return nil, console.Failed("%s: %w", describe(s), err)
		}
		pairs[i] = proxy.Pair{Listen: proxy.Addr{Network: "tcp", Address: "127.0.0.1:0"}, Upstream: upstream}
		switch {
		case s.Private():
			pairs[i].Listen = proxy.Addr{Network: "unix", Address: filepath.Join(dir, fmt.Sprintf("%d.sock", i+1))}
		case s.IPv6:
			pairs[i].Listen.Address = "[::1]:0"
		}
		if s.TLS == nil {
			continue
		}
		if pairs[i].UpstreamTLS, err = inPlaceOf(s, p.Name, filepath.Join(dir, strconv.Itoa(i+1))); err != nil {
			return nil, console.Failed("cannot wrap %s: %w", describe(s), err)
		}
		if s.TLS.AnyRoot && len(s.TLS.Pins) == 0 {
			p.con.Warn("%s: the command takes any certificate there (its TLS context has no trusted_ca), and so does xdsproxy", describe(s))
		}
	}
	return pairs, nil
}
