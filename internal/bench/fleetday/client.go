package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/session"
)

// client is one that speaks through a proxy, with the server behind it.
type client struct {
	p     *proxy
	of    kind
	delta bool
	node  *corev3.Node // nil: it does not say who it is
	agent string       // in its HTTP headers

	conn   session.ConnID
	stream session.StreamID
	subs   map[string]*sub // by short type, of the stream
	count  int             // of nonces
	// held is what the client has accepted, over all streams.
	held map[string]map[string]int
	// accepted is the version that it runs of each type.
	accepted map[string]string
	// frozen are types of which the server sends nothing more.
	frozen map[string]bool
	shown  map[change]int // that it was sent, in this recording
	again  []int          // steps at which its connection ends, and another begins
}

// sub is what a client asked for of a type, and was sent.
type sub struct {
	names []string // nil: everything
	sent  map[string]int
	nonce string
}

func (c *client) id() string { return c.node.GetId() }

// order is that in which a client asks for types.
func (c *client) order() []string {
	if c.of == grpcClient {
		return []string{"LDS", "RDS", "CDS", "EDS"}
	}
	return []string{"CDS", "EDS", "LDS", "RDS", "SDS"}
}

// wants are the names that it asks for, nil for all.
func (c *client) wants(typ string) []string {
	if c.of != grpcClient && (typ == "CDS" || typ == "LDS") {
		return nil
	}
	if typ == "EDS" {
		return slices.Sorted(maps.Keys(c.held["CDS"]))
	}
	return c.p.now.names(typ, c.of)
}

// connect opens a stream and asks for everything. It returns when that is over.
func (c *client) connect(at time.Time) time.Time {
	at = c.dial(at)
	c.subs = make(map[string]*sub)
	for i, typ := range c.order() {
		c.subs[typ] = &sub{names: c.wants(typ), sent: make(map[string]int)}
		at = at.Add(2 * time.Millisecond)
		c.ask(at, typ, i == 0)
		if i == 0 {
			c.p.add(at.Add(time.Millisecond), session.Entry{
				Conn: c.conn, Stream: c.stream, H2: 1, Side: session.Server, Kind: session.KindHeader,
				Headers: []session.Field{{Name: ":status", Value: "200"}, {Name: "content-type", Value: "application/grpc"}},
			})
		}
		at = c.push(at.Add(3*time.Millisecond), typ, c.missing(typ))
	}
	return at
}

// dial is the beginning of a connection and of a stream.
func (c *client) dial(at time.Time) time.Time {
	c.conn, c.stream = c.p.nextConn()
	c.p.add(at, session.Entry{Conn: c.conn, Side: session.Client, Kind: session.KindConnect, Peer: &session.Peer{
		Client: fmt.Sprintf("10.%d.%d.%d:%d", c.p.index>>8, c.p.index&255, 10+c.of, 32768+int(c.conn)), Listen: "127.0.0.1:18000", Upstream: "10.96.0.10:15010",
	}})
	method := "StreamAggregatedResources"
	if c.delta {
		method = "DeltaAggregatedResources"
	}
	path := "/envoy.service.discovery.v3.AggregatedDiscoveryService/" + method
	at = at.Add(time.Millisecond)
	c.p.add(at, session.Entry{Conn: c.conn, Stream: c.stream, H2: 1, Side: session.Client, Kind: session.KindOpen, Method: path, Headers: []session.Field{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: path},
		{Name: ":authority", Value: "istiod.istio-system:15010"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
		{Name: "user-agent", Value: c.agent},
	}})
	return at
}

