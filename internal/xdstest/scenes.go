package xdstest

import (
	"context"
	"fmt"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/health/grpc_health_v1"
)

func (r *round) startUp(ctx context.Context) error {
	r.log("an Envoy-like client starts: clusters, endpoints, a secret, listeners, routes")
	return r.accepted(ctx, "start-up", func() error {
		if err := r.setEnvoy(ctx, world{body: "hello"}); err != nil {
			return err
		}
		r.clients.Go(func() { _ = r.envoy.Run(ctx) })
		return nil
	}, all()...)
}

func (r *round) callService(ctx context.Context) error {
	r.log("a gRPC client finds a service by xDS and calls it")
	if err := r.setGRPC(ctx, 0); err != nil {
		return err
	}
	bootstrap, err := Bootstrap(r.proxy, grpcNode)
	if err != nil {
		return err
	}
	conn, err := DialGRPC(bootstrap, greeter)
	if err != nil {
		return err
	}
	defer conn.Close()
	health := grpc_health_v1.NewHealthClient(conn)
	until := func(want grpc_health_v1.HealthCheckResponse_ServingStatus) error {
		return step(ctx, "a gRPC call", func(ctx context.Context) error {
			for {
				resp, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
				if err == nil && resp.GetStatus() == want {
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
	if err := until(grpc_health_v1.HealthCheckResponse_SERVING); err != nil {
		return err
	}
	r.log("the service moves to another backend")
	if err := r.setGRPC(ctx, 1); err != nil {
		return err
	}
	return until(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
}

func (r *round) update(ctx context.Context) error {
	r.log("an update: another answer on the route, one cluster more")
	return r.accepted(ctx, "the update", func() error {
		return r.setEnvoy(ctx, world{body: "hello again", extra: Cluster("search", ADS())})
	}, resource.ClusterType, resource.EndpointType, resource.RouteType)
}

func (r *round) reject(ctx context.Context) error {
	r.log("a cluster that no client can accept: rejected, sent again, rejected again")
	if err := r.setEnvoy(ctx, world{body: "hello again", extra: BrokenCluster("search", ADS())}); err != nil {
		return err
	}
	return step(ctx, "the rejected cluster", func(ctx context.Context) error {
		return r.envoy.Wait(ctx, func(st SotWState) bool { return st.Rejected[resource.ClusterType] >= rejects })
	})
}

func (r *round) fix(ctx context.Context) error {
	r.log("the cluster is fixed and accepted")
	return r.accepted(ctx, "the fix", func() error {
		return r.setEnvoy(ctx, world{body: "hello again", extra: Cluster("search", ADS())})
	}, resource.ClusterType)
}

func (r *round) deltas(ctx context.Context) error {
	r.log("a delta client subscribes to all clusters and the endpoints of one")
	holds := func(what string, cond func(clusters, endpoints map[string]string) bool) error {
		return step(ctx, what, func(ctx context.Context) error {
			return r.delta.Wait(ctx, func(st DeltaState) bool {
				return cond(st.Held[resource.ClusterType], st.Held[resource.EndpointType])
			})
		})
	}
	if err := r.setDelta(ctx, 0, "web", "search"); err != nil {
		return err
	}
	if err := r.delta.Subscribe(resource.ClusterType); err != nil {
		return err
	}
	if err := r.delta.Subscribe(resource.EndpointType, "web"); err != nil {
		return err
	}
	r.clients.Go(func() { _ = r.delta.Run(ctx) })
	var old string
	if err := holds("delta subscriptions", func(clusters, endpoints map[string]string) bool {
		old = endpoints["web"]
		return len(clusters) == 2 && old != ""
	}); err != nil {
		return err
	}

	r.log("the endpoints of another are subscribed to, then all change")
	if err := r.delta.Subscribe(resource.EndpointType, "search"); err != nil {
		return err
	}
	if err := holds("a further subscription", func(_, endpoints map[string]string) bool {
		return endpoints["search"] != ""
	}); err != nil {
		return err
	}
	if err := r.setDelta(ctx, 1, "web", "search"); err != nil {
		return err
	}
	if err := holds("a delta update", func(_, endpoints map[string]string) bool {
		return endpoints["web"] != old
	}); err != nil {
		return err
	}

	r.log("a cluster is removed, and its endpoints are let go of")
	if err := r.setDelta(ctx, 1, "web"); err != nil {
		return err
	}
	if err := holds("a delta removal", func(clusters, _ map[string]string) bool {
		return len(clusters) == 1
	}); err != nil {
		return err
	}
	return r.delta.Unsubscribe(resource.EndpointType, "search")
}

func (r *round) rotate(ctx context.Context) error {
	r.log("the certificate is rotated: its private key is not for your eyes")
	return r.accepted(ctx, "the rotated secret", func() error {
		return r.setEnvoy(ctx, world{body: "hello again", extra: Cluster("search", ADS()), rotation: 1})
	}, resource.SecretType)
}

func (r *round) restart(ctx context.Context) error {
	r.log("the control plane restarts and the clients come back")
	r.story.control.Stop()
	if err := r.story.control.Start(); err != nil {
		return err
	}
	if err := step(ctx, "the return of the Envoy-like client", func(ctx context.Context) error {
		return r.envoy.Wait(ctx, func(st SotWState) bool {
			for _, t := range all() {
				if !st.Fresh[t] {
					return false
				}
			}
			return st.Streams > 1
		})
	}); err != nil {
		return err
	}
	return step(ctx, "the return of the delta client", func(ctx context.Context) error {
		return r.delta.Wait(ctx, func(st DeltaState) bool { return st.Streams > 1 && st.Responses > 0 })
	})
}
