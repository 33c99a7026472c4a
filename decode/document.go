package decode

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Document is a fully decoded message.
//
// It follows the JSON form of protobuf with the names of the .proto files:
// fields in the order of their numbers, enums as words, 64-bit integers as
// strings, bytes in base64, well-known types in their short forms, map keys
// sorted. Only what was sent is there. Every Any is expanded where it stands,
// with "@type" first. What has no known type is shown as far as its bytes
// tell:
//
//	"@unknown": {"4": …}     fields without a name, by number: in an Any of
//	                         unknown type all of them, elsewhere those that a
//	                         newer API has
//	"@bytes": "aGk="         bytes that are neither text nor a message
//	"@value": …              the value of an Any that is not a message
//	"@undecoded": …          the end of a message, from where it makes no sense
//
// Of an unknown field a varint is a number, a fixed-width value a hexadecimal
// string, and a length-delimited value a string if it is text, else the
// message that it looks like.
type Document struct {
	Root Tree
	// Type is the full name of the message type that the root is of, "" if it
	// is an Any, which says so itself, or if the type is not known.
	Type string
	// Problems says what could not be decoded, with its path.
	Problems []string
}

const (
	// maxDepth bounds the nesting of messages that is shown.
	maxDepth = 100
	// maxTreeNodes bounds what one message becomes.
	maxTreeNodes = 1 << 23
)

// Decode decodes a message that side sent on a stream of method m, whole. The
// content type is that of the sender's headers. Types come from the global
// registry: see package decode/types.
func Decode(m xds.Method, side session.Side, contentType string, data []byte) Document {
	w := newWalker()
	name := m.Message(side)
	if m.Path == "" {
		if looksLikeJSON(data) {
			return decodeJSON(w, kindName(Peek(m, side, contentType, data).Kind, false), data)
		}
		name = kindName(sniff(side, data), false)
		w.problem(nil, "the method is not known: read as %s by the look of its bytes", sniff(side, data))
	}
	if FormOf(m, contentType) == FormJSON {
		return decodeJSON(w, name, data)
	}
	return w.document(name, data)
}

// DecodeMessage decodes data as a message of the type with this full name.
func DecodeMessage(name string, data []byte) Document { return newWalker().document(name, data) }

// DecodeAny decodes an Any, such as one resource of a response.
func DecodeAny(typeURL string, value []byte) Document {
	w := newWalker()
	root := w.anyTree(typeURL, value, nil, 0)
	return Document{Root: root, Problems: w.problems}
}

// Decode decodes the payload of a resource. The document of one that is Empty
// has nothing in it.
func (r *Resource) Decode() Document {
	if len(r.Body) > 0 && r.Body[0] == '{' { // in protobuf the start of a group, which no type has
		return decodeJSON(newWalker(), "google.protobuf.Any", r.Body)
	}
	return DecodeAny(r.TypeURL, r.Body)
}

func kindName(k Kind, v2 bool) string {
	if k == Other {
		return ""
	}
	if v2 {
		return xds.PackageV2 + k.String()
	}
	return xds.PackageV3 + k.String()
}

// resolver finds message types; protoregistry.GlobalTypes is one.
type resolver interface {
	protoregistry.MessageTypeResolver
	protoregistry.ExtensionTypeResolver
}

// walker builds the tree of one message.
type walker struct {
	types    resolver
	problems []string
	missing  map[string]bool // types that are not known, said once each
	nodes    int
	kept     bool // see Kept
}

func newWalker() *walker {
	return &walker{types: protoregistry.GlobalTypes, missing: make(map[string]bool)}
}

// maxDocumentProblems bounds the problems of one document.
const maxDocumentProblems = 100

func (w *walker) problem(at *path, format string, args ...any) {
	if len(w.problems) >= maxDocumentProblems {
		return
	}
	msg := fmt.Sprintf(format, args...)
	if where := at.String(); where != "" {
		msg = where + ": " + msg
	}
	w.problems = append(w.problems, msg)
}

func (w *walker) document(name string, data []byte) Document {
	if name == "" {
		return Document{Root: w.unknownMessage(data, nil, 0), Problems: w.problems}
	}
	md := w.find(name, nil)
	if md == nil {
		return Document{Root: w.unknownMessage(data, nil, 0), Problems: w.problems}
	}
	root := w.message(md, data, nil, 0)
	return Document{Root: root, Type: string(md.FullName()), Problems: w.problems}
}

// find looks a message type up by its full name; nil if it is not known, which
// is a problem said once for each type.
func (w *walker) find(name string, at *path) protoreflect.MessageDescriptor {
	full := protoreflect.FullName(name)
	if full.IsValid() {
		if mt, err := w.types.FindMessageByName(full); err == nil {
			return mt.Descriptor()
		}
	}
	if !w.missing[name] && len(w.missing) < maxDocumentProblems {
		w.missing[name] = true
		w.problem(at, "message type %q is not known", name)
	}
	return nil
}

// decodeJSON reads a JSON body. If it is JSON of the message type, it is shown
// as any other message; otherwise as it was sent.
func decodeJSON(w *walker, name string, data []byte) Document {
	if len(strings.TrimSpace(string(data))) == 0 {
		return Document{Problems: w.problems}
	}
	tree, err := parseJSON(data)
	if err != nil {
		w.problem(nil, "not JSON: %v", err)
		return Document{Root: w.bytesTree(data), Problems: w.problems}
	}
	if name == "" {
		return Document{Root: tree, Problems: w.problems}
	}
	mt, err := w.types.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		w.problem(nil, "message type %q is not known", name)
		return Document{Root: tree, Problems: w.problems}
	}
	msg := mt.New().Interface()
	if fault := lenient.JSON(data).Whole(msg, w.types); fault != nil {
		w.problem(nil, "shown as it was sent: %v", fault)
		return Document{Root: tree, Problems: w.problems}
	}
	wire, err := (proto.MarshalOptions{AllowPartial: true, Deterministic: true}).Marshal(msg)
	if err != nil {
		w.problem(nil, "shown as it was sent: %v", err)
		return Document{Root: tree, Problems: w.problems}
	}
	return w.document(name, wire)
}

// path is where in a document something stands. The nil path is the root.
type path struct {
	up    *path
	name  string
	index int // of a list element, else -1
}

func (p *path) field(name string) *path { return &path{up: p, name: name, index: -1} }
func (p *path) item(i int) *path        { return &path{up: p, index: i} }

// String is such as "resources[3].transport_socket.typed_config".
func (p *path) String() string {
	var parts []string
	for ; p != nil; p = p.up {
		if p.index >= 0 {
			parts = append(parts, "["+strconv.Itoa(p.index)+"]")
			continue
		}
		name := p.name
		if p.up != nil {
			name = "." + name
		}
		parts = append(parts, name)
	}
	slices.Reverse(parts)
	return strings.Join(parts, "")
}
