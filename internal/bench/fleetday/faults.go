package main

import (
	"fmt"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/session"
)

// override is added to the revision of contents that only one client is sent.
const override = 1 << 20

// planted are the faults of sidecars, one a proxy; says whether it needs delta.
var planted = [...]struct {
	id    string
	delta bool
}{
	{"nack-loop", false},
	{"stale", false},
	{"stale", true},
	{"duplicate-resource", false},
	{"ack-never", false},
	{"nonce-missing", false},
	{"version-unknown", false},
	{"node-changes", false},
	{"added-and-removed", true},
	{"bad-names", false},
	{"nonce-reused", true},
	{"leaves", false},
	{"restarts", false},
	{"certificate-expires", true},
}

// plant gives the first client of a proxy its fault.
func (p *proxy) plant(c *client, of kind, number int) {
	switch {
	case of == sidecar && number < len(planted):
		p.fault, c.delta = planted[number].id, planted[number].delta
	case of == gateway && number < 3:
		p.fault = "rejected-content"
	case of == gateway:
		p.fault = "accepts" // nothing is wrong; it stays connected
	case of == grpcClient && number == 0:
		p.fault, c.delta = "nonce-of-other-type", false
	}
}

// plantMore adds clients that are nothing but a fault.
func (p *proxy) plantMore(of kind, number int) {
	more := &client{p: p, of: grpcClient, agent: "mesh-scraper/0.3", held: make(map[string]map[string]int), accepted: make(map[string]string), frozen: make(map[string]bool)}
	switch {
	case of == sidecar && (number == 1 || number == 2), of == gateway && number == 3:
		p.truth.fault(p, "no-node", nil)
	case of == grpcClient && number == 1:
		more.node = p.node(grpcClient, 0)
		more.node.Id = "intruder" + more.node.Id[len("grpc"):]
		p.truth.fault(p, "refused", more)
	default:
		return
	}
	p.clients = append(p.clients, more)
}

// special plays clients that never do what others do, and says whether this is one.
func (c *client) special(step int, at time.Time) bool {
	w := c.p.w
	switch {
	case c == c.p.clients[0]:
		return false
	case c.node != nil: // its streams are refused
		if step == w.at(0.2) {
			for i := range 3 {
				c.refused(at.Add(time.Duration(i) * 5 * time.Second))
			}
		}
		return true
	case step == w.at(0.25):
		c.connect(at)
		c.p.truth.nameless = append(c.p.truth.nameless, []any{c.p.cluster, c.p.name, int(c.conn), fmt.Sprintf("10.%d.%d.12:%d", c.p.index>>8, c.p.index&255, 32768+int(c.conn))})
	case step == w.at(0.75):
		c.leave(at, session.Client)
	case c.subs != nil:
		return false
	}
	return true
}

// refused is a stream that the server ends at once.
func (c *client) refused(at time.Time) {
	at = c.dial(at)
	c.subs = map[string]*sub{"LDS": {names: c.wants("LDS"), sent: make(map[string]int)}}
	c.ask(at.Add(time.Millisecond), "LDS", true)
	at = at.Add(4 * time.Millisecond)
	c.p.add(at, session.Entry{
		Conn: c.conn, Stream: c.stream, H2: 1, Side: session.Server, Kind: session.KindTrailer,
		Status: &session.Status{Code: 7, Message: "authentication failure: no identity of the mesh", HTTP: 200},
	})
	c.p.add(at.Add(time.Millisecond), session.Entry{Conn: c.conn, Side: session.Client, Kind: session.KindDisconnect, Status: &session.Status{Code: -1, Message: "closed"}})
	c.subs = nil
}

func (c *client) faulty(id string) bool { return c.p.fault == id && c == c.p.clients[0] }

// faultyPush is push, but for what was planted.
func (c *client) faultyPush(at time.Time, typ string, names []string) time.Time {
	w, step := c.p.w, c.p.now.step
	switch {
	case c.faulty("rejected-content") && typ == "RDS" && step == w.bad && len(names) > 0:
		if c.p.index > 0 { // one of them is the first, by half a minute
			at = at.Add(time.Duration(30+5*c.p.index) * time.Second)
		}
		r := c.response(typ, names)
		c.p.truth.fault(c.p, "rejected-content", c)
		return c.reject(c.deliver(at, r), r, "regex '"+badRegex+"': RE2 program size of 139 > max program size of 100 set for the error level threshold. Increase configured max program size if necessary")
	case c.p.fault == "accepts" && typ == "RDS" && step == w.bad:
		at = at.Add(45 * time.Second)
	case c.faulty("stale") && step == w.at(0.35):
		for _, t := range [...]string{"CDS", "LDS", "RDS"} {
			c.frozen[t] = true
		}
		if typ == "CDS" {
			c.p.truth.fault(c.p, "stale", c)
		}
	case c.faulty("ack-never") && typ == "RDS" && step >= w.at(0.6) && len(names) > 0 && !c.frozen[typ]:
		c.frozen[typ] = true
		c.p.truth.fault(c.p, "ack-never", c)
		c.deliver(at, c.response(typ, names))
		return at
	}
	if typ != "EDS" || len(names) == 0 || c.held["EDS"] == nil {
		return c.push(at, typ, names)
	}
	return c.faultyEndpoints(at, names)
}