// ask is the first request of a type on a stream.
func (c *client) ask(at time.Time, typ string, first bool) {
	s := c.subs[typ]
	var node *corev3.Node
	if first {
		node = c.node
	}
	if !c.delta {
		c.send(at, session.Client, &discovery.DiscoveryRequest{TypeUrl: urlOf(typ), Node: node, ResourceNames: s.names, VersionInfo: c.accepted[typ]})
		return
	}
	q := &discovery.DeltaDiscoveryRequest{TypeUrl: urlOf(typ), Node: node, ResourceNamesSubscribe: s.names}
	for name, rev := range c.held[typ] {
		if s.names == nil || slices.Contains(s.names, name) {
			if q.InitialResourceVersions == nil {
				q.InitialResourceVersions = make(map[string]string)
			}
			q.InitialResourceVersions[name] = c.p.resourceVersion(rev)
			s.sent[name] = rev
		}
	}
	c.send(at, session.Client, q)
}

// missing are the names that the client asks for and was not sent as they are now.
func (c *client) missing(typ string) (out []string) {
	s := c.subs[typ]
	for _, name := range c.p.now.names(typ, c.of) {
		rev, was := s.sent[name]
		if s.names != nil && !slices.Contains(s.names, name) || was && rev == c.p.now.rev(trackOf(typ, c.of), name) {
			continue
		}
		out = append(out, name)
	}
	return out
}

// push sends resources of a type, if there are any, and lets the client answer.
func (c *client) push(at time.Time, typ string, names []string) time.Time {
	if len(names) == 0 || c.frozen[typ] {
		return at
	}
	r := c.response(typ, names)
	return c.answer(c.deliver(at, r), r)
}

// response is one that the server makes: all of a type where that is what the
// state of the world means, else what changed.
type response struct {
	typ, version, nonce string
	names               []string
	revs                map[string]int
	removed             []string
	twice               bool // the first resource is in it twice
	at                  time.Time
	fresh               []fact // that were not on the stream before
}

func (c *client) response(typ string, names []string) *response {
	s := c.subs[typ]
	if !c.delta && (typ == "CDS" || typ == "LDS") {
		names = s.names
		if names == nil {
			names = c.p.now.names(typ, c.of)
		}
	}
	r := &response{typ: typ, names: names, version: c.p.now.version(trackOf(typ, c.of)), revs: make(map[string]int)}
	for _, name := range names {
		r.revs[name] = c.p.now.rev(trackOf(typ, c.of), name)
	}
	c.count++
	r.nonce = fmt.Sprintf("%08x-%04d-%d", uint32(c.stream)*2654435761^c.p.salt, c.p.index, c.count)
	return r
}

// deliver puts a response on the wire.
func (c *client) deliver(at time.Time, r *response) time.Time {
	s := c.subs[r.typ]
	r.at = at
	var m proto.Message
	if c.delta {
		d := &discovery.DeltaDiscoveryResponse{TypeUrl: urlOf(r.typ), SystemVersionInfo: r.version, Nonce: r.nonce, RemovedResources: r.removed, ControlPlane: c.p.control}
		for _, name := range r.names {
			d.Resources = append(d.Resources, &discovery.Resource{Name: name, Version: c.p.resourceVersion(r.revs[name]), Resource: c.p.content(r.typ, name, c.of, r.revs[name])})
		}
		m = d
	} else {
		d := &discovery.DiscoveryResponse{TypeUrl: urlOf(r.typ), VersionInfo: r.version, Nonce: r.nonce, ControlPlane: c.p.control}
		for _, name := range r.names {
			d.Resources = append(d.Resources, c.p.content(r.typ, name, c.of, r.revs[name]))
		}
		if r.twice {
			d.Resources = append(d.Resources, d.Resources[0])
		}
		m = d
	}
	for _, name := range r.names {
		s.sent[name] = r.revs[name]
	}
	if r.nonce != "" {
		s.nonce = r.nonce
	}
	c.p.truth.response(c, r)
	c.send(at, session.Server, m)
	return at.Add(c.p.latency(r.typ))
}

