package bootstrap

import (
	"math"
	"net"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// place is where an address stands in a document: host and port apart, or all
// of it in one value.
type place struct {
	host, port *yaml.Node // of a socket_address
	path       *yaml.Node // of a pipe
	target     *yaml.Node // of gRPC
	address    *yaml.Node // Envoy's, around host and port or path
	// bare takes out of the document that the client speaks TLS there; nil if it
	// does not.
	bare func()
}

// put writes an address there, in the form of Server.Address.
func (p place) put(addr string) error {
	write := func(n *yaml.Node, tag, value string, style yaml.Style) {
		n.Kind, n.Tag, n.Value, n.Style, n.Content = yaml.ScalarNode, tag, value, style, nil
	}
	path, unix := strings.CutPrefix(addr, "unix:")
	if p.bare != nil {
		p.bare()
	}
	switch {
	case p.target != nil:
		if name, abstract := strings.CutPrefix(path, "@"); unix && abstract {
			addr = "unix-abstract:" + name
		}
		write(p.target, "!!str", addr, yaml.DoubleQuotedStyle)
	case p.path != nil:
		write(p.path, "!!str", path, yaml.DoubleQuotedStyle)
	case unix:
		*p.address = *mapping("pipe", mapping("path", scalar(path)))
	default:
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return err
		}
		write(p.host, "!!str", host, yaml.DoubleQuotedStyle)
		write(p.port, "!!int", port, 0)
	}
	return nil
}

// eachEndpoint visits the addresses in a ClusterLoadAssignment, those that are
// named and those that are alternatives as well. Where health is checked is no
// endpoint.
func eachEndpoint(n *yaml.Node, visit func(address *yaml.Node)) {
	if n == nil {
		return
	}
	if n.Kind != yaml.MappingNode {
		for _, c := range n.Content {
			eachEndpoint(c, visit)
		}
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch name := snake(key.Value); {
		case lenient.Ignored(key), name == "health_check_config", name == "metadata":
		case name == "address" && value.Kind == yaml.MappingNode && holdsAddress(value):
			visit(value)
		default:
			eachEndpoint(value, visit)
		}
	}
}

func holdsAddress(n *yaml.Node) bool {
	return field(n, "socket_address") != nil || field(n, "pipe") != nil || field(n, "envoy_internal_address") != nil
}

// checksElsewhere says whether health is checked at another port or address
// than the one that is used.
func checksElsewhere(n *yaml.Node) bool {
	if n.Kind == yaml.MappingNode {
		if h := field(n, "health_check_config"); field(h, "port_value") != nil || field(h, "address") != nil {
			return true
		}
	}
	for _, c := range n.Content {
		if checksElsewhere(c) {
			return true
		}
	}
	return false
}

// toAddress makes a server of a core.v3.Address.
func toAddress(n *yaml.Node) *Server {
	refuse := func(address, why string) *Server { return &Server{Address: address, Obstacle: &Obstacle{Why: why}} }
	if path := field(field(n, "pipe"), "path"); text(path) != "" {
		return &Server{Address: "unix:" + path.Value, places: []place{{path: path, address: n}}}
	}
	socket := field(n, "socket_address")
	host, port := field(socket, "address"), field(socket, "port_value")
	if text(host) == "" {
		return refuse("", "its address is neither a socket nor a pipe")
	}
	number, ok := lenient.Number(port)
	switch protocol, resolver := word(field(socket, "protocol")), text(field(socket, "resolver_name")); {
	case strings.ContainsAny(host.Value, "[]"):
		return refuse(host.Value, "it is no host")
	case !ok || number > math.MaxUint16:
		return refuse(host.Value, "its port is not a number")
	case protocol == "UDP" || protocol == "1":
		return refuse(net.JoinHostPort(host.Value, strconv.Itoa(int(number))), "it is reached by UDP")
	case resolver != "" && resolver != "envoy.ip":
		return refuse(host.Value, "an extension resolves its name")
	}
	return &Server{
		Address: net.JoinHostPort(host.Value, strconv.Itoa(int(number))),
		places:  []place{{host: host, port: port, address: n}},
	}
}

// toTarget makes a server of the name of a gRPC target, as
// https://github.com/grpc/grpc/blob/master/doc/naming.md has it.
func toTarget(n *yaml.Node) *Server {
	target := text(n)
	s := &Server{places: []place{{target: n}}}
	refuse := func(why string) *Server {
		return &Server{Address: target, Obstacle: &Obstacle{Why: why}}
	}
	scheme, rest, found := strings.Cut(target, ":")
	switch {
	case found && scheme == "unix":
		if strings.HasPrefix(rest, "///") {
			rest = rest[2:]
		}
		if rest == "" || strings.HasPrefix(rest, "@") {
			return refuse("its socket has no path")
		}
		s.Address = "unix:" + rest
		return s
	case found && scheme == "unix-abstract":
		s.Address = "unix:@" + strings.TrimPrefix(rest, "///")
		if rest == "" {
			return refuse("its socket has no name")
		}
		return s
	case found && (scheme == "dns" || scheme == "passthrough" || scheme == "ipv4" || scheme == "ipv6"):
		if after, ok := strings.CutPrefix(rest, "//"); ok { // an authority: the name server
			_, rest, _ = strings.Cut(after, "/")
		}
	case strings.Contains(target, "://"):
		return refuse("names of the form " + scheme + ": are resolved by the client")
	default:
		rest = target
	}
	if strings.Contains(rest, ",") {
		return refuse("it has several addresses in one name")
	}
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		// A name without a port has that of HTTPS.
		host, port = strings.Trim(rest, "[]"), "443"
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil {
		return refuse("its port is not a number")
	} else {
		port = strconv.FormatUint(number, 10)
	}
	if host == "" || strings.ContainsAny(host, "/ []") {
		return refuse("it is no host and port")
	}
	s.Address = net.JoinHostPort(host, port)
	return s
}
