// Package generate writes bootstraps for clients that are to begin as a recorded
// one began: Envoy's, and gRPC's. It is told what that client said of itself and
// how it asked, and reads no recordings. What it writes leads to one server, in
// plaintext, on this machine.
package generate

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// API is how a type is asked for on a stream, in the words of Envoy's
// api_config_source.
type API string

// By ADS, a type has no stream of its own; by polls it has none at all.
const (
	ByADS API = ""
	SotW  API = "GRPC"
	Delta API = "DELTA_GRPC"
	Polls API = "REST"
)

// Client is what is known of a client before it was sent anything.
type Client struct {
	// Node is its core.v3.Node in JSON, as far as a bootstrap says it; empty: it
	// named none.
	Node json.RawMessage
	// GRPC says that it is one of gRPC's own.
	GRPC bool
	// ADS is by which API it opened an aggregated stream, ByADS if it opened none.
	ADS API
	// REST is how it polls; nil: it does not.
	REST *REST
	// Asks are the types that it asks for because its bootstrap says so.
	Asks []Ask
	// Clusters are those that it has from its bootstrap.
	Clusters []Cluster
	// Authorities are those of the names that it asked for.
	Authorities []string
	// Context is what of its node it adds to the names of collections, such as "id".
	Context []string
	// Notes are sentences on what its bootstrap must have had and no generated one
	// can have.
	Notes []string
}

// Ask is a type that is asked for from the beginning: CDS and LDS, the layers of
// RTDS, the EDS of clusters that are in the bootstrap.
type Ask struct {
	Type  string
	API   API
	Names []string // of layers and clusters; of CDS and LDS the collection, if it asks for one
}

// Cluster is a cluster of which only the name is known.
type Cluster struct {
	Name string
	// Server says that configuration is asked for there, so that it leads to the
	// server. Others lead nowhere.
	Server bool
}

type object = map[string]any

// endpoint is an address in the two forms that bootstraps have for it: host and
// port, or a socket, which begins with unix: or is an abstract one with @.
type endpoint struct {
	host string
	port int
	path string
}

func parse(address string) (endpoint, error) {
	if path, unix := strings.CutPrefix(address, "unix:"); unix {
		return endpoint{path: path}, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return endpoint{}, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return endpoint{}, fmt.Errorf("address %s: its port is no number", address)
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() { // who listens everywhere is here, too
		host = "127.0.0.1"
	}
	return endpoint{host: host, port: int(n)}, nil
}

func (e endpoint) envoy() object {
	if e.path != "" {
		return object{"pipe": object{"path": e.path}}
	}
	return object{"socket_address": object{"address": e.host, "port_value": e.port}}
}

func (e endpoint) grpc() string {
	if name, abstract := strings.CutPrefix(e.path, "@"); abstract {
		return "unix-abstract:" + name
	}
	if e.path != "" {
		return "unix:" + e.path
	}
	return net.JoinHostPort(e.host, strconv.Itoa(e.port))
}

func (c *Client) node() (object, error) {
	node := object{}
	if len(c.Node) == 0 {
		return node, nil
	}
	err := json.Unmarshal(c.Node, &node)
	return node, err
}

func written(bootstrap object) ([]byte, error) {
	text, err := json.MarshalIndent(bootstrap, "", "  ")
	return append(text, '\n'), err
}
