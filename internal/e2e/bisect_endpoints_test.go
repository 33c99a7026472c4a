package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// serviceName is one of 80 characters, which differ in the middle.
func serviceName(n int) string {
	return fmt.Sprintf("outbound|8080|v1|%s-%04d-%s.svc.cluster.local", strings.Repeat("a", 20), n, strings.Repeat("b", 19))
}

// unheardOf is a transport socket that no Envoy has.
func unheardOf() *corev3.TransportSocket {
	return &corev3.TransportSocket{Name: "unheard.of", ConfigType: &corev3.TransportSocket_TypedConfig{
		TypedConfig: &anypb.Any{TypeUrl: "type.googleapis.com/unheard.of.Socket"},
	}}
}

// Clusters with endpoints wait for them each time that they change: Envoy asks for
// them again, or in delta takes for granted that they come. Of new ones the
// recording has no endpoints, and less so if they are what Envoy gets first.
func TestBisectClustersWithEndpoints(t *testing.T) {
	t.Parallel()
	const changed, added, first = "changed", "added", "first"
	v := variants()
	for _, c := range []struct {
		variant
		of   int
		what string
	}{
		{v[0], 200, changed},
		{v[1], 200, changed},
		{v[2], 200, changed},
		{v[3], 200, changed},
		{v[0], 200, added},
		{v[1], 200, added},
		{v[1], 200, first}, // in the state of the world go-control-plane often answers no other type then
		{v[0], 2000, changed},
		{v[1], 2000, changed},
		{v[0], 2000, added},
		{v[1], 2000, added},
	} {
		t.Run(fmt.Sprintf("%s-%d-%s", c.name, c.of, c.what), func(t *testing.T) {
			if c.of == 2000 && (c.name != v[1].name || c.what == added) {
				onlyFull(t)
			}
			t.Parallel()
			one, other := serviceName(c.of/6), serviceName(c.of-c.of/7)
			services := func(m *mesh, timeout int64) {
				for n := range c.of {
					m.cluster(serviceName(n), timeout)
					m.endpointsOf(t, serviceName(n), 1)
				}
			}
			spoil := func(m *mesh) {
				m.clusters[one].ConnectTimeout = durationpb.New(0)
				m.clusters[other].TransportSocket = unheardOf()
			}
			s := openScene(t, c.variant, careful(c.variant), func(m *mesh) {
				if c.what != added {
					services(m, 1)
				}
				if c.what == first {
					spoil(m)
				}
			})
			if c.what != first {
				services(s.mesh, 2)
				spoil(s.mesh)
				s.control.set(t, s.world())
			}
			s.control.nack(t)
			recording := s.close(t)

			b := startBisect(t, recording)
			began := time.Now()
			launchEnvoy(t, c.variant, envoyNode, b.addr)
			found := b.finds(t, 8, one, other)
			if found.Type != "CDS" {
				t.Errorf("%+v", found)
			}
			t.Logf("found in %s", time.Since(began))
			found.reproduces(t, c.variant, 2)
		})
	}
}
