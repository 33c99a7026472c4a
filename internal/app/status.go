package app

import (
	"net"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/csds"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// StatusServer gives clients of CSDS the account of a session; nil: nobody asked for
// that.
type StatusServer struct {
	*csds.Server
	View  *csds.View
	addr  net.Addr
	token string // that was made here, and nobody else knows
}

// OfferStatus listens where a flag says. Over loopback and on a socket nobody is
// asked for a token.
func (h *Host) OfferStatus(view *csds.View, flag, address string) (*StatusServer, error) {
	addr, err := proxy.ParseAddr(address)
	if err != nil {
		return nil, console.Misused("--%s: %w", flag, err)
	}
	token, made := "", false
	if addr.Network == "tcp" && !Loopback(addr.Address) {
		if token, made, err = h.tokenFor(flag, addr.Address); err != nil {
			return nil, err
		}
	}
	l, err := listenAt(flag, addr)
	if err != nil {
		return nil, err
	}
	s := &StatusServer{Server: csds.NewServer(view, h.Logger), View: view, addr: l.Addr()}
	if made {
		s.token = token
	}
	s.Serve(l, token)
	return s, nil
}

// Announce says where it is, and the token where it was made: once, and nowhere else.
func (s *StatusServer) Announce(con *console.Console) {
	if s == nil {
		return
	}
	con.Tell("status of clients (CSDS) on %s", proxy.AddrOf(s.addr))
	if s.token != "" {
		con.Tell("its calls need the metadata authorization: Bearer %s; %s sets another token", s.token, serve.TokenVariable)
	}
}

func (s *StatusServer) close() {
	if s != nil {
		s.Close()
	}
}

// offerStatus is the same for what passes.
func (s *Assembly) offerStatus() (err error) {
	if s.Settings.ServeCSDS == "" {
		return nil
	}
	view := csds.New(func() (csds.Reader, error) { return s.Log.Reader() })
	if s.status, err = s.OfferStatus(view, "serve-csds", string(s.Settings.ServeCSDS)); err != nil {
		return err
	}
	s.status.Ready() // nothing has passed yet
	return nil
}
