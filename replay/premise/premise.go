// Package premise finds out what the clients of a recording took for granted:
// what they said of themselves, what they asked for because their bootstrap says
// so, and which clusters they must have had from it. What was accepted and what
// was not, it asks the engine. It plays nothing and writes nothing.
package premise

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/bootstrap/generate"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/edit"
	"github.com/xdsproxy/xdsproxy/session"
)

// Observer looks at the entries of a recording on their way to somebody else.
type Observer struct {
	src      replay.Source
	engine   *engine.Engine
	clients  map[string]*client
	timeouts map[session.StreamID]time.Duration // of polls that have said nothing yet
	waits    map[string]time.Duration           // for the answer to a poll, by client
}

// Observe returns a Source that gives the entries of src.
func Observe(src replay.Source) *Observer {
	return &Observer{
		src: src, engine: engine.New(engine.Options{}), clients: map[string]*client{},
		timeouts: map[session.StreamID]time.Duration{}, waits: map[string]time.Duration{},
	}
}

// Next is that of replay.Source.
func (o *Observer) Next(ctx context.Context) (session.Entry, error) {
	e, err := o.src.Next(ctx)
	if err == nil {
		o.See(&e)
	}
	return e, err
}

// client is what is known of one node.
type client struct {
	node    []byte // JSON
	v2      bool
	grpc    bool
	single  bool // it had streams of one type
	ads     generate.API
	rest    *generate.REST           // if it polls
	asks    map[string]*generate.Ask // by type
	named   map[string]map[string]generate.API
	authors map[string]bool
	context map[string]bool // what of its node it adds to the names of collections

	sent     map[string]bool // clusters
	referred map[string]bool // "EDS name", "SDS name": by what was sent
	foreign  map[string]bool // secrets that come by a stream of their own
	accepted map[string]use  // clusters that accepted resources refer to
	refused  map[string]bool // clusters that rejected ones refer to
	open     map[session.Seq]map[string]use
}

// use is what a reference to a cluster shows of it.
type use struct {
	// proven says that who accepts the resource has the cluster.
	proven bool
	// service says that something is asked there: it may be a server of
	// configuration.
	service bool
}

func (u use) and(v use) use { return use{u.proven || v.proven, u.service || v.service} }

// See looks at an entry that does not come from the source.
func (o *Observer) See(e *session.Entry) {
	c := o.engine.Step(e)
	if c.Variant == xds.VariantREST {
		o.poll(e, &c)
	}
	if c.Sub == nil || c.Message == nil || !c.Stream.Discovery() && c.Variant != xds.VariantREST {
		return
	}
	k := o.clients[c.Client]
	if k == nil {
		k = &client{
			asks: map[string]*generate.Ask{}, named: map[string]map[string]generate.API{}, authors: map[string]bool{}, context: map[string]bool{},
			sent: map[string]bool{}, referred: map[string]bool{}, foreign: map[string]bool{}, accepted: map[string]use{}, refused: map[string]bool{},
			open: map[session.Seq]map[string]use{},
		}
		o.clients[c.Client] = k
	}
	switch {
	case c.Request != nil:
		k.request(e, &c)
	case c.Response != nil:
		k.response(&c)
	}
}

func (k *client) request(e *session.Entry, c *engine.Change) {
	if k.node == nil && c.Message.Node != nil {
		k.node = nodeOf(e.Message.Data.Bytes(), c.Stream)
		k.v2, k.grpc = c.Method.V2, c.Stream.GRPCClient()
	}
	api := generate.SotW
	switch {
	case c.Variant == xds.VariantREST:
		api = generate.Polls
		if k.rest == nil {
			k.rest = &generate.REST{}
		}
		k.rest.HTTP1 = k.rest.HTTP1 || e.H2 == 0
	case c.Stream.Delta():
		api = generate.Delta
	}
	if c.Stream.ADS() {
		if k.ads == generate.ByADS {
			k.ads = api
		}
		api = generate.ByADS
	} else {
		k.single = true
	}
	switch typ := c.Sub.Type; {
	case (typ == "CDS" || typ == "LDS") && c.Request.Ordinal == 0:
		glob := slices.IndexFunc(c.Added, engine.IsGlob)
		if k.asks[typ] != nil || c.Sub.Wild == engine.NotWild && glob < 0 {
			break
		}
		k.asks[typ] = &generate.Ask{Type: typ, API: api}
		if glob >= 0 {
			k.asks[typ].Names = c.Added[glob : glob+1]
		}
	case typ == "RTDS" || typ == "EDS" || typ == "SDS":
		if k.named[typ] == nil {
			k.named[typ] = map[string]generate.API{}
		}
		for _, n := range c.Added {
			if _, is := k.named[typ][n]; !is {
				k.named[typ][n] = api
			}
		}
	}
	for _, n := range c.Added {
		if rest, is := strings.CutPrefix(n, "xdstp://"); is {
			if authority, _, _ := strings.Cut(rest, "/"); authority != "" {
				k.authors[authority] = true
			}
			_, params, _ := strings.Cut(rest, "?")
			for param := range strings.SplitSeq(params, "&") {
				key, _, _ := strings.Cut(param, "=")
				if of, is := strings.CutPrefix(key, "xds.node."); is && engine.IsGlob(n) {
					k.context[of] = true
				}
			}
		}
	}
	if of := c.Request.Echoed; of != nil {
		k.judge(of.Seq, c.Request.Verdict == engine.ACKed, c.Request.Verdict == engine.NACKed)
	}
}

