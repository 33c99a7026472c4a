package folder

import (
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// about goes over what is known of a message besides its bytes, of which there
// are size.
func (f *fields) about(m *session.Message, size int64) {
	f.text("encoding", &m.Encoding)
	if f.out == nil || m.WireSize != size {
		number(f, "wire_size", &m.WireSize)
	}
	f.flag("masked", &m.Masked)
	f.flag("compressed", &m.Compressed)
	f.flag("truncated", &m.Truncated)
	if f.out == nil || m.Size != size {
		number(f, "size", &m.Size)
	}
	if f.out == nil || len(m.Hash) > 0 {
		f.bytes("hash", &m.Hash)
	}
}

// message writes what a message says, in the member that can say it: "message" is
// decoded, "text" is JSON as it was sent, "bytes" is base64. file is where a
// content of a resource is.
func (f *fields) message(m *session.Message, st *decode.Stream, side session.Side, file func(item) string) {
	data := m.Data.Bytes()
	f.about(m, int64(len(data)))
	name := ""
	if st != nil {
		name = st.Method.Message(side)
	}
	whole := m.Whole()
	switch {
	case whole && st != nil && st.JSON(side, m.Data) && utf8.Valid(data):
		f.add("text", textTree(string(data)))
	case whole && name != "" && (*descriptors.Types)(nil).Find(protoreflect.FullName(name)) != nil:
		f.add("message", messageTree(name, data, file))
	default:
		f.bytes("bytes", &data)
	}
}

// item is a resource in a response.
type item struct {
	name, typ string
	index     int    // among the resources of the response
	delta     bool   // the response is one of delta
	raw       []byte // the Any
}

const (
	fieldResources  = 2 // of a response
	fieldInWrapper  = 2 // of the Resource of a delta response
	typeMember      = "@type"
	fileMember      = "@file"
	resourcesMember = "resources"
	resourceMember  = "resource"
)

// messageTree is a message decoded. The resources of a response stand as
// references.
func messageTree(name string, data []byte, file func(item) string) document.Tree {
	envelope, items := data, []document.Tree(nil)
	if kind := responseKind(name); kind != decode.Other {
		if rest, trees, ok := resourceTrees(kind, name, data, file); ok {
			envelope, items = rest, trees
		}
	}
	tree := document.Tree{Kind: document.Object, Members: []document.Member{{Name: typeMember, Value: textTree(xds.TypePrefix + name)}}}
	tree.Members = append(tree.Members, document.Kept(name, envelope).Root.Members...)
	if len(items) > 0 {
		tree.Members = append(tree.Members, document.Member{Name: resourcesMember, Value: document.Tree{Kind: document.Array, Items: items}})
	}
	return tree
}

// responseKind is the kind of a response of discovery, Other for anything else.
func responseKind(name string) decode.Kind {
	switch name {
	case xds.PackageV3 + "DiscoveryResponse", xds.PackageV2 + "DiscoveryResponse":
		return decode.SotwResponse
	case xds.PackageV3 + "DeltaDiscoveryResponse", xds.PackageV2 + "DeltaDiscoveryResponse":
		return decode.DeltaResponse
	}
	return decode.Other
}

// resourceTrees takes the resources out of a response. It returns what is left of
// it; false if it is not what it should be.
func resourceTrees(kind decode.Kind, name string, data []byte, file func(item) string) (rest []byte, trees []document.Tree, ok bool) {
	wrapper := xds.ResourceV3
	if strings.HasPrefix(name, xds.PackageV2) {
		wrapper = xds.ResourceV2
	}
	ok = eachResource(kind, data, func(at *protoscan.Scanner, r *decode.Resource, index int) {
		raw, frame := at.Body, []byte(nil)
		if kind == decode.DeltaResponse {
			raw, frame = unwrap(at.Body)
		}
		tree := document.Tree{Kind: document.Object}
		if kind == decode.DeltaResponse {
			tree.Members = document.Kept(wrapper, frame).Root.Members
		}
		if raw != nil {
			of := item{name: r.Name, typ: r.TypeURL, index: index, delta: kind == decode.DeltaResponse, raw: raw}
			reference := document.Tree{Kind: document.Object, Members: []document.Member{{Name: fileMember, Value: textTree(file(of))}}}
			if kind != decode.DeltaResponse {
				tree = reference
			} else {
				tree.Members = append(tree.Members, document.Member{Name: resourceMember, Value: reference})
			}
		}
		trees = append(trees, tree)
	}, func(at *protoscan.Scanner) { rest = append(rest, at.Raw()...) })
	return rest, trees, ok
}

// eachResource goes over the resources of a response, and over what else is in it.
// It is false, and nothing was called, if the response is not what it should be.
func eachResource(kind decode.Kind, data []byte, do func(*protoscan.Scanner, *decode.Resource, int), other func(*protoscan.Scanner)) bool {
	m := peek(kind, data)
	n := 0
	s := protoscan.Of(data)
	for s.Next() {
		if s.Num == fieldResources {
			if n++; s.Type != protowire.BytesType {
				return false
			}
		}
	}
	if s.Err != "" || n != len(m.Resources) {
		return false
	}
	n = 0
	for s = protoscan.Of(data); s.Next(); {
		if s.Num != fieldResources {
			other(s)
			continue
		}
		do(s, &m.Resources[n], n)
		n++
	}
	return true
}

// peek reads the envelope of a response.
func peek(kind decode.Kind, data []byte) decode.Message {
	path := "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	if kind == decode.DeltaResponse {
		path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
	}
	return decode.Peek(xds.LookupMethod(path), session.Server, "", data)
}

// unwrap parts the Any in the Resource of a delta response from the rest. There is
// none if it cannot stand alone.
func unwrap(body []byte) (raw, frame []byte) {
	s := protoscan.Of(body)
	for s.Next() {
		switch {
		case s.Num != fieldInWrapper:
			frame = append(frame, s.Raw()...)
		case s.Type != protowire.BytesType || raw != nil:
			return nil, body
		default:
			raw = append([]byte{}, s.Body...)
		}
	}
	if s.Err != "" {
		return nil, body
	}
	return raw, frame
}

// itemsOf are the Anys of the resources of a response; nil for those that have none.
func itemsOf(kind decode.Kind, data []byte) (raws [][]byte) {
	eachResource(kind, data, func(at *protoscan.Scanner, _ *decode.Resource, _ int) {
		raw := at.Body
		if kind == decode.DeltaResponse {
			raw, _ = unwrap(at.Body)
		}
		raws = append(raws, raw)
	}, func(*protoscan.Scanner) {})
	return raws
}
