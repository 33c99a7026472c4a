package app

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/tui"
)

// viewers is where a recording can be watched from outside of this process.
type viewers struct {
	server *serve.Server // nil: nowhere
	local  string        // the socket, or ""
	remote net.Addr      // nil: none
	token  string        // of remote
	made   bool          // by us: nobody else knows it
}

// viewGrace is how long viewers may take to read what a recording ends with.
const viewGrace = time.Second

// offerViews serves a recording to viewers as the settings say. That they have no
// socket where none was asked for is no reason not to run.
func (h *Host) offerViews(rec *Recording, routes []tui.Route) (*viewers, error) {
	v := &viewers{}
	mode := h.Settings.Viewer
	if mode == settings.ViewerOff {
		return v, nil
	}
	config := serve.Config{Log: rec.Log, Program: build.Name(), PastForgotten: rec.Past.forgotten, Logger: h.Logger}
	for _, r := range routes {
		config.Pairs = append(config.Pairs, serve.Pair{Listen: r.Listen, Upstream: r.Upstream})
	}
	v.server = serve.New(config)
	addr := proxy.Addr{}
	if mode != settings.ViewerOn {
		var err error
		if addr, err = proxy.ParseAddr(string(mode)); err != nil {
			return nil, console.Misused("--viewer: %w", err)
		}
	}
	if addr.Network == "tcp" {
		if err := h.offerRemote(v, addr.Address); err != nil {
			return nil, err
		}
	}
	if addr.Network == "unix" {
		l, err := listenAt("viewer", addr)
		if err != nil {
			return nil, err
		}
		v.local = addr.Address
		v.server.Serve(l, "")
		return v, nil
	}
	l, path, err := serve.ListenLocal()
	if err != nil {
		h.Warn("%v; this proxy cannot be watched from elsewhere, unless --viewer names an address (off: do not try)", err)
		return v, nil
	}
	v.local = path
	v.server.Serve(l, "")
	return v, nil
}

// routesOf are pairs by the addresses that were bound.
func routesOf(p *proxy.Proxy, pairs []proxy.Pair) []tui.Route {
	var out []tui.Route
	for i, addr := range p.Addrs() {
		r := tui.Route{Listen: proxy.AddrOf(addr).String(), Upstream: pairs[i].Target()}
		if u := pairs[i].UpstreamTLS; u != nil {
			r.Unverified = u.Insecure
		}
		if l := pairs[i].ListenTLS; l != nil {
			r.Secure, r.Asked = true, l.ClientAuth == proxy.AuthRequire
			if l.Cert == "" {
				r.Roots = rootOf(l.CADir)
			}
		}
		out = append(out, r)
	}
	return out
}

// offerRemote listens on TCP, for those who know the token.
func (h *Host) offerRemote(v *viewers, address string) (err error) {
	if v.token, v.made, err = h.tokenFor("viewer", address); err != nil {
		return err
	}
	l, err := listenAt("viewer", proxy.Addr{Network: "tcp", Address: address})
	if err != nil {
		return err
	}
	v.remote = l.Addr()
	v.server.Serve(l, v.token)
	return nil
}

// tokenFor is the token that those have to know who come over TCP: the one that was
// chosen, or one that is made. An address that others can reach has to be allowed.
func (h *Host) tokenFor(flag, address string) (token string, made bool, err error) {
	if !bool(h.Settings.ViewerRemote) && !Loopback(address) {
		return "", false, console.Misconfigured("--%s %s: others could reach it from elsewhere, and its traffic is not encrypted", flag, address).
			Hint("listen on 127.0.0.1, and come through kubectl port-forward or ssh -L").
			Hint("--viewer-allow-remote allows it nevertheless")
	}
	token, err = h.Settings.ViewerToken()
	switch {
	case err != nil:
		return "", false, err
	case token == "":
		return serve.NewToken(), true, nil
	case len(token) < serve.MinToken:
		return "", false, console.Misconfigured("the token of --%s is too short: at least %d characters are wanted", flag, serve.MinToken).
			Hint("leave it out, and one is made")
	}
	return token, false, nil
}

// listenAt listens where a flag says.
func listenAt(flag string, addr proxy.Addr) (net.Listener, error) {
	if addr.Network == "unix" {
		l, err := serve.ListenUnix(addr.Address)
		if err != nil {
			return nil, console.Failed("%w", err).Hint("name another path with --%s", flag)
		}
		return l, nil
	}
	l, err := net.Listen("tcp", addr.Address)
	if err != nil {
		f := console.Failed("cannot listen for --%s on %s: %w", flag, addr.Address, netCause(err))
		if errors.Is(err, syscall.EADDRINUSE) {
			f.Hint("another program listens there; choose another port with --%s", flag)
		}
		return nil, f
	}
	return l, nil
}

// netCause is an error of the network without the address, which is said anyway.
func netCause(err error) error {
	if op, is := errors.AsType[*net.OpError](err); is {
		err = op.Err
	}
	if call, is := errors.AsType[*os.SyscallError](err); is {
		err = call.Err
	}
	return err
}

// Loopback says whether only this machine can reach an address.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// announceViews says how to watch from elsewhere. The token is told once, where
// the one who started the proxy sees it, and nowhere else.
func (h *Host) announceViews(v *viewers) {
	if v.local != "" {
		h.Logger.Debug("viewers are served", zap.String("socket", v.local))
	}
	switch {
	case v.remote == nil:
	case v.made:
		h.Tell("watch it with: %s=%s xdsproxy watch %s", serve.TokenVariable, v.token, v.remote)
	case h.Settings.ViewerTokenFile != "":
		h.Tell("watch it with: xdsproxy watch %s --viewer-token-file %s", v.remote, console.ShellWord(h.Settings.ViewerTokenFile))
	default:
		h.Tell("watch it with: xdsproxy watch %s, and %s as it is here", v.remote, serve.TokenVariable)
	}
}

// close lets viewers read to the end of a recording that was closed.
func (v *viewers) close(grace time.Duration) {
	if v != nil && v.server != nil {
		v.server.Close(grace)
	}
}
