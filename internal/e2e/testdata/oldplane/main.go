// Command oldplane is a control plane on go-control-plane 0.9.9, with a linear cache
// for each type: "oldplane NAME..." listens on a free port of loopback, prints it, and
// has endpoints of these names. Each line of standard input adds or removes a cluster:
// "add NAME", "remove NAME".
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
)

func main() {
	log.SetFlags(0)
	endpoints := map[string]types.Resource{}
	for i, name := range os.Args[1:] {
		endpoints[name] = endpointsOf(name, i)
	}
	clusters := cache.NewLinearCache(resource.ClusterType)
	mux := &cache.MuxCache{
		Classify: func(r cache.Request) string { return r.TypeUrl },
		Caches: map[string]cache.Cache{
			resource.ClusterType:  clusters,
			resource.EndpointType: cache.NewLinearCache(resource.EndpointType, cache.WithInitialResources(endpoints)),
			resource.ListenerType: cache.NewLinearCache(resource.ListenerType),
			resource.RouteType:    cache.NewLinearCache(resource.RouteType),
		},
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	g := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, server.NewServer(context.Background(), mux, nil))
	time.AfterFunc(0, func() { // beside the server
		obey(clusters)
		g.Stop()
	})
	fmt.Println("listening on", l.Addr())
	if err := g.Serve(l); err != nil {
		log.Fatal(err)
	}
}

func obey(clusters *cache.LinearCache) {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		what, name, _ := strings.Cut(lines.Text(), " ")
		err := fmt.Errorf("what is %q?", what)
		switch what {
		case "add":
			err = clusters.UpdateResource(name, clusterOf(name))
		case "remove":
			err = clusters.DeleteResource(name)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

func clusterOf(name string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{
			ResourceApiVersion:    corev3.ApiVersion_V3,
			ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
		}},
	}
}

func endpointsOf(name string, i int) *endpointv3.ClusterLoadAssignment {
	address := &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: fmt.Sprintf("127.0.0.%d", i+1), PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 9},
	}}}
	return &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{{
		LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: address}}}},
	}}}
}
