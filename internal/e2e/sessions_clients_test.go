package e2e

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// clientFaults are scripted clients that err, most of them at go-control-plane.
func clientFaults() []recordedSession {
	web := xdstest.Cluster("web", xdstest.ADS())
	return []recordedSession{
		{
			name:   "client-keeps-nonces",
			story:  "A client that opens a new stream goes on with the nonces of the old one.",
			expect: []string{"nonce-from-previous-stream"},
			record: func(t *testing.T) string {
				return atControlPlane(t,
					xdstest.Part{
						ask(cds, "", ""), hear(cds, "1"), ask(eds, "", "", "web"), ask(cds, "1", "1"),
						hear(eds, "2"), ask(eds, "1", "2", "web"), pause(time.Second), leave,
					},
					xdstest.Part{
						ask(cds, "1", "1"), hear(cds, "1"), ask(cds, "1", "1"), ask(eds, "1", "2", "web"),
						hear(eds, "2"), ask(eds, "1", "2", "web"), pause(time.Second), leave,
					})
			},
		},
		{
			name: "client-drops-names-on-ack",
			story: "A client acknowledges endpoints without naming them, which unsubscribes, and then asks for them\n" +
				"again: four times in a row.",
			expect: []string{"subscription-flap"},
			record: func(t *testing.T) string {
				part := xdstest.Part{ask(eds, "", "", "web")}
				for _, nonce := range []string{"1", "2", "3", "4"} {
					part = append(part, hear(eds, nonce), ask(eds, "1", nonce), pause(300*time.Millisecond), ask(eds, "1", nonce, "web"))
				}
				return atControlPlane(t, append(part, hear(eds, "5"), ask(eds, "1", "5", "web"), pause(time.Second), leave))
			},
		},
		{
			name: "client-never-acknowledges",
			story: "A client takes endpoints and does not say that it has, though it goes on to ask for listeners and\n" +
				"for routes.",
			expect: []string{"ack-missing"},
			record: func(t *testing.T) string {
				return atControlPlane(t, xdstest.Part{
					ask(eds, "", "", "web"), hear(eds, "1"), pause(time.Second),
					ask(lds, "", ""), hear(lds, "2"), ask(lds, "1", "2"), pause(12 * time.Second),
					ask(rds, "", "", "routes"), hear(rds, "3"), ask(rds, "1", "3", "routes"), pause(time.Second), leave,
				})
			},
		},
		{
			name:   "client-hides-its-rejection",
			story:  "A client keeps the old version of its clusters and does not say why.",
			expect: []string{"nack-without-error-detail"},
			record: func(t *testing.T) string {
				return bothScripted(t, xdstest.SotWStream,
					xdstest.Part{
						hear(cds, ""), answer(cds, "1", "1", web), hear(cds, "1"),
						answer(cds, "2", "2", web, xdstest.Cluster("api", xdstest.ADS())), hear(cds, "2"),
					},
					xdstest.Part{
						ask(cds, "", ""), hear(cds, "1"), ask(cds, "1", "1"), hear(cds, "2"), ask(cds, "1", "2"),
						pause(time.Second), leave,
					})
			},
		},
		{
			name:   "client-says-no-then-yes",
			story:  "A client rejects endpoints, and later acknowledges the same response.",
			expect: []string{"nack-received", "verdict-flipped"},
			record: func(t *testing.T) string {
				return bothScripted(t, xdstest.SotWStream,
					xdstest.Part{hear(eds, ""), answer(eds, "1", "1", endpoints(t, "web")...), hear(eds, "1"), hear(eds, "1")},
					xdstest.Part{
						ask(eds, "", "", "web"), hear(eds, "1"), refuse(eds, "", "1", "no such locality", "web"),
						pause(time.Second), ask(eds, "1", "1", "web"), pause(time.Second), leave,
					})
			},
		},
		{
			name:   "client-tells-no-node",
			story:  "A client does not say who it is; the server ends the stream.",
			expect: []string{"first-request-missing-node", "stream-rejected"},
			record: func(t *testing.T) string {
				return bothScripted(t, xdstest.SotWStream,
					xdstest.Part{hear(cds, ""), xdstest.End(codes.InvalidArgument, "missing node information")},
					xdstest.Part{anonymous(cds), xdstest.Alone()})
			},
		},
	}
}
