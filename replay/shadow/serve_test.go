package shadow

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	streamClusters  = "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters"
	streamListeners = "/envoy.service.listener.v3.ListenerDiscoveryService/StreamListeners"
	deltaClusters   = "/envoy.service.cluster.v3.ClusterDiscoveryService/DeltaClusters"
)

// serve gives guests what a recording says that r goes on with.
func serve(t *testing.T, o ServeOptions) (r *trial, conn *grpc.ClientConn) {
	l := bufconn.Listen(1 << 16)
	conn, err := grpc.NewClient("passthrough:///guest", grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()), replay.Bytes(mostResponse))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return startWith(t, func(ctx context.Context, r *trial) (*Summary, error) {
		o.Event = r.event
		return Serve(ctx, l, r, o)
	}), conn
}

// opens records that a client opens a stream, and asks.
func (r *trial) opens(stream session.StreamID, path, node string, q *request) {
	r.add(session.Entry{Kind: session.KindConnect, Stream: stream, Side: session.Client, Peer: &session.Peer{}})
	r.add(session.Entry{Kind: session.KindOpen, Stream: stream, Side: session.Client, Method: path})
	q.node = lenField(1, []byte(node))
	r.sayOn(stream, session.Client, q.encode())
}

// liveGuest is a stream of a live client.
type liveGuest struct {
	t      *testing.T
	method xds.Method
	ss     grpc.ClientStream
}

func visit(t *testing.T, conn *grpc.ClientConn, path string) *liveGuest {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // of the bubble: nothing takes that long
	t.Cleanup(cancel)
	ss, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, path)
	if err != nil {
		t.Fatal(err)
	}
	return &liveGuest{t, xds.LookupMethod(path), ss}
}

func (g *liveGuest) asks(q *request) {
	g.t.Helper()
	b := q.encode()
	if err := g.ss.SendMsg(&b); err != nil {
		g.t.Error(err)
	}
}

// gets requires that the next thing that comes is this.
func (g *liveGuest) gets(want string) {
	g.t.Helper()
	var b []byte
	if err := g.ss.RecvMsg(&b); err != nil {
		g.t.Errorf("instead of %s: %v", want, err)
		return
	}
	m := decode.Peek(g.method, session.Server, "", b)
	names := slices.Sorted(slices.Values(m.ResourceNames()))
	if got := fmt.Sprintf("%s %s %q %q", m.Nonce, m.Version, names, m.Removed); got != want {
		g.t.Errorf("%s came, not %s", got, want)
	}
}

// A client that connects gets what the recorded one has, and then each response; what it makes of them is held against
// what the recorded one has made of them.
func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, conn := serve(t, ServeOptions{Idle: time.Minute})
		r.opens(1, streamClusters, "n1", &request{url: clusters})
		r.say(session.Server, response("1", "a", "b"))
		r.say(session.Client, (&request{url: clusters, version: "1", nonce: "1"}).encode())
		r.until("get what 0 recorded streams have by now, and every response from here on")
		g := visit(t, conn, streamClusters)
		g.asks(&request{url: clusters, node: lenField(1, []byte("live"))})
		g.gets(`follow-1 1 ["a" "b"] []`)
		r.until(`"live" is given what "n1" gets`)
		g.asks(&request{url: clusters, nonce: "follow-1", rejects: &decode.Error{Code: 3, Message: "no such type"}})
		r.until(`"live" on what there was of CDS: NACK of what the recorded client has accepted`)

		r.say(session.Server, response("2", "a"))
		g.gets(`follow-2 2 ["a"] []`)
		g.asks(&request{url: clusters, version: "2", nonce: "follow-2"})
		r.say(session.Client, (&request{url: clusters, version: "1", nonce: "2", rejects: &decode.Error{Code: 3, Message: "no"}}).encode())
		r.until(`"live" on entry 6 of CDS: ACK, where the recorded client gave NACK`)

		// What it asks for once more it gets once more: what the recorded client has accepted.
		g.asks(&request{url: clusters, version: "2", nonce: "follow-2"})
		g.gets(`follow-3 2 ["a" "b"] []`)

		half := response("3", "a", "b", "c")
		r.add(session.Entry{Kind: session.KindMessage, Side: session.Server, Message: &session.Message{
			Data: session.Chunks{half[:len(half)-3]}, Size: int64(len(half)), Truncated: true, WireSize: int64(len(half)),
		}})
		r.until("entry 8 was not recorded as a whole: it is not given")
		r.say(session.Server, response("4", "a", "d"))
		g.gets(`follow-4 4 ["a" "d"] []`)
		sum := r.end()
		var b []byte
		if err := g.ss.RecvMsg(&b); status.Code(err) != codes.Unavailable {
			t.Errorf("at the end: %v", err)
		}
		if sum.Streams != 1 || sum.Clients != 1 || sum.Answers != 4 || sum.Compared != 2 || len(sum.Differences) != 2 || sum.Skipped != 0 {
			t.Errorf("%+v", sum)
		}
		for i, want := range []Difference{
			{Type: "CDS", Client: "live", Stream: 1, Streams: 1, Got: "NACK of what the recorded client has accepted", Detail: "no such type", Stands: true},
			{Type: "CDS", Name: "a", Client: "live", Stream: 1, Streams: 1, Seq: 6, Got: "ACK, where the recorded client gave NACK", Stands: true},
		} {
			d := sum.Differences[i]
			d.on, d.key, d.Since = nil, tellKey{}, time.Time{}
			if fmt.Sprintf("%+v", d) != fmt.Sprintf("%+v", want) {
				t.Errorf("%+v, want %+v", d, want)
			}
		}
	})
}

