package shortname

import (
	"strings"
)

// span is a part of a name, by bytes.
type span struct{ from, to int }

// shapeOf is the parts of a name, those that tell most of it first; nil if it has
// no shape that is known. Together they are all of it, but for what is between
// them.
func shapeOf(name string) []span {
	switch {
	case strings.Count(name, "~") == 3:
		return istioNode(name)
	case strings.Count(name, "|") == 3:
		return istioCluster(name, "|")
	case strings.HasPrefix(name, "outbound_.") || strings.HasPrefix(name, "inbound_."):
		return istioCluster(name, "_.") // as it is a server name
	case strings.HasSuffix(name, ".consul"):
		return consulCluster(name)
	case strings.Count(name, "/") >= 3:
		return gatewayRoute(name)
	}
	return nil
}

// fields are the parts of a name between separators.
func fields(name, sep string) []span {
	var out []span
	for from := 0; ; {
		n := strings.Index(name[from:], sep)
		if n < 0 {
			return append(out, span{from, len(name)})
		}
		out = append(out, span{from, from + n})
		from += n + len(sep)
	}
}

// istioNode is TYPE~IP~POD.NAMESPACE~DOMAIN.
func istioNode(name string) []span {
	f := fields(name, "~")
	pod, namespace := f[2], span{f[2].to, f[2].to}
	if n := strings.LastIndexByte(name[pod.from:pod.to], '.'); n >= 0 {
		pod.to = pod.from + n
		namespace.from = pod.to + 1
	}
	return []span{pod, namespace, f[0], f[1], f[3]}
}

// istioCluster is DIRECTION|PORT|SUBSET|HOST.
func istioCluster(name, sep string) []span {
	f := fields(name, sep)
	if len(f) != 4 {
		return nil
	}
	host, rest := f[3], span{f[3].to, f[3].to}
	if n := strings.Index(name[host.from:], ".svc."); n >= 0 { // the same for all of a mesh
		host.to = host.from + n
		rest.from = host.to + 1
	}
	return []span{host, f[2], f[1], f[0], rest}
}

// consulCluster is [SUBSET.]SERVICE.NAMESPACE.DATACENTER.internal.TRUST-DOMAIN.consul.
func consulCluster(name string) []span {
	for _, mark := range []string{".internal.", ".internal-v1.", ".external."} {
		if n := strings.Index(name, mark); n >= 0 {
			return []span{{0, n}, {n + 1, len(name)}}
		}
	}
	return nil
}

// gatewayRoute is KIND/NAMESPACE/NAME/rule/N and what follows, as Envoy Gateway
// names clusters and routes. The name and the rule tell most, and the kind least.
func gatewayRoute(name string) []span {
	f := fields(name, "/")
	if name[f[3].from:f[3].to] != "rule" {
		return nil
	}
	return []span{{f[2].from, len(name)}, f[1], f[0]}
}

// keyOf is a name with what tells most of it first. Different names have
// different keys.
func keyOf(name string) string {
	shape := shapeOf(name)
	if shape == nil {
		return name
	}
	var b strings.Builder
	b.Grow(len(name) + len(shape))
	for _, s := range shape {
		b.WriteString(name[s.from:s.to])
		b.WriteByte(0) // no printable name has it
	}
	return b.String()
}
