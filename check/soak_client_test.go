package check_test

import (
	"fmt"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/session"
)

// soakClient is an Envoy with one ADS stream. It wants all clusters, and the
// endpoints of each.
type soakClient struct {
	w      *soakWorld
	mesh   *soakMesh
	node   string
	conn   session.ConnID
	stream session.StreamID
	// The versions that it holds, and whether it was connected before.
	cds, eds string
	met      bool
}

func newSoakClient(m *soakMesh, i int) *soakClient {
	return &soakClient{w: m.w, mesh: m, node: soakNode(i)}
}

func (c *soakClient) on(side session.Side, kind session.Kind) session.Entry {
	return session.Entry{Conn: c.conn, Stream: c.stream, H2: 1, Side: side, Kind: kind}
}

func (c *soakClient) say(side session.Side, data session.Chunks) {
	e := c.on(side, session.KindMessage)
	e.Message = &session.Message{Data: data, Size: data.Len(), WireSize: data.Len()}
	c.w.step(e)
}

func (c *soakClient) ask(m proto.Message) {
	c.say(session.Client, session.Chunks{marshal(c.w.tb, m)})
}

// connect opens a stream on a connection of its own.
func (c *soakClient) connect() {
	w := c.w
	w.conns++
	w.stream++
	c.conn, c.stream = w.conns, w.stream
	w.step(session.Entry{Conn: c.conn, Side: session.Client, Kind: session.KindConnect, Peer: &session.Peer{
		Client: fmt.Sprintf("198.18.%d.%d:%d", c.conn>>8&255, c.conn&255, 40_000+c.conn%20_000),
		Listen: "198.19.0.1:15010", Upstream: "198.19.0.2:18000", Local: fmt.Sprintf("198.19.0.1:%d", 40_000+c.conn%20_000),
	}})
	e := c.on(session.Client, session.KindOpen)
	if e.Method = adsPath; c.mesh.delta {
		e.Method = deltaPath
	}
	e.Headers = []session.Field{{Name: ":method", Value: "POST"}, {Name: ":path", Value: e.Method}, {Name: "content-type", Value: "application/grpc"}}
	w.step(e)
}

// join is all that a client and its server say when it has connected: it gets
// what there is.
func (c *soakClient) join() {
	c.connect()
	if c.mesh.delta {
		c.joinDelta()
	} else {
		c.joinSotw()
	}
	c.met = true
}

func (c *soakClient) answered() {
	e := c.on(session.Server, session.KindHeader)
	e.Headers = []session.Field{{Name: ":status", Value: "200"}, {Name: "content-type", Value: "application/grpc"}}
	c.w.step(e)
}

func (c *soakClient) whoAmI() *corev3.Node {
	return &corev3.Node{
		Id: c.node, Cluster: "checkout.namespace-03", UserAgentName: "envoy",
		Locality: &corev3.Locality{Region: "eu-central-1", Zone: "eu-central-1a"},
	}
}

func (c *soakClient) joinSotw() {
	c.ask(&discovery.DiscoveryRequest{Node: c.whoAmI(), VersionInfo: c.cds, TypeUrl: clusterURL})
	if c.met { // it knows already which endpoints it needs
		c.ask(&discovery.DiscoveryRequest{VersionInfo: c.eds, ResourceNames: c.mesh.names, TypeUrl: endpointsURL})
	}
	c.answered()
	c.cds = c.mesh.version()
	nonce := c.tell(clusterURL, c.cds, c.mesh.cds)
	c.ask(&discovery.DiscoveryRequest{VersionInfo: c.cds, TypeUrl: clusterURL, ResponseNonce: nonce})
	if !c.met {
		c.ask(&discovery.DiscoveryRequest{ResourceNames: c.mesh.names, TypeUrl: endpointsURL})
	}
	c.push()
}

// tell is a response in the state of the world. It returns its nonce.
func (c *soakClient) tell(url, version string, resources session.Chunks) (nonce string) {
	nonce = c.w.nonce()
	data := make(session.Chunks, 0, len(resources)+2)
	data = append(data, marshal(c.w.tb, &discovery.DiscoveryResponse{VersionInfo: version}))
	data = append(data, resources...)
	c.say(session.Server, append(data, marshal(c.w.tb, &discovery.DiscoveryResponse{TypeUrl: url, Nonce: nonce})))
	return nonce
}

