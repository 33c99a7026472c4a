package decode

import (
	"fmt"
	"slices"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Decode decodes a message that side sent on a stream of method m, whole. The
// content type is that of the sender's headers. Types come from the global
// registry: see package decode/types.
func Decode(m xds.Method, side session.Side, contentType string, data []byte) document.Document {
	return Decoder{}.Decode(m, side, contentType, data)
}

// Decoder decodes with more types than the linked ones.
type Decoder struct {
	Types *descriptors.Types // may be nil
}

// Decode decodes a message whole.
func (x Decoder) Decode(m xds.Method, side session.Side, contentType string, data []byte) document.Document {
	name, isJSON, guess := typeOf(m, side, contentType, data)
	read := document.Decoder(x).Message
	if isJSON {
		read = document.Decoder(x).JSON
	}
	d := read(name, data)
	if guess != "" {
		d.Problems = slices.Insert(d.Problems, 0, guess)
	}
	return d
}

// Decode decodes the payload of a resource. The document of one that is Empty
// has nothing in it.
func (r *Resource) Decode() document.Document { return Decoder{}.Resource(r) }

// Resource decodes the payload of a resource.
func (x Decoder) Resource(r *Resource) document.Document {
	d := document.Decoder(x)
	if len(r.Body) > 0 && r.Body[0] == '{' { // in protobuf the start of a group, which no type has
		return d.JSON("google.protobuf.Any", r.Body)
	}
	return d.Any(r.TypeURL, r.Body)
}

// Wire lists the fields of a message as Wire of document.Decoder does. A message in
// JSON has none.
func (x Decoder) Wire(m xds.Method, side session.Side, contentType string, data []byte, most int) (fields []document.WireField, problem string) {
	name, isJSON, _ := typeOf(m, side, contentType, data)
	if isJSON {
		return nil, ""
	}
	return document.Decoder(x).Wire(name, data, most)
}

// typeOf is the full name of the type of a message, "" if it is not known. If that
// is a guess, guess says so.
func typeOf(m xds.Method, side session.Side, contentType string, data []byte) (name string, isJSON bool, guess string) {
	if m.Path != "" || m.Variant != "" {
		return m.Message(side), FormOf(m, contentType) == FormJSON, ""
	}
	kind := sniff(side, data)
	if isJSON = LooksLikeJSON(data); isJSON {
		kind = jsonKind(side)
	} else {
		isJSON = FormOf(m, contentType) == FormJSON
		guess = fmt.Sprintf("the method is not known: read as %s by the look of its bytes", kind)
	}
	if kind != Other {
		name = xds.PackageV3 + kind.String()
	}
	return name, isJSON, guess
}
