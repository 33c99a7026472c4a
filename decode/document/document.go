// Package document shows a message whole, as a tree that prints as JSON or YAML.
// Types come from the global registry, see package decode/types, and a Decoder may
// have more.
package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
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
	// Missing are the full names of types that are not known, at most 100: with a
	// description of them, see package descriptors, more could be shown.
	Missing []string
}

const (
	// maxDepth bounds the nesting of messages that is shown.
	maxDepth = 100
	// maxTreeNodes bounds what one message becomes.
	maxTreeNodes = 1 << 23
)

// Decoder decodes messages. The zero value knows the linked types, and so do the
// functions of the same names.
type Decoder struct {
	Types *descriptors.Types // beside the linked ones; may be nil
}

// Message decodes data as a message of the type with this full name.
func Message(name string, data []byte) Document { return Decoder{}.Message(name, data) }

// Message decodes data as a message of the type with this full name.
func (d Decoder) Message(name string, data []byte) Document {
	return newWalker(d.Types).document(name, data)
}

// Any decodes an Any, such as one resource of a response.
func Any(typeURL string, value []byte) Document { return Decoder{}.Any(typeURL, value) }

// Any decodes an Any, such as one resource of a response.
func (d Decoder) Any(typeURL string, value []byte) Document {
	w := newWalker(d.Types)
	root := w.anyTree(typeURL, value, nil, 0)
	return Document{Root: root, Problems: w.problems, Missing: w.lacks}
}

// walker builds the tree of one message.
type walker struct {
	types    *descriptors.Types
	problems []string
	missing  map[string]bool // types that are not known, said once each
	lacks    []string        // the same in their order
	nodes    int
	full     bool // there are more of them than are shown, and that was said
	kept     bool // see Kept
}

func newWalker(types *descriptors.Types) *walker {
	return &walker{types: types, missing: make(map[string]bool)}
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
	if name != "" {
		if md := w.find(name, nil); md != nil {
			root := w.message(md, data, nil, 0)
			return Document{Root: root, Type: string(md.FullName()), Problems: w.problems, Missing: w.lacks}
		}
	}
	return Document{Root: w.unknownMessage(data, nil, 0), Problems: w.problems, Missing: w.lacks}
}

// find looks a message type up by its full name; nil if it is not known, which
// is a problem said once for each type.
func (w *walker) find(name string, at *path) protoreflect.MessageDescriptor {
	if md := w.types.Find(protoreflect.FullName(name)); md != nil {
		return md
	}
	if !w.missing[name] && len(w.missing) < maxDocumentProblems {
		w.missing[name], w.lacks = true, append(w.lacks, name)
		w.problem(at, "message type %q is not known", name)
	}
	return nil
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
