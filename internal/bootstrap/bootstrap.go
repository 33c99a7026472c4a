package bootstrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Kind is whose bootstrap it is.
type Kind int

const (
	Envoy Kind = iota
	GRPC
)

// ErrUnknown says that a document is no bootstrap of either kind.
var ErrUnknown = errors.New("neither a bootstrap of Envoy (no static_resources, no dynamic_resources) nor one of gRPC (no xds_servers)")

// errServers says that a bootstrap is not one that anybody wrote.
var errServers = fmt.Errorf("it names more than %d xDS servers", maxServers)

// Document is a bootstrap.
type Document struct {
	Kind Kind
	// Servers are those it names, in the order in which they are found. Two ways
	// to the same address are one server.
	Servers []*Server
	// Clusters are the names of those that Envoy has from it.
	Clusters []string
	// Warnings are sentences about what will be different from what one may
	// expect.
	Warnings []string

	root   *yaml.Node
	format format
}

// Server is one address at which the client looks for an xDS server.
type Server struct {
	// Address is host:port, unix:/path or unix:@abstract; "" if there is none.
	Address string
	// Names are the clusters or authorities that lead to it. The default
	// authority of gRPC, and a target without a cluster, have none.
	Names []string
	Uses  []Use
	// Obstacle says why nothing can be put in front of it; nil if it can.
	Obstacle *Obstacle
	// TLS is how the client speaks to it; nil if it does so in plaintext. Whoever
	// stands in for the server has to speak for the client, which will do without.
	TLS *TLS
	// IPv6 says that the client looks for addresses of this family only.
	IPv6 bool

	places []place
}

// Use is what the client wants of a server.
type Use struct {
	What string // "ADS", "CDS", "SDS", ...; "xDS" where it does not say
	Path string // where in the document, such as dynamic_resources.ads_config
}

// Obstacle is why a server cannot be wrapped.
type Obstacle struct {
	Why string // goes on after "cannot wrap X: "
	// Secured says that it lies in how the client speaks TLS there.
	Secured bool
}

// secured is an obstacle in how the client speaks TLS.
func secured(why string) *Obstacle { return &Obstacle{Why: why, Secured: true} }

// Unix says whether the server is reached by a unix socket.
func (s *Server) Unix() bool { return strings.HasPrefix(s.Address, "unix:") }

// Private says whether what stands in for the server has to be a unix socket: it
// is one itself, or what the client says there in plaintext is said in its name.
func (s *Server) Private() bool { return s.Unix() || s.TLS != nil }

// Redirect makes the client go to addr instead, in plaintext, which has the form
// of Address and is a unix socket if and only if it has to be Private.
func (s *Server) Redirect(addr string) error {
	if s.Obstacle != nil || strings.HasPrefix(addr, "unix:") != s.Private() {
		return fmt.Errorf("%s cannot stand in for %s", addr, s.Address)
	}
	for _, p := range s.places {
		if err := p.put(addr); err != nil {
			return err
		}
	}
	return nil
}

// Parse reads a bootstrap. The name says by its ending what is in it; where it
// does not, the text does. read is for the files that secrets of Envoy come by;
// nil: none.
func Parse(name string, data []byte, read func(path string) ([]byte, error)) (*Document, error) {
	root, format, err := parseTree(name, data)
	if err != nil {
		return nil, err
	}
	d := &Document{root: root, format: format}
	switch {
	case root.Kind != yaml.MappingNode:
		return nil, ErrUnknown
	case member(root, "xds_servers") != nil || member(root, "authorities") != nil && format == inJSON:
		d.Kind = GRPC
		if format == inJSON && !json.Valid(data) {
			return nil, errors.New("a bootstrap of gRPC, whose readers of JSON forgive less than Envoy's: it is not valid JSON")
		}
		err = d.findGRPC()
	case field(root, "static_resources") != nil || field(root, "dynamic_resources") != nil:
		err = d.findEnvoy(read)
	default:
		return nil, ErrUnknown
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// add notes a server, or one more way to a server that is known.
func (d *Document) add(s *Server) {
	for _, known := range d.Servers {
		if known.Address != s.Address || known.IPv6 != s.IPv6 || !same(known.Obstacle, s.Obstacle) || !reflect.DeepEqual(known.TLS, s.TLS) {
			continue
		}
		if s.Obstacle != nil && !slices.Equal(known.Names, s.Names) {
			continue
		}
		for _, n := range s.Names {
			if !slices.Contains(known.Names, n) {
				known.Names = append(known.Names, n)
			}
		}
		known.Uses = append(known.Uses, s.Uses[:min(len(s.Uses), maxUses-len(known.Uses))]...)
		known.places = append(known.places, s.places...)
		return
	}
	if len(d.Servers) <= maxServers { // one more tells that there are too many
		s.Uses = slices.Clip(s.Uses) // those of a cluster are those of all its endpoints
		d.Servers = append(d.Servers, s)
	}
}

func same(a, b *Obstacle) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func (d *Document) warn(format string, args ...any) {
	d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...))
}
