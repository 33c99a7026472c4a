package main

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// makeCluster is the cluster of xdsload.
func makeCluster(i, entropy, generation int) *anypb.Any {
	raw := make([]byte, entropy)
	r := rand.New(rand.NewPCG(uint64(i), 7))
	for k := range raw {
		raw[k] = byte(r.Uint32())
	}
	alt := hex.EncodeToString(raw)
	if generation > 0 {
		alt = fmt.Sprintf("%s-%d", alt, generation)
	}
	a, err := anypb.New(&clusterv3.Cluster{
		Name:                 fmt.Sprintf("outbound|8080||service-%06d.namespace-%03d.svc.cluster.local", i, i%200),
		ConnectTimeout:       durationpb.New(5 * time.Second),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{
			ServiceName: fmt.Sprintf("service-%06d", i),
			EdsConfig:   &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}, ResourceApiVersion: corev3.ApiVersion_V3},
		},
		AltStatName:     alt,
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{TrackRemaining: true}}},
	})
	if err != nil {
		panic(err)
	}
	return a
}

func marshal(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// stateOfTheWorld pushes all clusters again and again; one changes each time.
func stateOfTheWorld(clusters, entropy, pushes int) func(func([][]byte) bool) {
	body := make([]*anypb.Any, clusters)
	for i := range body {
		body[i] = makeCluster(i, entropy, 0)
	}
	return func(yield func([][]byte) bool) {
		for i := range pushes {
			res := append([]*anypb.Any(nil), body...)
			res[i%clusters] = makeCluster(i%clusters, entropy, i+1)
			r := marshal(&discovery.DiscoveryResponse{
				VersionInfo: strconv.Itoa(i), Nonce: fmt.Sprintf("%d-%d", i, 1763000000000000000+i*1234567), TypeUrl: body[0].TypeUrl, Resources: res,
			})
			ack := marshal(&discovery.DiscoveryRequest{VersionInfo: strconv.Itoa(i), ResponseNonce: strconv.Itoa(i), TypeUrl: body[0].TypeUrl})
			if !yield([][]byte{r}) || !yield([][]byte{ack}) {
				return
			}
		}
	}
}

// deltaFleet sends each stream all of 20 clusters, then one cluster at a time.
// Batches are what arrives within 50 ms: 50 messages.
func deltaFleet(streams, entropy, rounds int) func(func([][]byte) bool) {
	return func(yield func([][]byte) bool) {
		var batch [][]byte
		for round := range rounds {
			for s := range streams {
				var res []*discovery.Resource
				for j := range 20 {
					if round == 0 || j == round%20 {
						generation := round
						if round > 0 {
							generation = round + 1000*(s%10) // ten groups of clients with the same view
						}
						res = append(res, &discovery.Resource{Name: fmt.Sprintf("c%d", j), Version: strconv.Itoa(round), Resource: makeCluster(j, entropy, generation)})
					}
				}
				nonce := fmt.Sprintf("%d-%d", s, 1763000000000000000+round*1234567+s)
				batch = append(batch,
					marshal(&discovery.DeltaDiscoveryResponse{SystemVersionInfo: strconv.Itoa(round), Nonce: nonce, TypeUrl: res[0].Resource.TypeUrl, Resources: res}),
					marshal(&discovery.DeltaDiscoveryRequest{ResponseNonce: nonce, TypeUrl: res[0].Resource.TypeUrl}))
				if len(batch) >= 50 {
					if !yield(batch) {
						return
					}
					batch = nil
				}
			}
		}
	}
}
