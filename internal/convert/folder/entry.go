package folder

import (
	"go.yaml.in/yaml/v3"

	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/session"
)

// entry goes over what an entry says of itself. What its message says is left to
// others.
func (f *fields) entry(e *session.Entry) {
	number(f, "seq", &e.Seq)
	word(f, "kind", kinds(), &e.Kind)
	word(f, "side", []string{"unknown", "client", "server", "proxy"}, &e.Side)
	f.time("time", &e.Time)
	f.time("start", &e.Start)
	number(f, "conn", &e.Conn)
	number(f, "stream", &e.Stream)
	number(f, "h2_stream", &e.H2)
	f.flag("carried", &e.Carried)
	f.text("method", &e.Method)
	object(f, "peer", &e.Peer, (*fields).peer)
	f.headers("headers", &e.Headers)
	f.headers("sent", &e.Sent)
	object(f, "status", &e.Status, func(f *fields, s *session.Status) {
		number(f, "code", &s.Code)
		f.text("message", &s.Message)
		f.flag("was_reset", &s.WasReset)
		number(f, "reset", &s.Reset)
		number(f, "http", &s.HTTP)
	})
	object(f, "goaway", &e.GoAway, func(f *fields, g *session.GoAway) {
		number(f, "last_stream", &g.LastStream)
		number(f, "code", &g.Code)
		f.text("debug", &g.Debug)
	})
	object(f, "gap", &e.Gap, (*fields).gap)
	object(f, "note", &e.Note, func(f *fields, n *session.Note) {
		f.text("code", (*string)(&n.Code))
		f.text("text", &n.Text)
		f.text("hint", &n.Hint)
		number(f, "about", &n.About)
	})
	object(f, "held", &e.Held, func(f *fields, h *session.Held) {
		f.text("node", &h.Node)
		f.text("source", &h.Source)
		f.text("address", &h.Address)
		f.flag("whole", &h.Whole)
		f.text("failed", &h.Failed)
	})
	f.texts("problems", &e.Problems)
}

// kinds are the words of kinds, in the order of their numbers.
func kinds() []string {
	var out []string
	for k := session.KindUnknown; k <= session.KindHeld; k++ {
		out = append(out, k.String())
	}
	return out
}

func (f *fields) peer(p *session.Peer) {
	f.text("client", &p.Client)
	f.text("listen", &p.Listen)
	f.text("upstream", &p.Upstream)
	f.text("local", &p.Local)
	object(f, "client_tls", &p.ClientTLS, (*fields).tls)
	object(f, "server_tls", &p.ServerTLS, (*fields).tls)
}

func (f *fields) tls(t *session.TLS) {
	f.text("version", &t.Version)
	f.text("cipher", &t.Cipher)
	f.text("alpn", &t.ALPN)
	f.text("server_name", &t.ServerName)
	f.texts("identities", &t.Identities)
	f.text("issuer", &t.Issuer)
	f.expiry("not_after", &t.NotAfter)
	f.flag("verified", &t.Verified)
	f.flag("resumed", &t.Resumed)
}

func (f *fields) headers(name string, v *[]session.Field) {
	field := func(f *fields, h *session.Field) {
		f.text("name", &h.Name)
		f.text("value", &h.Value)
	}
	list(f, name, v, func(h *session.Field) document.Tree {
		t := document.Tree{Kind: document.Object}
		field(writing(&t), h)
		return t
	}, func(n *yaml.Node) (h session.Field) {
		in := reading(n, f.wrong)
		field(in, &h)
		in.end()
		return h
	})
}

func (f *fields) gap(g *session.Gap) {
	number(f, "first", &g.First)
	number(f, "last", &g.Last)
	number(f, "entries", &g.Entries)
	number(f, "bytes", &g.Bytes)
	list(f, "streams", &g.Streams, func(s *session.StreamID) document.Tree { return numberTree(*s) },
		func(n *yaml.Node) session.StreamID { return parse[session.StreamID](f, "a stream", n.Value, n) })
	word(f, "cause", []string{"lost", "cut", "cut-bare"}, &g.Cause)
}