// push sends all endpoints, and the client accepts them.
func (c *soakClient) push() {
	c.eds = c.mesh.version()
	nonce := c.tell(endpointsURL, c.eds, c.mesh.eds)
	c.ask(&discovery.DiscoveryRequest{VersionInfo: c.eds, ResourceNames: c.mesh.names, TypeUrl: endpointsURL, ResponseNonce: nonce})
}

func (c *soakClient) joinDelta() {
	cds := &discovery.DeltaDiscoveryRequest{Node: c.whoAmI(), TypeUrl: clusterURL}
	eds := &discovery.DeltaDiscoveryRequest{ResourceNamesSubscribe: c.mesh.names, TypeUrl: endpointsURL}
	if c.met {
		cds.InitialResourceVersions, eds.InitialResourceVersions = map[string]string{}, map[string]string{}
		for i, name := range c.mesh.names {
			cds.InitialResourceVersions[name], eds.InitialResourceVersions[name] = "1", c.mesh.versions[i]
		}
	}
	c.ask(cds)
	if c.met { // and so it is up to date: there is one empty answer, to the wildcard
		c.ask(eds)
		c.answered()
		c.tellDelta(clusterURL, nil)
		return
	}
	c.answered()
	c.tellDelta(clusterURL, c.mesh.cds)
	c.ask(eds)
	c.tellDelta(endpointsURL, c.mesh.eds)
}

// tellDelta is a response with some resources, and the ACK.
func (c *soakClient) tellDelta(url string, resources session.Chunks) {
	nonce := c.w.nonce()
	data := make(session.Chunks, 0, len(resources)+2)
	data = append(data, marshal(c.w.tb, &discovery.DeltaDiscoveryResponse{SystemVersionInfo: c.mesh.version()}))
	data = append(data, resources...)
	c.say(session.Server, append(data, marshal(c.w.tb, &discovery.DeltaDiscoveryResponse{TypeUrl: url, Nonce: nonce})))
	c.ask(&discovery.DeltaDiscoveryRequest{TypeUrl: url, ResponseNonce: nonce})
}

// leave closes the connection.
func (c *soakClient) leave() {
	e := c.on(session.Client, session.KindCancel)
	e.Status = &session.Status{Code: -1, Message: "the client closed the connection"}
	c.w.step(e)
	c.w.step(session.Entry{Conn: c.conn, Side: session.Client, Kind: session.KindDisconnect, Status: &session.Status{Code: -1, Message: "closed"}})
}

// What the soak's clients and servers say is what a marshaller makes of it.
func TestSoakMessages(t *testing.T) {
	w := newSoakWorld(t, newSoakChecker(0))
	m := newSoakMesh(w, 3, false)
	whole := &discovery.DiscoveryResponse{VersionInfo: m.version(), TypeUrl: endpointsURL, Nonce: "n"}
	for _, name := range m.names {
		whole.Resources = append(whole.Resources, w.any(soakEndpoints(name, m.push)))
	}
	parts := append(session.Chunks{marshal(t, &discovery.DiscoveryResponse{VersionInfo: m.version()})}, m.eds...)
	parts = append(parts, marshal(t, &discovery.DiscoveryResponse{TypeUrl: endpointsURL, Nonce: "n"}))
	if got, want := string(parts.Bytes()), string(marshal(t, whole)); got != want {
		t.Errorf("%q\nis not\n%q", got, want)
	}
	for _, s := range []string{soakNode(4999), soakName(400)} {
		if len(s) < 75 || len(s) > 95 {
			t.Errorf("%q has %d characters", s, len(s))
		}
	}
	c := newSoakClient(m, 1)
	c.join()
	m.change(0, 1)
	c.push()
	w.rest(time.Minute)
	c.leave()
	c.join()
	w.rest(time.Hour)
	if s := w.k.Summary(); s.Streams != 2 || s.Gaps != 0 {
		t.Errorf("%+v", s)
	}
}