// faultyEndpoints errs in a push of endpoints, once.
func (c *client) faultyEndpoints(at time.Time, names []string) time.Time {
	step := c.p.now.step
	r := c.response("EDS", names)
	switch {
	case c.faulty("nonce-missing") && c.once(step, 0.3):
		r.nonce = ""
		c.deliver(at, r)
		return at
	case c.faulty("nonce-reused") && c.once(step, 0.3):
		r.nonce = c.subs["EDS"].nonce
	case c.faulty("added-and-removed") && c.once(step, 0.3):
		r.removed = []string{r.names[0]}
		return c.reject(c.deliver(at, r), r, "duplicate name "+r.names[0]+" found in the union of added+removed resources")
	}
	at = c.deliver(at, r)
	switch {
	case c.faulty("nonce-of-other-type") && c.once(step, 0.3):
		wrong := *r
		wrong.nonce = c.subs["CDS"].nonce
		c.ack(at, &wrong, c.accepted["EDS"], nil)
		at = at.Add(200 * time.Millisecond)
	case c.faulty("version-unknown") && c.once(step, 0.3):
		c.accept(r)
		c.ack(at, r, "1", nil) // which is no verdict
		return at
	case c.faulty("bad-names") && c.once(step, 0.3):
		s := c.subs["EDS"]
		names := s.names
		s.names = append(slices.Clone(names), names[0])
		at = c.answer(at, r)
		s.names = names
		return at
	case c.faulty("node-changes") && c.once(step, 0.3):
		other := proto.CloneOf(c.node)
		other.Id = "sidecar~10.9.9.9~" + c.p.pod + "-other.shop-production-tenant~shop-production-tenant.svc.cluster.local"
		c.accept(r)
		c.p.truth.answer(c, r, at, "")
		c.send(at, session.Client, &discovery.DiscoveryRequest{
			TypeUrl: urlOf("EDS"), ResponseNonce: r.nonce, VersionInfo: r.version, ResourceNames: c.subs["EDS"].names, Node: other,
		})
		return at
	}
	return c.answer(at, r)
}

// once says whether it is the first time from that part of the day on, and notes the
// fault.
func (c *client) once(step int, part float64) bool {
	if c.p.done || step < c.p.w.at(part) {
		return false
	}
	c.p.done = true
	c.p.truth.fault(c.p, c.p.fault, c)
	return true
}

// afterwards are faults between pushes.
func (c *client) afterwards(step int, at time.Time) {
	w := c.p.w
	switch {
	case c.faulty("nack-loop") && step >= w.at(0.4) && step < w.at(0.4)+10:
		c.loop(at, step)
	case c.faulty("duplicate-resource") && step == w.at(0.5):
		c.p.truth.fault(c.p, c.p.fault, c)
		r := c.override("CDS", w.services[4])
		r.twice = true
		r.names = slices.Insert(slices.Delete(slices.Clone(r.names), 4, 5), 0, w.services[4])
		at = c.reject(c.deliver(at, r), r, "duplicate cluster "+w.services[4]+" found")
		c.repair(at.Add(20 * time.Second))
	}
}

// override is a response with a content that nobody else is sent.
func (c *client) override(typ, name string) *response {
	r := c.response(typ, []string{name})
	r.version = fmt.Sprintf("%s-canary", r.version)
	r.revs[name] = override + c.p.w.at(0.4)
	return r
}

// repair sends what the client has accepted before, under a new version.
func (c *client) repair(at time.Time) {
	r := c.response("CDS", []string{c.p.w.services[4]})
	r.version += "-rollback"
	c.answer(c.deliver(at, r), r)
}

// loop is a minute in which the server sends every two seconds what is rejected.
func (c *client) loop(at time.Time, step int) {
	w := c.p.w
	first := step == w.at(0.4)
	if first {
		c.p.truth.fault(c.p, c.p.fault, c)
	}
	c.frozen["CDS"] = true
	name := w.services[4]
	for range 20 {
		r := c.override("CDS", name)
		at = c.reject(c.deliver(at, r), r, "Error adding/updating cluster(s) "+name+": TlsCertificate: private key does not match certificate")
		at = at.Add(2 * time.Second)
	}
	if step == w.at(0.4)+9 {
		c.frozen["CDS"] = false
		c.repair(at)
	}
}

func buildVersion(major, minor, patch uint32) *corev3.BuildVersion {
	return &corev3.BuildVersion{Version: &typev3.SemanticVersion{MajorNumber: major, MinorNumber: minor, Patch: patch}}
}
