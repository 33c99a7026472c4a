package xdstest

import (
	"context"
	"slices"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// SotWClient asks for the state of the world on the aggregated stream, with
// Envoy's manners: clusters first and without names, endpoints and secrets
// before the clusters are acknowledged, listeners when all endpoints are
// there, the node on every request. A new stream keeps the versions and
// forgets the nonces.
type SotWClient struct {
	opts  ClientOptions
	state *board[SotWState]

	// Owned by the goroutine of Run.
	order []string // type URLs in the order of first subscription
	subs  map[string]*sotwSubscription
}

// SotWState is how far a client has come.
type SotWState struct {
	Streams  int               // opened so far
	Accepted map[string]string // by type URL: the version last acknowledged
	Fresh    map[string]bool   // by type URL: acknowledged something on the present stream
	Rejected map[string]int    // by type URL: how often it refused
}

type sotwSubscription struct {
	names          []string // sorted; empty asks for everything
	version, nonce string
}

// NewSotWClient returns a client that does nothing until Run.
func NewSotWClient(o ClientOptions) *SotWClient {
	return &SotWClient{
		opts:  o,
		subs:  map[string]*sotwSubscription{},
		state: newBoard(SotWState{Accepted: map[string]string{}, Fresh: map[string]bool{}, Rejected: map[string]int{}}),
	}
}

// Run keeps a stream open until ctx is done.
func (c *SotWClient) Run(ctx context.Context) error { return c.opts.keepStream(ctx, c.stream) }

// Wait blocks until cond holds of the client's state, or ctx is done. cond
// must not keep the state.
func (c *SotWClient) Wait(ctx context.Context, cond func(SotWState) bool) error {
	return c.state.wait(ctx, cond)
}

type sotwStream = discovery.AggregatedDiscoveryService_StreamAggregatedResourcesClient

func (c *SotWClient) stream(ctx context.Context, conn *grpc.ClientConn) error {
	s, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		return err
	}
	c.state.update(func(st *SotWState) {
		st.Streams++
		clear(st.Fresh)
	})
	if len(c.order) == 0 {
		c.subscription(resource.ClusterType)
	}
	for _, typeURL := range c.order {
		c.subs[typeURL].nonce = ""
		c.send(s, typeURL, nil)
	}
	for {
		resp, err := s.Recv()
		if err != nil {
			return err
		}
		c.answer(s, resp)
	}
}

func (c *SotWClient) answer(s sotwStream, resp *discovery.DiscoveryResponse) {
	typeURL := resp.GetTypeUrl()
	sub := c.subs[typeURL]
	if sub == nil {
		return // never asked for: Envoy drops it silently
	}
	sub.nonce = resp.GetNonce()
	good, refusal := accept(typeURL, resp.GetResources())
	if refusal != nil {
		c.send(s, typeURL, refusal)
		c.state.update(func(st *SotWState) { st.Rejected[typeURL]++ })
		return
	}

	sub.version = resp.GetVersionInfo()
	c.follow(s, typeURL, good)
	c.send(s, typeURL, nil)
	c.state.update(func(st *SotWState) {
		st.Accepted[typeURL] = sub.version
		st.Fresh[typeURL] = true
	})
	if typeURL == resource.EndpointType && c.subs[resource.ListenerType] == nil {
		c.subscription(resource.ListenerType)
		c.send(s, resource.ListenerType, nil)
	}
}

// follow asks for what the accepted resources refer to, where that changed.
func (c *SotWClient) follow(s sotwStream, typeURL string, good map[string]proto.Message) {
	var next []string
	switch typeURL {
	case resource.ClusterType:
		next = []string{resource.EndpointType, resource.SecretType}
	case resource.ListenerType:
		next = []string{resource.RouteType}
	}
	for _, t := range next {
		var names []string
		for _, m := range good {
			names = append(names, references(m)[t]...)
		}
		slices.Sort(names)
		names = slices.Compact(names)
		if c.subs[t] == nil && len(names) == 0 {
			continue
		}
		if sub := c.subscription(t); !slices.Equal(sub.names, names) {
			sub.names = names
			c.send(s, t, nil)
		}
	}
}

func (c *SotWClient) subscription(typeURL string) *sotwSubscription {
	sub := c.subs[typeURL]
	if sub == nil {
		sub = &sotwSubscription{}
		c.subs[typeURL] = sub
		c.order = append(c.order, typeURL)
	}
	return sub
}

func (c *SotWClient) send(s sotwStream, typeURL string, refusal error) {
	sub := c.subs[typeURL]
	req := &discovery.DiscoveryRequest{
		VersionInfo:   sub.version,
		Node:          c.opts.Node,
		ResourceNames: sub.names,
		TypeUrl:       typeURL,
		ResponseNonce: sub.nonce,
	}
	if refusal != nil {
		req.ErrorDetail = &rpcstatus.Status{Code: int32(codes.Internal), Message: refusal.Error()}
	}
	_ = s.Send(req) // why a stream takes nothing more its end says
}
