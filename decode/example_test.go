package decode_test

import (
	"fmt"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/handmade"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

func Example() {
	method := xds.LookupMethod(handmade.ADSPath)
	data := handmade.Msg(handmade.Str(1, "41"), handmade.AnyOf(2, handmade.ClusterURL, handmade.Str(1, "web")), handmade.Str(4, handmade.ClusterURL))

	m := decode.Peek(method, session.Server, "application/grpc", data)
	fmt.Println(m.Kind, m.Version, m.ResourceNames())
	fmt.Printf("%s", decode.Decode(method, session.Server, "application/grpc", data).YAML())
	// Output:
	// DiscoveryResponse 41 [web]
	// version_info: "41"
	// resources:
	// - "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
	//   name: web
	// type_url: type.googleapis.com/envoy.config.cluster.v3.Cluster
}
