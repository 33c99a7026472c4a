package origin

import (
	"strconv"
	"strings"
)

// Named is what the name of a resource gives away: no more than a guess, for
// others may use such names. It is false where a name tells nothing.
func Named(typ, name string) (Source, bool) {
	if typ != "CDS" && typ != "EDS" || len(name) > 4*maxText {
		return Source{}, false
	}
	for _, read := range [...]func(string) (Source, bool){envoyGatewayRule, istioCluster, contourCluster, kgatewayCluster, consulCluster, ciliumCluster} {
		if s, is := read(name); is {
			s.Kind, s.Namespace, s.Name = text([]byte(s.Kind)), text([]byte(s.Namespace)), text([]byte(s.Name))
			s.ByName = true
			return s, s.Name != ""
		}
	}
	return Source{}, false
}

// envoyGatewayRule reads "httproute/NAMESPACE/NAME/rule/2", and what follows: see
// irRouteDestinationName and irRouteName in internal/gatewayapi/helpers.go of
// envoyproxy/gateway. Rule -1 stands for a route without rules.
func envoyGatewayRule(name string) (Source, bool) {
	p := strings.SplitN(name, "/", 6)
	if len(p) < 5 || p[3] != "rule" {
		return Source{}, false
	}
	kind := routeKind(p[0])
	n, err := strconv.ParseInt(p[4], 10, 31)
	if kind == "" || err != nil || n < -1 {
		return Source{}, false
	}
	return Source{System: envoyGateway, Kind: kind, Namespace: p[1], Name: p[2], Rule: Rule(n + 1)}, true
}

func routeKind(small string) string {
	if s, is := strings.CutSuffix(small, "route"); is {
		switch s {
		case "http", "grpc", "tcp", "tls", "udp":
			return strings.ToUpper(s) + "Route"
		}
	}
	return ""
}

// istioCluster reads "outbound|80|v1|web.shop.svc.cluster.local": see
// BuildSubsetKey in pilot/pkg/model/service.go of istio/istio.
func istioCluster(name string) (Source, bool) {
	p := strings.Split(name, "|")
	if len(p) != 4 || p[0] != "outbound" && p[0] != "inbound" {
		return Source{}, false
	}
	host := strings.SplitN(p[3], ".", 4)
	at, ok := port(p[1])
	if len(host) != 4 || host[2] != "svc" || !ok {
		return Source{}, false
	}
	return Source{System: istio, Kind: "Service", Namespace: host[1], Name: host[0], Port: at}, true
}

// contourCluster reads "NAMESPACE/NAME/80/da39a3ee5e": see Clustername in
// internal/envoy/cluster.go of projectcontour/contour. A name of 60 bytes or more
// is cut there.
func contourCluster(name string) (Source, bool) {
	p := strings.Split(name, "/")
	if len(p) != 4 || len(p[3]) != 10 || len(name) >= 60 || strings.Trim(p[3], "0123456789abcdef") != "" {
		return Source{}, false
	}
	at, ok := port(p[2])
	return Source{System: contour, Kind: "Service", Namespace: p[0], Name: p[1], Port: at}, ok
}

// kgatewayCluster reads "kube_NAMESPACE_NAME_80": see ClusterName in
// internal/kgateway/ir/upstream.go of kgateway-dev/kgateway.
func kgatewayCluster(name string) (Source, bool) {
	p := strings.Split(name, "_")
	if len(p) != 4 || p[0] != "kube" {
		return Source{}, false
	}
	at, ok := port(p[3])
	return Source{System: kgateway, Kind: "Service", Namespace: p[1], Name: p[2], Port: at}, ok
}

// consulCluster reads "NAME.NAMESPACE.DATACENTER.internal.TRUST.consul", perhaps
// with a subset before it: see ServiceSNI in agent/connect/sni.go of
// hashicorp/consul. With a partition the last but two is "internal-v1".
func consulCluster(name string) (Source, bool) {
	p := strings.Split(name, ".")
	if len(p) < 6 || p[len(p)-1] != "consul" {
		return Source{}, false
	}
	p = p[:len(p)-2]
	at := len(p) - 4
	switch p[len(p)-1] {
	case "internal":
	case "internal-v1":
		at--
	default:
		return Source{}, false
	}
	if at < 0 || at > 1 { // 1: there is a subset
		return Source{}, false
	}
	return Source{System: consul, Kind: "service", Namespace: p[at+1], Name: p[at]}, true
}

// ciliumCluster reads "NAMESPACE/NAME/NAMESPACE:SERVICE:80": see getClusterName in
// operator/pkg/model/translation/envoy_cluster.go of cilium/cilium, and what is put
// before it, of the CiliumEnvoyConfig, by ResourceQualifiedName in
// pkg/policy/api/resources.go.
func ciliumCluster(name string) (Source, bool) {
	p := strings.Split(name, "/")
	if len(p) != 3 {
		return Source{}, false
	}
	s := strings.Split(p[2], ":")
	if len(s) != 3 {
		return Source{}, false
	}
	at, ok := port(s[2])
	return Source{System: cilium, Kind: "Service", Namespace: s[0], Name: s[1], Port: at}, ok
}

func port(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return uint32(n), err == nil && n > 0
}
