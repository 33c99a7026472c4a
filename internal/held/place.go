package held

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Source is how a client is asked.
type Source string

// The sources, in the words of the recording.
const (
	EnvoyAdmin Source = "envoy-admin"
	CSDS       Source = "csds"
)

// Place is where a client can be asked.
type Place struct {
	Source Source
	// Node is the id that the client must have; "" if that was not said.
	Node string
	// Network is "tcp" or "unix", Address what is dialled there.
	Network, Address string
	TLS              bool
}

// Parse reads [NODE=]ADDR, where ADDR is host:port, unix:/path, or a URL without a
// path. An address that is no URL must be of this machine: what is said in plaintext
// across a network is said so on purpose.
func Parse(source Source, s string) (Place, error) {
	node, addr := split(strings.TrimSpace(s))
	p := Place{Source: source, Node: node, Network: "tcp"}
	if path, is := strings.CutPrefix(addr, "unix:"); is {
		if path == "" || path[0] != '/' && path[0] != '@' {
			return p, errors.New("unix: goes before a path that begins with / or @")
		}
		p.Network, p.Address = "unix", path
		return p, nil
	}
	whole := strings.Contains(addr, "://")
	if !whole {
		addr = "http://" + addr
	}
	u, err := url.Parse(addr)
	switch {
	case err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return p, errors.New("neither host:port, unix:/path, nor a URL such as https://host:port")
	case u.Scheme != "http" && u.Scheme != "https":
		return p, errors.New("a URL begins with http:// or https://")
	case u.Port() == "" || u.Hostname() == "":
		return p, errors.New("host and port are both needed")
	}
	p.Address, p.TLS = net.JoinHostPort(u.Hostname(), u.Port()), u.Scheme == "https"
	if !whole && !p.Near() {
		return p, errors.New("not of this machine's loopback; say https:// before it, or http:// if plaintext across the network is meant")
	}
	return p, nil
}

// split takes the node from [NODE=]ADDR. A node id may have anything in it.
func split(s string) (node, addr string) {
	at := strings.LastIndexByte(s, '=')
	if i := strings.LastIndex(s, "=unix:"); i >= 0 {
		at = i
	}
	if at < 0 || strings.HasPrefix(s, "unix:") {
		return "", s
	}
	return s[:at], s[at+1:]
}

// Near says whether the address is of this machine.
func (p *Place) Near() bool {
	if p.Network == "unix" {
		return true
	}
	host, _, _ := net.SplitHostPort(p.Address)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Same says whether two places are asked for the same.
func (p *Place) Same(q *Place) bool {
	return p.Source == q.Source && p.Network == q.Network && p.Address == q.Address
}

// String is the address as people and recordings have it.
func (p *Place) String() string {
	switch {
	case p.Network == "unix":
		return "unix:" + p.Address
	case p.TLS:
		return "https://" + p.Address
	}
	return p.Address
}

// base is a URL of the place for HTTP.
func (p *Place) base() string {
	switch {
	case p.Network == "unix":
		return "http://localhost"
	case p.TLS:
		return "https://" + p.Address
	}
	return "http://" + p.Address
}
