package xdstest

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/xds"
)

// Bootstrap is the content of a gRPC xDS bootstrap file (GRPC_XDS_BOOTSTRAP)
// that names one management server, in plaintext.
func Bootstrap(server, node string) ([]byte, error) {
	type object = map[string]any
	return json.Marshal(object{
		"xds_servers": []object{{
			"server_uri":      server,
			"channel_creds":   []object{{"type": "insecure"}},
			"server_features": []string{"xds_v3"},
		}},
		"node": object{
			"id":       node,
			"cluster":  "demo",
			"locality": object{"region": "here", "zone": "a"}, // grpc-js cannot do without
		},
	})
}

// DialGRPC opens a channel to the service called name, with grpc-go's own xDS
// client asking the management server of the bootstrap for the way. Several such
// channels with different servers may live in one process. What that xDS
// client does is on the account of the control plane alone: it offers no seam
// for one of its own.
func DialGRPC(bootstrap []byte, name string) (*grpc.ClientConn, error) {
	builder, err := xds.NewXDSResolverWithConfigForTesting(bootstrap)
	if err != nil {
		return nil, fmt.Errorf("bootstrap for %s: %w", name, err)
	}
	return grpc.NewClient("xds:///"+name,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(builder))
}
