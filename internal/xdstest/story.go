package xdstest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// Story is a control plane with two backends, and a play for three clients
// that connect to it by way of a proxy.
type Story struct {
	control  *ControlPlane
	backends [2]*Backend
	letGo    chan struct{} // a delta client unsubscribed
}

const (
	stepLimit = time.Minute // for what takes milliseconds when all is well
	rejects   = 3           // turns of the resend loop that are played

	envoyNode, deltaNode, grpcNode = "demo-envoy", "demo-delta", "demo-grpc"
	greeter                        = "greeter.demo"
)

// NewStory starts a control plane at listen (host:port, unix:/path) and the
// backends that its endpoints name.
func NewStory(listen string) (*Story, error) {
	s := &Story{letGo: make(chan struct{}, 1)}
	var err error
	if s.control, err = StartControlPlane(Options{
		Listen: listen, ResendPause: 250 * time.Millisecond, Ordered: true, OwnVersions: true,
		Unsubscribed: func() {
			select {
			case s.letGo <- struct{}{}:
			default: // nobody waits for that of a client from elsewhere
			}
		},
	}); err != nil {
		return nil, err
	}
	for i, answer := range []grpc_health_v1.HealthCheckResponse_ServingStatus{
		grpc_health_v1.HealthCheckResponse_SERVING, grpc_health_v1.HealthCheckResponse_NOT_SERVING,
	} {
		if s.backends[i], err = StartBackend(answer); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// Addr is where the control plane listens: the upstream of the proxy.
func (s *Story) Addr() string { return s.control.Addr() }

// Close stops the control plane and the backends.
func (s *Story) Close() {
	s.control.Stop()
	for _, b := range s.backends {
		if b != nil {
			b.Stop()
		}
	}
}

// Play plays one round with clients that dial the proxy: start-up, an update,
// a rejected cluster that is sent again and again until it is fixed, delta
// subscriptions, a rotated secret, a restart of the control plane. It calls
// log with one line before each step, and takes a few seconds. It may be
// called again when it has returned.
func (s *Story) Play(ctx context.Context, proxy string, log func(step string)) error {
	ctx, cancel := context.WithCancel(ctx)
	r := &round{ctx: ctx, story: s, log: log, proxy: proxy}
	r.envoy = NewSotWClient(ClientOptions{Dial: proxy, Node: &corev3.Node{
		Id: envoyNode, Cluster: "demo", UserAgentName: "scripted Envoy",
		Locality: &corev3.Locality{Region: "here", Zone: "a"},
	}})
	r.delta = NewDeltaClient(ClientOptions{Dial: proxy, Node: &corev3.Node{
		Id: deltaNode, Cluster: "demo", UserAgentName: "scripted delta client",
	}})
	defer r.clients.Wait()
	defer cancel()
	for _, scene := range []func(){r.startUp, r.callService, r.update, r.reject, r.fix, r.deltas, r.rotate, r.restart} {
		if scene(); r.err != nil {
			return r.err
		}
	}
	log("the round is over: the clients leave")
	return nil
}

// round is one performance.
type round struct {
	ctx     context.Context
	err     error // what went wrong first
	story   *Story
	log     func(string)
	proxy   string
	envoy   *SotWClient
	delta   *DeltaClient
	clients sync.WaitGroup
}

// world is the demo at one time; the zero value is its beginning.
type world struct {
	body     string
	extra    *clusterv3.Cluster
	rotation int
}

func (r *round) setEnvoy(ctx context.Context, w world) error {
	out := World{
		Clusters:  []*clusterv3.Cluster{Cluster("web", ADS()), TLSCluster("payments", "payments-cert", ADS())},
		Listeners: []*listenerv3.Listener{Listener("ingress", "127.0.0.1:10000", "ingress-routes", ADS())},
		Routes:    []*routev3.RouteConfiguration{DirectRoute("ingress-routes", w.body)},
		Secrets:   []*tlsv3.Secret{FakeSecret("payments-cert", w.rotation)},
	}
	if w.extra != nil {
		out.Clusters = append(out.Clusters, w.extra)
	}
	for _, c := range out.Clusters {
		out.Endpoints = append(out.Endpoints, Endpoints(c.GetName(), r.story.backends[0].Addr()))
	}
	return r.story.control.Set(ctx, envoyNode, out)
}

func (r *round) setDelta(backend int, clusters ...string) {
	var out World
	for _, name := range clusters {
		out.Clusters = append(out.Clusters, Cluster(name, ADS()))
		out.Endpoints = append(out.Endpoints, Endpoints(name, r.story.backends[backend].Addr()))
	}
	r.try("a world", func(ctx context.Context) error { return r.story.control.Set(ctx, deltaNode, out) })
}

func (r *round) setGRPC(backend int) {
	out := World{
		Clusters:  []*clusterv3.Cluster{Cluster("greeter", Self())},
		Endpoints: []*endpointv3.ClusterLoadAssignment{Endpoints("greeter", r.story.backends[backend].Addr())},
		Listeners: []*listenerv3.Listener{APIListener(greeter, "greeter-routes")},
		Routes:    []*routev3.RouteConfiguration{ClusterRoute("greeter-routes", "greeter")},
	}
	r.try("a world", func(ctx context.Context) error { return r.story.control.Set(ctx, grpcNode, out) })
}

// try does what comes next, with the limit that everything has, unless something went wrong before.
func (r *round) try(what string, f func(context.Context) error) {
	if r.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(r.ctx, stepLimit)
	defer cancel()
	err := f(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("nothing for %s", stepLimit)
	}
	if err != nil {
		r.err = fmt.Errorf("demo: %s: %w", what, err)
	}
}

// accepted waits until the Envoy-like client has accepted a version above the
// one it had of each type.
func (r *round) accepted(what string, change func(context.Context) error, types ...string) {
	r.try(what, func(ctx context.Context) error {
		before := map[string]string{}
		_ = r.envoy.Wait(ctx, func(st SotWState) bool {
			maps.Copy(before, st.Accepted)
			return true
		})
		if err := change(ctx); err != nil {
			return err
		}
		return r.envoy.Wait(ctx, func(st SotWState) bool {
			return !slices.ContainsFunc(types, func(t string) bool { return st.Accepted[t] == before[t] })
		})
	})
}

// all are the types that the Envoy-like client asks for.
func all() []string {
	return []string{
		resource.ClusterType, resource.EndpointType, resource.ListenerType, resource.RouteType, resource.SecretType,
	}
}
