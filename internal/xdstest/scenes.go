package xdstest

import (
	"context"
	"fmt"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/health/grpc_health_v1"
)

func (r *round) startUp() {
	r.log("an Envoy-like client starts: clusters, endpoints, a secret, listeners, routes")
	r.accepted("start-up", func(ctx context.Context) error {
		r.clients.Go(func() { _ = r.envoy.Run(r.ctx) })
		return r.setEnvoy(ctx, world{body: "hello"})
	}, all()...)
}

func (r *round) callService() {
	r.log("a gRPC client finds a service by xDS and calls it")
	var health grpc_health_v1.HealthClient
	leave := func() error { return nil }
	defer func() { _ = leave() }()
	r.try("a gRPC client", func(ctx context.Context) error {
		conn, err := DialGRPC(must(Bootstrap(r.proxy, grpcNode)), greeter)
		if err == nil {
			leave, health = conn.Close, grpc_health_v1.NewHealthClient(conn)
		}
		return err
	})
	gives := func(want grpc_health_v1.HealthCheckResponse_ServingStatus) {
		r.try("a gRPC call", func(ctx context.Context) error {
			for {
				resp, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
				if resp.GetStatus() == want {
					return nil
				}
				select {
				case <-ctx.Done():
					return fmt.Errorf("no answer from the right backend (last error: %v)", err)
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
	r.setGRPC(0)
	gives(grpc_health_v1.HealthCheckResponse_SERVING)
	r.log("the service moves to another backend")
	r.setGRPC(1)
	gives(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
}

func (r *round) update() {
	r.log("an update: another answer on the route, one cluster more")
	r.accepted("the update", func(ctx context.Context) error {
		return r.setEnvoy(ctx, world{body: "hello again", extra: Cluster("search", ADS())})
	}, resource.ClusterType, resource.EndpointType, resource.RouteType)
}

func (r *round) reject() {
	r.log("a cluster that no client can accept: rejected, sent again, rejected again")
	r.try("the rejected cluster", func(ctx context.Context) error {
		if err := r.setEnvoy(ctx, world{body: "hello again", extra: BrokenCluster("search", ADS())}); err != nil {
			return err
		}
		return r.envoy.Wait(ctx, func(st SotWState) bool { return st.Rejected[resource.ClusterType] >= rejects })
	})
}

func (r *round) fix() {
	r.log("the cluster is fixed and accepted")
	r.accepted("the fix", func(ctx context.Context) error {
		return r.setEnvoy(ctx, world{body: "hello again", extra: Cluster("search", ADS())})
	}, resource.ClusterType)
}

func (r *round) deltas() {
	r.log("a delta client subscribes to all clusters and the endpoints of one")
	holds := func(what string, cond func(clusters, endpoints map[string]string) bool) {
		r.try(what, func(ctx context.Context) error {
			return r.delta.Wait(ctx, func(st DeltaState) bool {
				return cond(st.Held[resource.ClusterType], st.Held[resource.EndpointType])
			})
		})
	}
	r.setDelta(0, "web", "search")
	r.delta.Subscribe(resource.ClusterType)
	r.delta.Subscribe(resource.EndpointType, "web")
	r.clients.Go(func() { _ = r.delta.Run(r.ctx) })
	var old string
	holds("delta subscriptions", func(clusters, endpoints map[string]string) bool {
		old = endpoints["web"]
		return len(clusters) == 2 && old != ""
	})

	r.log("the endpoints of another are subscribed to, then all change")
	r.delta.Subscribe(resource.EndpointType, "search")
	holds("a further subscription", func(_, endpoints map[string]string) bool { return endpoints["search"] != "" })
	r.setDelta(1, "web", "search")
	holds("a delta update", func(_, endpoints map[string]string) bool { return endpoints["web"] != old })

	r.log("a cluster is removed, and its endpoints are let go of")
	r.setDelta(1, "web")
	holds("a delta removal", func(clusters, _ map[string]string) bool { return len(clusters) == 1 })
	r.delta.Unsubscribe(resource.EndpointType, "search")
	r.try("the unsubscription", func(ctx context.Context) error { // which nothing answers
		select {
		case <-r.story.letGo:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

func (r *round) rotate() {
	r.log("the certificate is rotated: its private key is not for your eyes")
	r.accepted("the rotated secret", func(ctx context.Context) error {
		return r.setEnvoy(ctx, world{body: "hello again", extra: Cluster("search", ADS()), rotation: 1})
	}, resource.SecretType)
}

func (r *round) restart() {
	r.log("the control plane restarts and the clients come back")
	r.try("the restart", func(context.Context) error {
		r.story.control.Stop()
		return r.story.control.Start()
	})
	r.try("the return of the Envoy-like client", func(ctx context.Context) error {
		return r.envoy.Wait(ctx, func(st SotWState) bool {
			for _, t := range all() {
				if !st.Fresh[t] {
					return false
				}
			}
			return st.Streams > 1
		})
	})
	r.try("the return of the delta client", func(ctx context.Context) error {
		return r.delta.Wait(ctx, func(st DeltaState) bool { return st.Streams > 1 && st.Responses > 0 })
	})
}
