package e2e

import (
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// serverFaults are scripted servers that err.
func serverFaults() []recordedSession {
	web, api := proto.Message(xdstest.Cluster("web", xdstest.ADS())), proto.Message(xdstest.Cluster("api", xdstest.ADS()))
	listener := func(t *testing.T, name string) proto.Message {
		m := &mesh{listeners: map[string]*listenerv3.Listener{}}
		m.apiListener(t, name, name+"-routes")
		return m.listeners[name]
	}
	ingress := func(t *testing.T) proto.Message { return newMesh(t, xdstest.ADS()).listeners["ingress"] }

	return []recordedSession{
		{
			name:   "server-repeats-nonces",
			story:  "A server answers with its version as nonce, and sends a cluster more at an old one: nonce 1 comes twice.",
			expect: []string{"response-nonce-reused"},
			record: func(t *testing.T) string {
				return atSotWClient(t, xdstest.Part{
					hear(cds, ""), answer(cds, "1", "1", web),
					hear(cds, "1"), hear(eds, ""), answer(eds, "1", "1", endpoints(t, "web")...),
					hear(eds, "1"), hear(lds, ""), answer(lds, "1", "1"), hear(lds, "1"),
					pause(time.Second), answer(cds, "2", "1", web, api),
					hear(cds, "1"), hear(eds, "1"), answer(eds, "2", "2", endpoints(t, "web", "api")...), hear(eds, "2"),
				})
			},
		},
		{
			name: "server-forgets-a-removal",
			story: "A delta client comes back with two clusters. The server, which has one of them left, sends that\n" +
				"again and does not say that the other is gone.",
			expect: []string{"reconnect-removal-missed"},
			record: func(t *testing.T) string {
				return atDeltaClient(t,
					xdstest.Part{
						hear(cds, ""), change(cds, "1", "1", nil, web, api), hear(cds, "1"), pause(time.Second),
						xdstest.End(codes.Unavailable, "restarting"),
					},
					xdstest.Part{hear(cds, ""), change(cds, "1", "1", nil, web), hear(cds, "1"), pause(20 * time.Second)},
				)
			},
		},
		{
			name: "server-sends-partial-listeners",
			story: "A client asks for a third listener, and the server answers with that alone: what is not in a\n" +
				"response of listeners is gone. With the next change all are there again.",
			expect: []string{"partial-state-of-the-world"},
			record: func(t *testing.T) string {
				a, b, c := listener(t, "a.e2e"), listener(t, "b.e2e"), listener(t, "c.e2e")
				return bothScripted(t, xdstest.SotWStream,
					xdstest.Part{
						hear(lds, ""), answer(lds, "1", "1", a, b), hear(lds, "1"),
						hear(lds, "1"), answer(lds, "2", "2", c), hear(lds, "2"),
						pause(2 * time.Second), answer(lds, "3", "3", a, b, c),
					},
					xdstest.Part{
						ask(lds, "", "", "a.e2e", "b.e2e"), hear(lds, "1"), ask(lds, "1", "1", "a.e2e", "b.e2e"), pause(time.Second),
						ask(lds, "1", "1", "a.e2e", "b.e2e", "c.e2e"), hear(lds, "2"), ask(lds, "2", "2", "a.e2e", "b.e2e", "c.e2e"),
						hear(lds, "3"), ask(lds, "3", "3", "a.e2e", "b.e2e", "c.e2e"), pause(time.Second), leave,
					})
			},
		},
		{
			name: "server-takes-a-cleared-list-for-a-wildcard",
			story: "A client that asked for one cluster by name lets go of it. Five seconds later the server, with\n" +
				"something new, sends all the clusters it has.",
			expect: []string{"cleared-list-treated-as-wildcard"},
			record: func(t *testing.T) string {
				return bothScripted(t, xdstest.SotWStream,
					xdstest.Part{
						hear(cds, ""), answer(cds, "1", "1", web), hear(cds, "1"), hear(cds, "1"),
						pause(5 * time.Second), answer(cds, "2", "2", web, api),
					},
					xdstest.Part{
						ask(cds, "", "", "web"), hear(cds, "1"), ask(cds, "1", "1", "web"), pause(time.Second),
						ask(cds, "1", "1"), hear(cds, "2"), ask(cds, "2", "2"), pause(time.Second), leave,
					})
			},
		},
		{
			name:   "server-resends-what-was-rejected",
			story:  "A server sends the cluster that was just rejected again at once, four times, until it has a good one.",
			expect: []string{"nack-immediate-resend", "nack-received", "pgv-constraint"},
			record: func(t *testing.T) string {
				bad := xdstest.BrokenCluster("web", xdstest.ADS())
				return atSotWClient(t, xdstest.Part{
					hear(cds, ""), answer(cds, "1", "1", bad),
					hear(cds, "1"), answer(cds, "1", "2", bad),
					hear(cds, "2"), answer(cds, "1", "3", bad),
					hear(cds, "3"), answer(cds, "1", "4", bad),
					hear(cds, "4"), answer(cds, "1", "5", bad),
					hear(cds, "5"), pause(time.Second), answer(cds, "2", "6", web),
					hear(cds, "6"), hear(eds, ""), answer(eds, "1", "7", endpoints(t, "web")...), hear(eds, "7"), hear(lds, ""),
				})
			},
		},
		{
			name:   "server-sends-a-type-nobody-asked-for",
			story:  "A server sends routes to a client that has asked for clusters only.",
			expect: []string{"response-type-unsubscribed"},
			record: func(t *testing.T) string {
				return bothScripted(t, xdstest.SotWStream,
					xdstest.Part{
						hear(cds, ""), answer(cds, "1", "1", web), hear(cds, "1"),
						answer(rds, "1", "2", xdstest.DirectRoute("routes", "hello")), answer(cds, "2", "3", web, api),
					},
					xdstest.Part{
						ask(cds, "", ""), hear(cds, "1"), ask(cds, "1", "1"), hear(rds, "2"),
						hear(cds, "3"), ask(cds, "2", "3"), pause(time.Second), leave,
					})
			},
		},
		{
			name: "server-routes-before-clusters",
			story: "A push that adds a cluster and a route to it sends the route first: for a moment, the route leads\n" +
				"to a cluster that the client has never heard of.",
			expect: []string{"reference-before-cluster"},
			record: func(t *testing.T) string {
				return atSotWClient(t, xdstest.Part{
					hear(cds, ""), answer(cds, "1", "1", web),
					hear(cds, "1"), hear(eds, ""), answer(eds, "1", "2", endpoints(t, "web")...),
					hear(eds, "2"), hear(lds, ""), answer(lds, "1", "3", ingress(t)),
					hear(lds, "3"), hear(rds, ""), answer(rds, "1", "4", xdstest.ClusterRoute("routes", "web")), hear(rds, "4"),
					pause(time.Second), answer(rds, "2", "5", xdstest.ClusterRoute("routes", "api")), hear(rds, "5"),
					pause(300 * time.Millisecond), answer(cds, "2", "6", web, api),
					hear(cds, "6"), hear(eds, "2"), answer(eds, "2", "7", endpoints(t, "web", "api")...), hear(eds, "7"),
				})
			},
		},
		{
			name:   "server-offers-no-delta",
			story:  "A client opens a delta stream at a server that has none, three times, and leaves when it tries again.",
			expect: []string{"stream-rejected"},
			record: func(t *testing.T) string {
				no := xdstest.Part{xdstest.End(codes.Unimplemented, "unknown method DeltaAggregatedResources")}
				return atDeltaClient(t, no, no, no, nil)
			},
		},
		{
			name:   "server-sends-a-cluster-twice",
			story:  "A server sends two clusters of one name in a response. Envoy rejects it.",
			expect: []string{"duplicate-resource", "nack-received"},
			record: func(t *testing.T) string {
				other := xdstest.BrokenCluster("web", xdstest.ADS())
				other.ConnectTimeout = nil
				return atEnvoy(t, variants()[0], append(beginning(t),
					answer(cds, "2", "4", web, other), hear(cds, "4"), pause(time.Second)))
			},
		},
		{
			name:   "server-sends-another-type",
			story:  "A server puts a listener among clusters. Envoy rejects the response.",
			expect: []string{"nack-received", "resource-type-mismatch"},
			record: func(t *testing.T) string {
				return atEnvoy(t, variants()[0], append(beginning(t),
					answer(cds, "2", "4", web, ingress(t)), hear(cds, "4"), pause(time.Second)))
			},
		},
		{
			name:   "server-adds-and-removes-at-once",
			story:  "A delta server adds a cluster and removes it in the same response. Envoy rejects it.",
			expect: []string{"delta-added-and-removed", "nack-received"},
			record: func(t *testing.T) string {
				return atEnvoy(t, variants()[1], xdstest.Part{
					hear(cds, ""), change(cds, "1", "1", nil, web), hear(cds, "1"),
					hear(eds, ""), change(eds, "1", "2", nil, endpoints(t, "web")...), hear(eds, "2"),
					hear(lds, ""), change(lds, "1", "3", nil), hear(lds, "3"), pause(time.Second),
					change(cds, "2", "4", []string{"api"}, api), hear(cds, "4"), pause(time.Second),
				})
			},
		},
	}
}

// beginning is what an Envoy must be told before it is ready: of a cluster, its
// endpoints, and that there is no listener.
func beginning(t *testing.T) xdstest.Part {
	t.Helper()
	web := xdstest.Cluster("web", xdstest.ADS())
	return xdstest.Part{
		hear(cds, ""), answer(cds, "1", "1", web), hear(cds, "1"),
		hear(eds, ""), answer(eds, "1", "2", endpoints(t, "web")...), hear(eds, "2"),
		hear(lds, ""), answer(lds, "1", "3"), hear(lds, "3"), pause(time.Second),
	}
}
