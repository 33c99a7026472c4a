package folder

import (
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/lenient"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// parser makes entries of documents.
type parser struct {
	wrong wrong // lines count from the beginning of the text
	// file is the bytes of an Any, nil if there are none, which is said then.
	file func(name string, line, col int) []byte
	// twice says which names stood more than once in what an entry was.
	twice func(session.Seq, decode.Kind) map[string]bool
}

// entry reads a document. Of what cannot be read something may be there.
func (p *parser) entry(text []byte) (e session.Entry) {
	root, more, fault := lenient.YAMLTree(text, maxValues)
	if fault == nil && more != nil {
		fault = more
	}
	if fault != nil {
		p.wrong(fault.Line, fault.Col, "%s", fault.Message)
		return e
	}
	f := reading(root, p.wrong)
	kind := f.in["kind"].value
	f.entry(&e)
	for _, name := range missing(&e) {
		p.wrong(root.Line, root.Column, "%s is missing: an entry of the kind %s has it", name, e.Kind)
	}
	switch {
	case e.Kind == session.KindUnknown:
		if kind == nil || kind.Value == e.Kind.String() { // else it was said
			p.wrong(root.Line, root.Column, "the kind is missing")
		}
	case e.Seq > maxSeq:
		p.wrong(root.Line, root.Column, "seq is too large")
	case e.Kind == session.KindMessage, e.Kind == session.KindHeld && (e.Held != nil && e.Held.Failed == "" || f.has("message", "text", "bytes")):
		e.Message = p.message(f, e.Seq)
	}
	f.end()
	return e
}

// missing are the fields that an entry of its kind cannot be without.
func missing(e *session.Entry) (names []string) {
	need := func(name string, there bool) {
		if !there {
			names = append(names, name)
		}
	}
	switch e.Kind {
	case session.KindOpen, session.KindHeader, session.KindMessage, session.KindHalfClose, session.KindTrailer, session.KindCancel:
		need("stream", e.Stream != 0)
	}
	switch e.Kind {
	case session.KindOpen:
		need("method", e.Method != "")
	case session.KindTrailer, session.KindCancel:
		need("status", e.Status != nil)
	case session.KindConnect, session.KindDisconnect:
		need("conn", e.Conn != 0)
	case session.KindGoAway:
		need("goaway", e.GoAway != nil)
	case session.KindGap:
		need("gap", e.Gap != nil)
	case session.KindNote:
		need("note", e.Note != nil)
	case session.KindHeld:
		need("held", e.Held != nil)
	}
	return names
}

// maxSeq keeps numbers that are counted up from here in their range.
const maxSeq = 1 << 62

// message reads what message has written.
func (p *parser) message(f *fields, seq session.Seq) *session.Message {
	m := new(session.Message)
	f.about(m, 0)
	var data []byte
	decoded, text := f.take("message"), ""
	members := 0
	if decoded != nil {
		members++
		data = p.decoded(decoded, seq)
	}
	if n := f.in["text"].value; n != nil {
		members++
		f.text("text", &text)
		data = []byte(text)
	}
	if f.bytes("bytes", &data) {
		members++
	}
	if members != 1 {
		p.wrong(f.line, 0, "a message is in one of the fields message, text and bytes")
	}
	size := int64(len(data))
	if !m.Truncated || m.Size < size {
		m.Size = size
	}
	if m.WireSize <= 0 {
		m.WireSize = size
	}
	if size > 0 {
		m.Data = session.Chunks{data}
	}
	return m
}

// decoded encodes a message.
func (p *parser) decoded(n *yaml.Node, seq session.Seq) []byte {
	var of anypb.Any
	for _, w := range (lenient.Exact{Types: protoregistry.GlobalTypes, File: p.file}).Into(&of, n) {
		p.wrong(w.Line, w.Col, "%s", w.Message)
	}
	if len(of.ProtoReflect().GetUnknown()) > 0 {
		p.wrong(n.Line, n.Column, "this is to be a message, with its @type")
	}
	if kind := responseKind(xds.TypeName(of.GetTypeUrl())); kind != decode.Other {
		p.unique(kind, of.GetValue(), n, seq)
	}
	return of.GetValue()
}

// unique complains of two resources of one name in a response, unless that was so.
func (p *parser) unique(kind decode.Kind, data []byte, n *yaml.Node, seq session.Seq) {
	double := repeated(kind, data)
	if len(double) == 0 {
		return
	}
	was := p.twice(seq, kind)
	for i, r := range peek(kind, data).Resources {
		if key := r.Name + r.Constraints; !double[key] || was[key] {
			continue
		}
		line := n.Line
		for k := 0; k+1 < len(n.Content); k += 2 {
			if list := n.Content[k+1]; n.Content[k].Value == resourcesMember && i < len(list.Content) {
				line = list.Content[i].Line
			}
		}
		p.wrong(line, 0, "two resources of the name %s in one response", lenient.Quoted(r.Name))
	}
}

// repeated are the names that more than one resource of a response has.
func repeated(kind decode.Kind, data []byte) map[string]bool {
	seen, double := map[string]bool{}, map[string]bool{}
	for _, r := range peek(kind, data).Resources {
		key := r.Name + r.Constraints
		if r.Name != "" && seen[key] {
			double[key] = true
		}
		seen[key] = true
	}
	return double
}

// editedText says what was edited of an entry.
func editedText(files []string, self bool) string {
	if self {
		files = append([]string{sessionFile}, files...)
	}
	const most = 4
	if n := len(files); n > most {
		files = append(files[:most:most], "and more")
	}
	return "edited: " + strings.Join(files, ", ")
}
