package main

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"log"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

func makeClusters(n, entropy int) []*anypb.Any {
	out := make([]*anypb.Any, n)
	for i := range out {
		out[i] = makeCluster(i, entropy, 0)
	}
	return out
}

// makeCluster is a cluster as a mesh's control plane makes them, about 220
// bytes. The random bytes depend on i alone, so every run sends the same.
func makeCluster(i, entropy, generation int) *anypb.Any {
	alt := strings.Repeat("x", 64)
	if entropy > 0 {
		raw := make([]byte, entropy)
		r := rand.New(rand.NewPCG(uint64(i), 7))
		for k := range raw {
			raw[k] = byte(r.Uint32())
		}
		alt = hex.EncodeToString(raw)
	}
	if generation > 0 {
		alt = fmt.Sprintf("%s-%d", alt, generation)
	}
	a, err := anypb.New(&clusterv3.Cluster{
		Name:                 fmt.Sprintf("outbound|8080||service-%06d.namespace-%03d.svc.cluster.local", i, i%200),
		ConnectTimeout:       durationpb.New(5 * time.Second),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{
			ServiceName: fmt.Sprintf("service-%06d", i),
			EdsConfig: &corev3.ConfigSource{
				ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
				ResourceApiVersion:    corev3.ApiVersion_V3,
			},
		},
		AltStatName:     alt,
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{TrackRemaining: true}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	return a
}

// checksum travels in control_plane.identifier, so that the client can tell a
// damaged body from a whole one.
func checksum(res []*anypb.Any) *corev3.ControlPlane {
	return &corev3.ControlPlane{Identifier: sum(res)}
}

func sum(res []*anypb.Any) string {
	h := fnv.New64a()
	for _, a := range res {
		h.Write(a.Value)
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

func bodies(res []*discovery.Resource) []*anypb.Any {
	out := make([]*anypb.Any, len(res))
	for i, r := range res {
		out[i] = r.Resource
	}
	return out
}