// judge enters what the client made of a response.
func (k *client) judge(seq session.Seq, acked, nacked bool) {
	refs := k.open[seq]
	switch {
	case refs == nil || !acked && !nacked:
		return
	case acked:
		for n, u := range refs {
			k.accepted[n] = k.accepted[n].and(u)
		}
	default:
		for n := range refs {
			k.refused[n] = true
		}
	}
	delete(k.open, seq)
}

func (k *client) response(c *engine.Change) {
	if c.Sub.Type == "CDS" {
		for i := range c.Message.Resources {
			k.sent[c.Message.Resources[i].Name] = true
		}
	}
	refs := map[string]use{}
	for _, list := range [][]*engine.Resource{c.Response.Added, c.Response.Changed} {
		for _, it := range list {
			if it.Content == nil {
				continue
			}
			facts := it.Content.Facts
			for i := range facts.Refs {
				switch r := &facts.Refs[i]; r.Type {
				case "CDS":
					u := use{proven: r.Use == inspect.UseService || slices.Contains(facts.Proven, r.Name), service: r.Use == inspect.UseService}
					if had := k.accepted[r.Name]; had.and(u) != had || had == (use{}) {
						refs[r.Name] = refs[r.Name].and(u)
					}
				case "EDS", "SDS":
					k.referred[r.Type+" "+r.Name] = true
					if r.Type == "SDS" && r.Source == inspect.SourceOther {
						k.foreign[r.Name] = true
					}
				}
			}
		}
	}
	if len(refs) > 0 {
		k.open[c.Response.Seq] = refs
	}
}

// nodeOf is the node of a request in JSON, without what a client says of itself
// whatever its bootstrap says.
func nodeOf(data []byte, of *engine.Stream) []byte {
	num := protowire.Number(2)
	switch {
	case of.Method.Variant == xds.VariantREST:
		var err error
		if data, err = edit.FromJSON(of.Method.Request, data); err != nil {
			return nil
		}
	case of.Delta():
		num = 1
	}
	var node []byte
	for s := protoscan.Of(data); s.Next(); {
		if body, ok := s.Bytes(); ok && s.Num == num {
			node = body
		}
	}
	doc := document.Message("envoy.config.core.v3.Node", node)
	doc.Root.Members = slices.DeleteFunc(doc.Root.Members, func(m document.Member) bool {
		return !slices.Contains([]string{"id", "cluster", "metadata", "locality"}, m.Name)
	})
	return doc.Compact()
}

// Client is what a client took for granted, by its node id. That it speaks v2,
// which no client of today does, is told beside it.
func (o *Observer) Client(id string) (c *generate.Client, v2 bool) {
	k := o.clients[id]
	if k == nil {
		return &generate.Client{}, false
	}
	c = &generate.Client{
		Node: k.node, GRPC: k.grpc, ADS: k.ads, REST: k.rest,
		Authorities: slices.Sorted(maps.Keys(k.authors)), Context: slices.Sorted(maps.Keys(k.context)),
	}
	if c.REST != nil {
		c.REST.Timeout = o.waits[id]
	}
	for _, typ := range []string{"CDS", "LDS"} {
		if ask := k.asks[typ]; ask != nil {
			c.Asks = append(c.Asks, *ask)
		}
	}
	c.Asks = append(c.Asks, k.alone("RTDS")...)
	if len(c.Asks) > 0 { // else it has no bootstrap of Envoy's kind
		c.Asks = append(c.Asks, k.alone("EDS")...)
		for _, ask := range k.alone("SDS") {
			for _, n := range ask.Names {
				c.Notes = append(c.Notes, "the client asked for SDS \""+n+"\", and nothing that it was sent names it: its own bootstrap did, and the generated one does not")
			}
		}
	}
	for _, name := range k.granted(o.engine.Static()) {
		c.Clusters = append(c.Clusters, generate.Cluster{Name: name, Server: k.single && k.uses(name).service})
	}
	return c, k.v2
}

// alone are the names of a type that the client asked for although nothing that
// it was sent refers to them.
func (k *client) alone(typ string) (out []generate.Ask) {
	by := map[generate.API][]string{}
	for _, n := range slices.Sorted(maps.Keys(k.named[typ])) {
		if !k.referred[typ+" "+n] && n != "*" {
			api := k.named[typ][n]
			by[api] = append(by[api], n)
		}
	}
	for _, api := range slices.Sorted(maps.Keys(by)) {
		out = append(out, generate.Ask{Type: typ, API: api, Names: by[api]})
	}
	return out
}

// Unrecorded are the secrets that a client has to ask for by a stream of their own
// and did not in the recording: who answered it then was no part of that, and
// nobody plays them.
func (o *Observer) Unrecorded(id string) (names []string) {
	k := o.clients[id]
	if k == nil {
		return nil
	}
	for _, n := range slices.Sorted(maps.Keys(k.foreign)) {
		if _, asked := k.named["SDS"][n]; !asked {
			names = append(names, n)
		}
	}
	return names
}

// uses is how a cluster is used by what the client accepted, or was sent last and
// did not answer.
func (k *client) uses(name string) use {
	u := k.accepted[name]
	for _, refs := range k.open {
		u = u.and(refs[name])
	}
	return u
}

// granted are the clusters that the client has from its bootstrap: those that the
// recording says, and those that something refers to and nobody sent. A name in
// what was rejected may be why it was, unless something else proves the cluster.
func (k *client) granted(static []string) []string {
	names := map[string]bool{}
	for n := range k.accepted {
		names[n] = true
	}
	for _, refs := range k.open {
		for n := range refs {
			names[n] = true
		}
	}
	for n := range names {
		if k.sent[n] || k.refused[n] && !k.uses(n).proven {
			delete(names, n)
		}
	}
	for _, n := range static {
		names[n] = true
	}
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}
