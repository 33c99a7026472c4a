package check_test

import (
	"fmt"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/session"
)

const pollPath = "/v3/discovery:endpoints"

// A minute of clients that poll every five seconds. Each poll is a stream.
// Once a minute there is something new, else the answer is 304. Each hour a
// client takes a new connection.
func soakPolls(w *soakWorld, z soakSize) soakPlay {
	m := &restMesh{w: w, names: soakNames(z.names)}
	m.change()
	all := make([]*restClient, z.clients)
	for i := range all {
		all[i] = &restClient{w: w, mesh: m, node: soakNode(i)}
		all[i].poll()
	}
	return soakPlay{func() {}, func(int) {
		m.change()
		for range 12 {
			w.rest(5 * time.Second)
			for i, c := range all {
				if c.polls > 0 && (c.polls+i)%720 == 0 {
					c.leave()
				}
				c.poll()
			}
		}
	}}
}

// restMesh is what a server has that answers in JSON.
type restMesh struct {
	w       *soakWorld
	names   []string
	push    int
	version string
	body    []byte
}

func (m *restMesh) change() {
	m.push++
	m.version = fmt.Sprint("2026-01-01T00:00:00Z/", m.push)
	r := &discovery.DiscoveryResponse{VersionInfo: m.version, TypeUrl: endpointsURL}
	for i, name := range m.names {
		variant := m.push
		if i%10 != 0 {
			variant = 0
		}
		r.Resources = append(r.Resources, m.w.any(soakEndpoints(name, variant)))
	}
	m.body = m.w.json(r)
}

func (w *soakWorld) json(m proto.Message) []byte {
	b, err := protojson.Marshal(m)
	if err != nil {
		w.tb.Fatal(err)
	}
	return b
}

// restClient is an Envoy that polls.
type restClient struct {
	w       *soakWorld
	mesh    *restMesh
	node    string
	conn    session.ConnID
	version string
	request []byte // that says that it has version
	polls   int
}

func (c *restClient) poll() {
	w := c.w
	if c.conn == 0 {
		w.conns++
		c.conn = w.conns
		w.step(session.Entry{Conn: c.conn, Side: session.Client, Kind: session.KindConnect, Peer: &session.Peer{
			Client: fmt.Sprintf("198.18.%d.%d:40000", c.conn>>8&255, c.conn&255), Listen: "198.19.0.1:15010", Upstream: "198.19.0.2:18000",
		}})
	}
	if c.request == nil {
		c.request = w.json(&discovery.DiscoveryRequest{
			Node: (&soakClient{node: c.node}).whoAmI(), VersionInfo: c.version, ResourceNames: c.mesh.names, TypeUrl: endpointsURL,
		})
	}
	c.polls++
	w.stream++
	on := func(side session.Side, kind session.Kind, change func(e *session.Entry)) {
		e := session.Entry{Conn: c.conn, Stream: w.stream, Side: side, Kind: kind}
		if change != nil {
			change(&e)
		}
		w.step(e)
	}
	message := func(body []byte) func(*session.Entry) {
		return func(e *session.Entry) {
			e.Message = &session.Message{Data: session.Chunks{body}, Size: int64(len(body)), WireSize: int64(len(body))}
		}
	}
	on(session.Client, session.KindOpen, func(e *session.Entry) {
		e.Method = pollPath
		e.Headers = []session.Field{{Name: ":method", Value: "POST"}, {Name: ":path", Value: pollPath}, {Name: "content-type", Value: "application/json"}}
	})
	on(session.Client, session.KindMessage, message(c.request))
	on(session.Client, session.KindHalfClose, nil)
	status := 200
	if c.version == c.mesh.version {
		status = 304
	}
	on(session.Server, session.KindHeader, func(e *session.Entry) {
		e.Headers = []session.Field{{Name: ":status", Value: fmt.Sprint(status)}, {Name: "content-type", Value: "application/json"}}
	})
	if status == 200 {
		on(session.Server, session.KindMessage, message(c.mesh.body))
		c.version, c.request = c.mesh.version, nil
	}
	on(session.Server, session.KindTrailer, func(e *session.Entry) { e.Status = &session.Status{Code: -1, HTTP: status} })
}

func (c *restClient) leave() {
	c.w.step(session.Entry{Conn: c.conn, Side: session.Client, Kind: session.KindDisconnect, Status: &session.Status{Code: -1, Message: "closed"}})
	c.conn = 0
}
