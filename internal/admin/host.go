package admin

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// listenerKey finds in the context of a request the address that is listened on.
type listenerKey struct{}

func withListener(l net.Listener) context.Context {
	return context.WithValue(context.Background(), listenerKey{}, l.Addr())
}

// local keeps out pages in a browser of this machine, which reach a loopback
// address by a name of their own that they let stand for it ("DNS rebinding").
// What comes from elsewhere, as scrapes do, may use any name.
func (s *Server) local(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.answersTo(r) {
			answer(w, http.StatusMisdirectedRequest, "the Host of the request is not a name of this machine: ask for localhost, or for the address that --admin has")
			return
		}
		h(w, r)
	}
}

func (s *Server) answersTo(r *http.Request) bool {
	came, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !isLoopback(came) {
		return true // nor do browsers open unix sockets
	}
	if r.Host == "" {
		return true // as only HTTP/1.0 may, and no browser does
	}
	host := hostOf(r.Host)
	if ip, err := netip.ParseAddr(host); err == nil {
		// An address is no name that anybody could have chosen. A listener on all
		// addresses gets those of this machine from proxies in front of it.
		listens, _ := r.Context().Value(listenerKey{}).(net.Addr)
		return ip.Unmap().IsLoopback() || !isLoopback(listens)
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || host == hostOf(s.c.Address)
}

// hostOf is the name or address in a Host, as it is compared.
func hostOf(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil { // no port
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func isLoopback(a net.Addr) bool {
	tcp, is := a.(*net.TCPAddr)
	return is && tcp.IP.IsLoopback()
}
