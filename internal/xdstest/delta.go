package xdstest

import (
	"context"
	"maps"
	"slices"
	"sync"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/anypb"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
)

// DeltaClient subscribes on the delta aggregated stream to what it is told to.
// A new stream repeats the subscriptions, together with the versions of what
// the client holds.
type DeltaClient struct {
	opts  ClientOptions
	state *board[DeltaState]

	mu     sync.Mutex
	stream deltaStream // nil while there is none
	order  []string
	subs   map[string]*deltaSubscription
}

// DeltaState is what a delta client holds.
type DeltaState struct {
	Streams   int                          // opened so far
	Responses int                          // received on the present stream
	Held      map[string]map[string]string // by type URL and name: the version
	Rejected  map[string]int               // by type URL: how often it refused
}

type deltaSubscription struct {
	wildcard bool // asked for without names
	names    map[string]bool
}

type deltaStream = discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesClient

// NewDeltaClient returns a client that does nothing until Run.
func NewDeltaClient(o ClientOptions) *DeltaClient {
	return &DeltaClient{
		opts:  o,
		subs:  map[string]*deltaSubscription{},
		state: newBoard(DeltaState{Held: map[string]map[string]string{}, Rejected: map[string]int{}}),
	}
}

// Run keeps a stream open until ctx is done.
func (c *DeltaClient) Run(ctx context.Context) error { return c.opts.keepStream(ctx, c.run) }

// Wait blocks until cond holds of the client's state, or ctx is done. cond
// must not keep the state.
func (c *DeltaClient) Wait(ctx context.Context, cond func(DeltaState) bool) error {
	return c.state.wait(ctx, cond)
}

// Subscribe asks for the named resources, or without names for all of the
// type. It is sent at once, or when there is a stream.
func (c *DeltaClient) Subscribe(typeURL string, names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sub := c.subs[typeURL]
	if sub == nil {
		sub = &deltaSubscription{wildcard: len(names) == 0, names: map[string]bool{}}
		c.subs[typeURL] = sub
		c.order = append(c.order, typeURL)
	}
	for _, n := range names {
		sub.names[n] = true
	}
	c.send(&discovery.DeltaDiscoveryRequest{TypeUrl: typeURL, ResourceNamesSubscribe: names})
}

// Unsubscribe lets go of the named resources.
func (c *DeltaClient) Unsubscribe(typeURL string, names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if sub := c.subs[typeURL]; sub != nil {
		for _, n := range names {
			delete(sub.names, n)
		}
	}
	c.state.update(func(st *DeltaState) {
		for _, n := range names {
			delete(st.Held[typeURL], n)
		}
	})
	c.send(&discovery.DeltaDiscoveryRequest{TypeUrl: typeURL, ResourceNamesUnsubscribe: names})
}

func (c *DeltaClient) run(ctx context.Context, conn *grpc.ClientConn) error {
	s, err := discovery.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		return err
	}
	defer func() {
		c.mu.Lock()
		c.stream = nil
		c.mu.Unlock()
	}()
	c.begin(s)
	for {
		resp, err := s.Recv()
		if err != nil {
			return err
		}
		c.answer(resp)
	}
}

// begin announces every type on a new stream.
func (c *DeltaClient) begin(s deltaStream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stream = s
	var held map[string]map[string]string
	c.state.update(func(st *DeltaState) {
		st.Streams++
		st.Responses = 0
		held = make(map[string]map[string]string, len(st.Held))
		for t, versions := range st.Held {
			held[t] = maps.Clone(versions)
		}
	})
	for _, t := range c.order {
		names := slices.Sorted(maps.Keys(c.subs[t].names))
		if c.subs[t].wildcard && len(names) > 0 {
			names = append([]string{"*"}, names...)
		}
		c.send(&discovery.DeltaDiscoveryRequest{
			TypeUrl:                 t,
			ResourceNamesSubscribe:  names,
			InitialResourceVersions: held[t],
		})
	}
}

func (c *DeltaClient) answer(resp *discovery.DeltaDiscoveryResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	typeURL := resp.GetTypeUrl()
	bodies := make([]*anypb.Any, 0, len(resp.GetResources()))
	for _, r := range resp.GetResources() {
		bodies = append(bodies, r.GetResource())
	}
	ack := &discovery.DeltaDiscoveryRequest{TypeUrl: typeURL, ResponseNonce: resp.GetNonce()}
	_, refusal := accept(typeURL, bodies)
	if refusal != nil {
		ack.ErrorDetail = &rpcstatus.Status{Code: int32(codes.Internal), Message: refusal.Error()}
	}
	c.send(ack)
	c.state.update(func(st *DeltaState) {
		st.Responses++
		if refusal != nil {
			st.Rejected[typeURL]++
			return
		}
		if st.Held[typeURL] == nil {
			st.Held[typeURL] = map[string]string{}
		}
		for _, r := range resp.GetResources() {
			st.Held[typeURL][r.GetName()] = r.GetVersion()
		}
		for _, n := range resp.GetRemovedResources() {
			delete(st.Held[typeURL], n)
		}
	})
}

// send needs c.mu. Without a stream there is nothing to do: the next one
// begins with everything. Why a stream takes nothing more its end says.
func (c *DeltaClient) send(req *discovery.DeltaDiscoveryRequest) {
	if c.stream != nil {
		req.Node = c.opts.Node
		_ = c.stream.Send(req)
	}
}
