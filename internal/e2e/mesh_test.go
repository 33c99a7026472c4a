package e2e

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// mesh is what a client is told, piece by piece.
type mesh struct {
	source    *corev3.ConfigSource
	clusters  map[string]*clusterv3.Cluster
	endpoints map[string]*endpointv3.ClusterLoadAssignment
	listeners map[string]*listenerv3.Listener
	routes    map[string]*routev3.RouteConfiguration
	secrets   map[string]*tlsv3.Secret
}

// emptyMesh has nothing in it; what will be refers to other things by source.
func emptyMesh(source *corev3.ConfigSource) *mesh {
	return &mesh{
		source:    source,
		clusters:  map[string]*clusterv3.Cluster{},
		endpoints: map[string]*endpointv3.ClusterLoadAssignment{},
		listeners: map[string]*listenerv3.Listener{},
		routes:    map[string]*routev3.RouteConfiguration{},
		secrets:   map[string]*tlsv3.Secret{},
	}
}

// newMesh is for an Envoy: it has a listener called ingress, whose routes lead
// to a cluster called web.
func newMesh(t *testing.T, source *corev3.ConfigSource) *mesh {
	t.Helper()
	m := emptyMesh(source)
	m.cluster("web", 1)
	m.endpointsOf(t, "web", 1)
	m.route("routes", "web")
	m.listener(t, "ingress", "routes")
	return m
}

// cluster adds or changes a cluster.
func (m *mesh) cluster(name string, timeoutSeconds int64) {
	c := xdstest.Cluster(name, m.source)
	c.ConnectTimeout = &durationpb.Duration{Seconds: timeoutSeconds}
	m.clusters[name] = c
}

// endpointsOf gives a cluster this many endpoints, which nobody will call.
func (m *mesh) endpointsOf(t *testing.T, cluster string, n int) {
	t.Helper()
	var addrs []string
	for i := range n {
		addrs = append(addrs, fmt.Sprintf("127.0.0.1:%d", 9001+i))
	}
	m.endpointsAt(t, cluster, addrs...)
}

func (m *mesh) endpointsAt(t *testing.T, cluster string, addrs ...string) {
	t.Helper()
	e := xdstest.Endpoints(cluster, addrs...)
	m.endpoints[cluster] = e
}

func (m *mesh) route(name, cluster string, others ...string) {
	m.routes[name] = xdstest.ClusterRoute(name, cluster, others...)
}

// listener adds a listener at a port of Envoy's choice.
func (m *mesh) listener(t *testing.T, name, route string) {
	t.Helper()
	l := xdstest.Listener(name, "127.0.0.1:0", route, m.source)
	m.listeners[name] = l
}

// secretCluster adds a cluster with a certificate that is asked for by name.
func (m *mesh) secretCluster(t *testing.T, name, secret string) {
	t.Helper()
	c := xdstest.TLSCluster(name, secret, m.source)
	c.HealthChecks = nil
	m.clusters[name] = c
}

// certify makes a certificate and its key, new ones each time.
func (m *mesh) certify(secret string) {
	m.secrets[secret] = certificateSecret(secret, xdstest.NewAuthority("somebody").Issue(xdstest.Leaf{
		CommonName: secret, NotAfter: time.Now().AddDate(10, 0, 0),
	}))
}

// certificateSecret is a certificate and its key as a server of secrets gives them.
func certificateSecret(name string, c *xdstest.Credential) *tlsv3.Secret {
	return &tlsv3.Secret{Name: name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
		CertificateChain: inlineBytes(c.CertPEM()),
		PrivateKey:       inlineBytes(c.KeyPEM()),
	}}}
}

func inlineBytes(b []byte) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: b}}
}

// apiListener adds the listener of a gRPC service.
func (m *mesh) apiListener(t *testing.T, name, route string) {
	t.Helper()
	l := xdstest.APIListener(name, route)
	m.listeners[name] = l
}

func (m *mesh) world() xdstest.World {
	return xdstest.World{
		Clusters:  sorted(m.clusters),
		Endpoints: sorted(m.endpoints),
		Listeners: sorted(m.listeners),
		Routes:    sorted(m.routes),
		Secrets:   sorted(m.secrets),
	}
}

func sorted[T any](byName map[string]T) []T {
	var out []T
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, byName[name])
	}
	return out
}