// answer accepts a response. Names of clusters that are new are asked for then.
func (c *client) answer(at time.Time, r *response) time.Time {
	c.accept(r)
	c.p.truth.answer(c, r, at, "")
	c.ack(at, r, r.version, nil)
	if r.typ != "CDS" || c.subs["EDS"] == nil {
		return at
	}
	s := c.subs["EDS"]
	old := s.names
	s.names = c.wants("EDS")
	var fresh []string
	for _, name := range s.names {
		if !slices.Contains(old, name) {
			fresh = append(fresh, name)
		}
	}
	if len(fresh) == 0 {
		return at
	}
	at = at.Add(time.Millisecond)
	if c.delta {
		c.send(at, session.Client, &discovery.DeltaDiscoveryRequest{TypeUrl: urlOf("EDS"), ResourceNamesSubscribe: fresh})
	} else {
		c.send(at, session.Client, &discovery.DiscoveryRequest{TypeUrl: urlOf("EDS"), ResourceNames: s.names, VersionInfo: c.accepted["EDS"], ResponseNonce: s.nonce})
	}
	return c.push(at.Add(3*time.Millisecond), "EDS", fresh)
}

func (c *client) accept(r *response) {
	if c.held[r.typ] == nil {
		c.held[r.typ] = make(map[string]int)
	}
	maps.Copy(c.held[r.typ], r.revs)
	c.accepted[r.typ] = r.version
}

// reject answers with an error. The client goes on with what it had.
func (c *client) reject(at time.Time, r *response, reason string) time.Time {
	c.p.truth.answer(c, r, at, reason)
	c.ack(at, r, c.accepted[r.typ], &status.Status{Code: 13, Message: reason})
	return at
}

func (c *client) ack(at time.Time, r *response, version string, err *status.Status) {
	if c.delta {
		c.send(at, session.Client, &discovery.DeltaDiscoveryRequest{TypeUrl: urlOf(r.typ), ResponseNonce: r.nonce, ErrorDetail: err})
		return
	}
	c.send(at, session.Client, &discovery.DiscoveryRequest{
		TypeUrl: urlOf(r.typ), ResponseNonce: r.nonce, VersionInfo: version, ResourceNames: c.subs[r.typ].names, ErrorDetail: err,
	})
}

// leave is the end of a connection: by the server, whose streams have an age, or
// by the client.
func (c *client) leave(at time.Time, by session.Side) {
	end := session.Entry{Conn: c.conn, Stream: c.stream, H2: 1, Side: by, Kind: session.KindTrailer, Status: &session.Status{HTTP: 200}}
	if by == session.Client {
		end.Kind, end.Status = session.KindCancel, &session.Status{Code: -1, Message: "the client reset the stream: CANCEL", Reset: 8, WasReset: true}
	}
	c.p.add(at, end)
	c.p.add(at.Add(time.Millisecond), session.Entry{Conn: c.conn, Side: by, Kind: session.KindDisconnect, Status: &session.Status{Code: -1, Message: "closed"}})
	c.subs = nil
}

func (c *client) send(at time.Time, side session.Side, m proto.Message) {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err) // all texts in it are ours
	}
	c.p.truth.message(len(data))
	c.p.add(at, session.Entry{
		Conn: c.conn, Stream: c.stream, H2: 1, Side: side, Kind: session.KindMessage,
		Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data))},
	})
}

// step is what happens to a client with a push: types go in the order that the
// protocol recommends.
func (c *client) step(at time.Time, changes []change) {
	if c.subs == nil {
		return
	}
	for _, typ := range types {
		var names []string
		for _, ch := range changes {
			if ch.track == trackOf(typ, c.of) && c.asksFor(typ, ch.name) {
				names = append(names, ch.name)
			}
		}
		at = c.faultyPush(at.Add(3*time.Millisecond), typ, names)
	}
}

func (c *client) asksFor(typ, name string) bool {
	s := c.subs[typ]
	if s == nil {
		return false
	}
	// What was sent a moment ago, because the client asked for it, is not sent again.
	if rev, was := s.sent[name]; was && rev == c.p.now.rev(trackOf(typ, c.of), name) {
		return false
	}
	return s.names == nil || slices.Contains(s.names, name)
}
