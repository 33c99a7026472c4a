package pseudonym

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Walk goes over the entries of a recording, in order.
type Walk struct {
	names   *Names
	streams *decode.Streams
}

// Walk begins a walk. Before Settle it learns, and its entries are of no use;
// after it, it maps.
func (n *Names) Walk() *Walk { return &Walk{n, decode.NewStreams()} }

// Err says why the walk is of no use: ErrTooMany, or that the recording changed.
func (w *Walk) Err() error { return w.names.err }

// Entry is an entry with stand-ins. It refers to nothing that e refers to and
// that holds a name.
func (w *Walk) Entry(e *session.Entry) session.Entry {
	st, _ := w.streams.Step(e)
	if st == nil {
		st = &decode.Stream{}
	}
	n := w.names
	out := *e
	out.Method = n.path(e.Method)
	out.Headers, out.Sent = n.fields(e.Headers), n.fields(e.Sent)
	if p := e.Peer; p != nil {
		peer := *p
		for _, s := range []*string{&peer.Client, &peer.Listen, &peer.Upstream, &peer.Local} {
			*s = n.text(*s, inValue, 0)
		}
		peer.ClientTLS, peer.ServerTLS = n.tls(p.ClientTLS), n.tls(p.ServerTLS)
		out.Peer = &peer
	}
	if e.Status != nil {
		status := *e.Status
		status.Message = n.text(status.Message, inProse, 0)
		out.Status = &status
	}
	if e.GoAway != nil {
		goAway := *e.GoAway
		goAway.Debug = n.text(goAway.Debug, inProse, 0)
		out.GoAway = &goAway
	}
	if e.Note != nil {
		note := *e.Note
		if note.Code != session.NoteSilenced { // the text is the id of a rule
			note.Text = n.text(note.Text, inProse, 0)
		}
		note.Hint = n.text(note.Hint, inProse, 0)
		out.Note = &note
	}
	if e.Held != nil {
		held := *e.Held
		held.Node, held.Address = n.text(e.Held.Node, inValue, 0), n.text(e.Held.Address, inValue, 0)
		held.Failed = n.text(e.Held.Failed, inProse, 0)
		out.Held = &held
	}
	out.Problems = slices.Clone(e.Problems)
	for i, p := range out.Problems {
		out.Problems[i] = n.text(p, inProse, 0)
	}
	if e.Message != nil {
		m := *e.Message
		data := w.message(e, st)
		if whole := int64(len(data)); m.Whole() {
			m.Size = whole
		}
		m.Data = nil
		if len(data) > 0 {
			m.Data = session.Chunks{data}
		}
		if len(m.Hash) > 0 {
			m.Hash = n.opaque(m.Hash)
		}
		out.Message = &m
	}
	return out
}

// message maps a message as what its stream says that it is.
func (w *Walk) message(e *session.Entry, st *decode.Stream) []byte {
	if e.Message.Large() {
		return nil // names in it would not be found
	}
	n, data := w.names, e.Message.Data.Bytes()
	switch {
	case len(data) == 0:
		return nil
	case e.Message.Compressed:
		return n.opaque(data)
	case st.JSON(e.Side, e.Message.Data):
		if out, ok := n.json(string(data), 0); ok {
			return []byte(out)
		}
		return []byte(n.text(string(data), inProse, 1))
	}
	name := st.Method.Message(e.Side)
	if kind := decode.Peek(st.Method, e.Side, st.Content(e.Side), data).Kind; kind != decode.Other {
		if name = xds.PackageV3 + kind.String(); st.Method.V2 && st.Method.Message(e.Side) != "" {
			name = st.Method.Message(e.Side)
		}
	}
	if md := messageType(xds.TypeName(name)); md != nil {
		return n.message(md, data, 0)
	}
	if md := messageType(name); md != nil {
		return n.message(md, data, 0)
	}
	return n.bytes(data, 0)
}

// path maps the path of a request, or the name of a watched file.
func (n *Names) path(s string) string {
	if name, is := strings.CutPrefix(s, xds.FilePrefix); is {
		return xds.FilePrefix + n.text(name, inValue, 0)
	}
	if bare, query, has := strings.Cut(s, "?"); has {
		return n.text(bare, inValue, 0) + "?" + n.text(query, inValue, 0)
	}
	return n.text(s, inValue, 0)
}

func (n *Names) fields(fs []session.Field) []session.Field {
	out := slices.Clone(fs)
	for i := range out {
		f := &out[i]
		if n.fileField(f) {
			continue
		}
		name := lower(f.Name)
		f.Name = n.text(f.Name, inHeader, 0)
		switch {
		case plainHeaders[name]:
		case name == "grpc-message":
			f.Value = n.text(f.Value, inProse, 0)
		case name == "user-agent", name == "server", name == "via":
			f.Value = n.text(f.Value, inAgent, 0)
		case name == ":path":
			f.Value = n.path(f.Value)
		case strings.HasSuffix(name, "-bin"):
			f.Value = n.binary(name, f.Value)
		default:
			f.Value = n.text(f.Value, inValue, 0)
		}
	}
	return out
}

// fileField maps a field of what happened to a file; false if it is none.
func (n *Names) fileField(f *session.Field) bool {
	switch f.Name {
	case xds.FileSeen:
		return f.Value == "yes" || f.Value == "no"
	case xds.FileFrom, xds.FileWatched, xds.FileReplaced:
		if f.Value != xds.FileAlone {
			f.Value = n.text(f.Value, inValue, 0)
		}
		return true
	}
	return false
}

// binary maps the value of a header field of bytes.
func (n *Names) binary(name, v string) string {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	if err != nil {
		return n.text(v, inValue, 0)
	}
	if md := messageType("google.rpc.Status"); name == "grpc-status-details-bin" && md != nil {
		b = n.message(md, b, 0)
	} else {
		b = n.bytes(b, 0)
	}
	return base64.RawStdEncoding.EncodeToString(b)
}

func (n *Names) tls(t *session.TLS) *session.TLS {
	if t == nil {
		return nil
	}
	own := *t
	own.ServerName, own.Issuer = n.text(t.ServerName, inValue, 0), n.text(t.Issuer, inValue, 0)
	own.Identities = slices.Clone(t.Identities)
	for i, id := range own.Identities {
		own.Identities[i] = n.text(id, inValue, 0)
	}
	return &own
}