// A rejection that the recorded client does not answer in time is told, an acceptance not.
func TestServeUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, conn := serve(t, ServeOptions{})
		r.opens(1, streamClusters, "n1", &request{url: clusters})
		g := visit(t, conn, streamClusters)
		g.asks(&request{url: clusters, node: lenField(1, []byte("n1"))})
		r.until("is given what")
		r.say(session.Server, response("1", "a", "b"))
		g.gets(`follow-1 1 ["a" "b"] []`)
		g.asks(&request{url: clusters, version: "1", nonce: "follow-1"})
		r.say(session.Server, response("2", "a"))
		g.gets(`follow-2 2 ["a"] []`)
		g.asks(&request{url: clusters, version: "1", nonce: "follow-2", rejects: &decode.Error{Code: 3, Message: "no"}})
		r.until(`"n1" on entry 5 of CDS: NACK, where the recorded client gave no answer`)
		if sum := r.end(); sum.Compared != 1 || len(sum.Differences) != 1 {
			t.Errorf("%+v", sum)
		}
	})
}

// In delta a client gets what it asks for besides, and what is removed.
func TestServeDelta(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const one = "D> type=CDS sub=[a] node=n1\nd< type=CDS N=1 res=[a@1,b@1]\nD> type=CDS N=1\nd< type=CDS N=2 res=[a@2] rm=[b]\n"
		recorded := messagesOf(t, one)
		r, conn := serve(t, ServeOptions{Client: "n1", Idle: time.Minute})
		r.opens(1, deltaClusters, "n1", &request{delta: true, url: clusters, names: []string{"a", "b"}})
		r.say(session.Server, recorded[1])
		r.say(session.Client, recorded[2])
		g := visit(t, conn, deltaClusters)
		g.asks(&request{delta: true, url: clusters, names: []string{"a"}, node: lenField(1, []byte("live"))})
		g.gets(`follow-1  ["a"] []`)
		g.asks(&request{delta: true, url: clusters, nonce: "follow-1"})
		g.asks(&request{delta: true, url: clusters, names: []string{"b"}})
		g.gets(`follow-2  ["b"] []`)
		r.say(session.Server, recorded[3])
		g.gets(`follow-3  ["a"] ["b"]`)
		if sum := r.end(); sum.Compared != 1 || sum.Answers != 3 || len(sum.Differences) != 0 {
			t.Errorf("%+v\n%s", sum, r.text())
		}
	})
}

// Who is none of the recorded clients, or asks by another method, waits.
func TestServeStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, conn := serve(t, ServeOptions{Idle: time.Minute})
		r.opens(1, streamClusters, "n1", &request{url: clusters})
		r.opens(2, streamClusters, "n2", &request{url: clusters})
		r.sayOn(2, session.Server, response("7", "z"))
		r.sayOn(2, session.Client, (&request{url: clusters, version: "7", nonce: "7"}).encode())
		var b []byte
		if err := visit(t, conn, "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats").ss.RecvMsg(&b); status.Code(err) != codes.Unimplemented {
			t.Errorf("load reports: %v", err)
		}
		visit(t, conn, streamListeners).asks(&request{url: "type.googleapis.com/envoy.config.listener.v3.Listener", node: lenField(1, []byte("n1"))})
		r.until(`"n1" asks by StreamListeners, and no recorded client has such a stream open: it waits for one`)
		waits := visit(t, conn, streamClusters)
		waits.asks(&request{url: clusters, node: lenField(1, []byte("n3"))})
		r.until(`"n3" is none of the 2 recorded clients: it waits; --client ID says which of them it is`)
		if strings.Contains(r.text(), "is given what") {
			t.Error(r.text())
		}
		// When only one is left, or it comes itself, whoever waits is known.
		g := visit(t, conn, streamClusters)
		g.asks(&request{url: clusters, node: lenField(1, []byte("n2"))})
		g.gets(`follow-1 7 ["z"] []`)
		r.opens(3, streamClusters, "n3", &request{url: clusters})
		r.until(`"n3" is given what "n3" gets`)
		r.sayOn(3, session.Server, response("8", "y"))
		waits.gets(`follow-1 8 ["y"] []`)
		if err := waits.ss.CloseSend(); err != nil {
			t.Error(err)
		}
		if err := waits.ss.RecvMsg(&b); err == nil {
			t.Error("a stream that its client has ended goes on")
		}
		if sum := r.end(); sum.Streams != 3 || sum.Clients != 2 {
			t.Errorf("%+v", sum)
		}
	})
}
