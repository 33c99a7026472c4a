package bootstrap

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// servers are the endpoints of a cluster, or one without an address where there
// are none.
func (s *search) servers(c *cluster) []*Server {
	obstacle, context := c.obstacle()
	var servers []*Server
	if c.node != nil {
		v6 := c.onlyIPv6()
		eachEndpoint(field(c.node, "load_assignment"), func(address *yaml.Node) {
			if len(servers) > maxServers {
				return // add says that there are too many
			}
			server := toAddress(address)
			server.IPv6 = v6
			servers = append(servers, server)
		})
	}
	if len(servers) == 0 {
		if obstacle == nil {
			obstacle = &Obstacle{Why: "the bootstrap does not say where its endpoints are"}
		}
		servers = append(servers, &Server{})
	}
	if obstacle == nil && context != nil {
		obstacle = s.secure(c, servers, context)
	}
	for _, server := range servers {
		server.Names, server.Uses = []string{c.name}, c.uses
		if server.Obstacle == nil || obstacle != nil {
			server.Obstacle = obstacle
		}
		if server.Obstacle != nil {
			server.TLS = nil
		}
	}
	return servers
}

// obstacle is what keeps a proxy out of all of a cluster, whatever its
// endpoints. Without one, context is the TLS context in which it is reached; nil
// if it is reached in plaintext.
func (c *cluster) obstacle() (o *Obstacle, context *yaml.Node) {
	if c.node == nil {
		return &Obstacle{Why: "the bootstrap does not define this cluster"}, nil
	}
	if kind := c.kind(); kind != "" {
		return &Obstacle{Why: "a cluster of type " + kind + " finds its endpoints by itself"}, nil
	}
	socket := given(c.node, "transport_socket")
	config := field(socket, "typed_config")
	name, typ := text(field(socket, "name")), text(member(config, "@type"))
	switch {
	case len(items(field(c.node, "transport_socket_matches"))) > 0:
		return secured("each of its endpoints is reached in a way of its own (transport_socket_matches)"), nil
	case given(c.node, "tls_context") != nil:
		return secured("its TLS context is in a form that Envoy reads no more"), nil
	case socket == nil, strings.HasSuffix(typ, ".RawBuffer"), typ == "" && strings.Contains(name, "raw_buffer"):
		return nil, nil
	case strings.HasSuffix(typ, ".tls.v3.UpstreamTlsContext"):
		return nil, config
	}
	return &Obstacle{Why: fmt.Sprintf("it is reached by a transport socket of its own (%s)", strings.TrimSpace(name+" "+typ))}, nil
}

// secure gives the endpoints of a cluster the TLS context in which Envoy reaches
// them. All or none can be wrapped, since the context is that of the cluster.
func (s *search) secure(c *cluster, servers []*Server, context *yaml.Node) *Obstacle {
	for _, server := range servers {
		if server.Obstacle != nil {
			return server.Obstacle
		}
	}
	switch {
	case checksElsewhere(c.node):
		return &Obstacle{Why: "its health is checked at a port of its own, which the proxy does not have"}
	case hasField(field(c.node, "load_assignment"), "additional_addresses"):
		return &Obstacle{Why: "an endpoint of it has several addresses"}
	}
	for _, name := range []string{"auto_sni", "auto_san_validation", "auto_config"} {
		if hasField(c.node, name) {
			return secured("its TLS depends on what is sent (" + name + ")")
		}
	}
	reading := s.contexts
	reading.warn = func(format string, args ...any) { s.warn("cluster %q: %s", c.name, fmt.Sprintf(format, args...)) }
	bare := func() {
		remove(c.node, "transport_socket")
		remove(c.node, "cluster_type")
		set(c.node, "type", scalar("STATIC")) // names are resolved by the proxy
	}
	t, err := reading.upstream(context)
	if err != nil {
		return secured(err.Error())
	}
	hosts := c.hosts()
	for _, server := range servers {
		if server.TLS, err = t.of(hosts(server)); err != nil {
			return secured(err.Error())
		}
		for i := range server.places {
			server.places[i].bare = bare
		}
	}
	return nil
}

// hosts tells the name of an endpoint: its own, or the one that is resolved.
func (c *cluster) hosts() func(*Server) string {
	own := map[*yaml.Node]string{} // by its address
	eachMapping(field(c.node, "load_assignment"), func(n *yaml.Node) {
		if a := field(n, "address"); a != nil {
			own[a] = text(field(n, "hostname"))
		}
	})
	kind := word(field(c.node, "type")) + text(field(field(c.node, "cluster_type"), "name"))
	resolved := kind != "" && kind != "STATIC" && kind != "0" && kind != "envoy.cluster.static"
	return func(s *Server) string {
		found := own[s.places[0].address]
		if found == "" && resolved {
			found = text(s.places[0].host)
		}
		return found
	}
}

// eachMapping visits all mappings below a node.
func eachMapping(n *yaml.Node, visit func(*yaml.Node)) {
	if n == nil {
		return
	}
	if n.Kind == yaml.MappingNode {
		visit(n)
	}
	for _, c := range n.Content {
		eachMapping(c, visit)
	}
}

// hasField says whether a field is set anywhere below a node.
func hasField(n *yaml.Node, name string) bool {
	found := false
	eachMapping(n, func(m *yaml.Node) {
		if v := given(m, name); v != nil && !(v.Kind == yaml.ScalarNode && !on(v)) {
			found = true
		}
	})
	return found
}

// kind names the discovery type of a cluster whose endpoints are not in the
// bootstrap; "" if they are.
func (c *cluster) kind() string {
	switch kind := word(field(c.node, "type")); kind {
	case "", "STATIC", "STRICT_DNS", "LOGICAL_DNS", "0", "1", "2":
	case "3", "4":
		return map[string]string{"3": "EDS", "4": "ORIGINAL_DST"}[kind]
	default:
		return kind
	}
	custom := field(c.node, "cluster_type")
	switch name := text(field(custom, "name")); name {
	case "", "envoy.cluster.static", "envoy.cluster.strict_dns", "envoy.cluster.logical_dns":
		return ""
	default:
		if strings.HasSuffix(text(field(field(custom, "typed_config"), "@type")), ".DnsCluster") {
			return ""
		}
		return name
	}
}

func (c *cluster) onlyIPv6() bool {
	for _, n := range []*yaml.Node{c.node, field(field(c.node, "cluster_type"), "typed_config")} {
		if f := word(field(n, "dns_lookup_family")); f == "V6_ONLY" || f == "2" {
			return true
		}
	}
	return false
}
