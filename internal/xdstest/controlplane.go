package xdstest

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"math"
	"strconv"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	clusterservice "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointservice "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	listenerservice "github.com/envoyproxy/go-control-plane/envoy/service/listener/v3"
	loadstats "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	routeservice "github.com/envoyproxy/go-control-plane/envoy/service/route/v3"
	secretservice "github.com/envoyproxy/go-control-plane/envoy/service/secret/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/config"
	"github.com/envoyproxy/go-control-plane/pkg/server/sotw/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
)

// Options configure a ControlPlane.
type Options struct {
	// Listen is host:port (port 0 picks a free one) or unix:/path.
	Listen string
	// Ping is how often it asks a client that is silent whether it is there,
	// at least a second; 0: every two hours.
	Ping time.Duration
	// Account is filled with what the control plane sees; nil keeps none.
	Account *Account
	// ResendPause is how long the control plane holds a stream after a NACK,
	// before it sends what was refused once more, as go-control-plane does. A
	// new world ends the pause. 0 means a second; the loop would otherwise
	// turn as fast as both ends can.
	ResendPause time.Duration
	// Ordered serves aggregated streams as go-control-plane does in its ADS
	// mode: of what changed at the same time clusters go first, then endpoints,
	// and a type is not sent before all of it was asked for. It is wrong for
	// streams of one type each and for clients that ask for a part.
	Ordered bool
	// OwnVersions gives a type a new version only when there is news of it; if
	// Ordered, endpoints get one with a changed cluster too, since a client
	// that warms it on the same stream waits for them. Without it all types of
	// a world have the world's version, as many control planes do: a push then
	// repeats types that did not change.
	OwnVersions bool
	// TLS is how the control plane speaks TLS; nil: plaintext.
	TLS *tls.Config
	// Admit refuses a stream by its request headers; nil admits all. A stream
	// that is refused is on the account.
	Admit func(metadata.MD) error
	// Unsubscribed is called when a delta client lets go of resources; nil calls nothing.
	Unsubscribed func()
	// Cache is served instead of the worlds that are Set.
	Cache cache.Cache
}

// ControlPlane is a management server: a go-control-plane snapshot cache
// behind the aggregated and the per-type services, state of the world and
// delta, and a server of load reports. It survives Stop and Start with its worlds, and forgets its streams.
type ControlPlane struct {
	opts  Options
	cache cache.SnapshotCache

	// setting is held during Set: worlds take effect in the order of their versions.
	setting sync.Mutex

	mu      sync.Mutex
	addr    string              // where it listens, or listened last
	version int                 // of the last world that was set
	current map[string]versions // by node id: those of its world
	coming  map[string]versions // by node id: those of a world that is being set
	changed chan struct{}       // closed and replaced whenever current changes
	running *serving            // nil while stopped
}

// serving is one run of the server, from Start to Stop.
type serving struct {
	grpc   *grpc.Server
	cancel context.CancelFunc
	done   chan struct{} // closed when Serve has returned
}

// subscription is one type on one stream of one run.
type subscription struct {
	stream  int64
	typeURL string
}

// StartControlPlane starts a control plane that has no world yet.
func StartControlPlane(o Options) (*ControlPlane, error) {
	if o.ResendPause == 0 {
		o.ResendPause = time.Second
	}
	c := &ControlPlane{
		opts:    o,
		addr:    o.Listen,
		cache:   cache.NewSnapshotCache(o.Ordered, cache.IDHash{}, nil),
		current: map[string]versions{},
		coming:  map[string]versions{},
		changed: make(chan struct{}),
	}
	return c, c.Start()
}

// Addr is where the control plane listens, the same for every Start.
func (c *ControlPlane) Addr() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.addr
}

// Start listens and serves; it does nothing while the control plane runs.
func (c *ControlPlane) Start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil {
		return nil
	}
	l, err := Listen(c.addr)
	if err != nil {
		return err
	}
	c.addr = addressOf(l)

	transport := insecure.NewCredentials()
	if c.opts.TLS != nil {
		transport = credentials.NewTLS(c.opts.TLS)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &serving{
		grpc: grpc.NewServer(
			grpc.Creds(transport),
			grpc.ForceServerCodecV2(codec{}),
			grpc.ChainStreamInterceptor(accountStreams(c.opts.Account), admitStreams(c.opts.Admit)),
			grpc.MaxRecvMsgSize(math.MaxInt32),
			grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
			grpc.KeepaliveParams(keepalive.ServerParameters{Time: c.opts.Ping}),
		),
		cancel: cancel,
		done:   make(chan struct{}),
	}
	var served cache.Cache = c.cache
	if c.opts.Cache != nil {
		served = c.opts.Cache
	}
	var options []config.XDSOption
	if c.opts.Ordered {
		options = append(options, sotw.WithOrderedADS())
	}
	xds := server.NewServer(ctx, served, c.callbacks(ctx), options...)
	discovery.RegisterAggregatedDiscoveryServiceServer(r.grpc, xds)
	clusterservice.RegisterClusterDiscoveryServiceServer(r.grpc, xds)
	endpointservice.RegisterEndpointDiscoveryServiceServer(r.grpc, xds)
	listenerservice.RegisterListenerDiscoveryServiceServer(r.grpc, xds)
	routeservice.RegisterRouteDiscoveryServiceServer(r.grpc, xds)
	secretservice.RegisterSecretDiscoveryServiceServer(r.grpc, xds)
	loadstats.RegisterLoadReportingServiceServer(r.grpc, loads{})
	go func() {
		defer close(r.done)
		_ = r.grpc.Serve(l) // returns when Stop closes the listener
	}()
	c.running = r
	return nil
}

// Stop closes every connection at once and waits for the handlers. It does
// nothing while the control plane is stopped.
func (c *ControlPlane) Stop() {
	c.mu.Lock()
	r := c.running
	c.running = nil
	c.mu.Unlock()
	if r == nil {
		return
	}
	r.cancel()
	r.grpc.Stop()
	<-r.done
}

// Drain ends every stream with status OK and every connection with GOAWAY, and
// stops. It returns when the clients have closed their connections, or breaks
// off what is left when ctx is done.
func (c *ControlPlane) Drain(ctx context.Context) {
	c.mu.Lock()
	r := c.running
	c.running = nil
	c.mu.Unlock()
	if r == nil {
		return
	}
	r.cancel()
	stop := context.AfterFunc(ctx, r.grpc.Stop)
	defer stop()
	r.grpc.GracefulStop()
	<-r.done
}

// Set makes w the world of the node with this id, and pushes what changed.
func (c *ControlPlane) Set(ctx context.Context, node string, w World) error {
	c.setting.Lock()
	defer c.setting.Unlock()
	c.mu.Lock()
	c.version++
	version, before := strconv.Itoa(c.version), c.current[node]
	c.mu.Unlock()

	snapshot, err := w.snapshot(version)
	if err != nil {
		return fmt.Errorf("world of %q: %w", node, err)
	}
	current, err := versionsOf(snapshot)
	if err != nil {
		return fmt.Errorf("world of %q: %w", node, err)
	}
	if c.opts.OwnVersions {
		current.keep(snapshot, before, c.opts.Ordered)
	}
	return c.become(node, current, func() error {
		if err := c.cache.SetSnapshot(ctx, node, snapshot); err != nil {
			return fmt.Errorf("world of %q: %w", node, err)
		}
		return nil
	})
}

// become makes next the versions of the node's world by what push does. A
// client may refuse some of them before push returns.
func (c *ControlPlane) become(node string, next versions, push func() error) error {
	c.mu.Lock()
	c.coming[node] = next
	c.mu.Unlock()

	err := push()

	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.coming, node)
	if err != nil {
		return err
	}
	c.current[node] = next
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

// callbacks watch one run of the server for NACKs of what it would send again.
func (c *ControlPlane) callbacks(ctx context.Context) server.Callbacks {
	var mu sync.Mutex
	sent := map[subscription]string{} // the version last sent
	return server.CallbackFuncs{
		StreamResponseFunc: func(_ context.Context, id int64, req *discovery.DiscoveryRequest, resp *discovery.DiscoveryResponse) {
			mu.Lock()
			defer mu.Unlock()
			sent[subscription{id, req.GetTypeUrl()}] = resp.GetVersionInfo()
		},
		StreamRequestFunc: func(id int64, req *discovery.DiscoveryRequest) error {
			if req.GetErrorDetail() != nil {
				mu.Lock()
				refused := sent[subscription{id, req.GetTypeUrl()}]
				mu.Unlock()
				c.pause(ctx, req.GetNode().GetId(), req.GetTypeUrl(), refused)
			}
			return nil
		},
		StreamDeltaRequestFunc: func(_ int64, req *discovery.DeltaDiscoveryRequest) error {
			if len(req.GetResourceNamesUnsubscribe()) > 0 && c.opts.Unsubscribed != nil {
				c.opts.Unsubscribed()
			}
			return nil
		},
		StreamClosedFunc: func(id int64, _ *corev3.Node) {
			mu.Lock()
			defer mu.Unlock()
			maps.DeleteFunc(sent, func(s subscription, _ string) bool { return s.stream == id })
		},
	}
}

// pause holds the calling stream while the refused version is the present one
// of the node's type, or about to be: see Options.ResendPause.
func (c *ControlPlane) pause(ctx context.Context, node, typeURL, refused string) {
	t := time.NewTimer(c.opts.ResendPause)
	defer t.Stop()
	for {
		c.mu.Lock()
		current, coming, changed := c.current[node][typeURL].name, c.coming[node][typeURL].name, c.changed
		c.mu.Unlock()
		if current != refused && coming != refused {
			return
		}
		select {
		case <-changed:
		case <-t.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
