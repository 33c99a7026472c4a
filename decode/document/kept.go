package document

import (
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Kept is Message for a text that is to be read again: what cannot be decoded
// is not shown as it looks, but stands as its bytes in base64. lenient.Exact makes
// a message of it that says the same:
//
//	"@unknown", "@undecoded"   in a message: fields that it does not know, and its end
//	                           from where it makes no sense
//	"@value"                   the value of an Any of unknown type
//	"@any"                     an Any that is none
func Kept(name string, data []byte) Document {
	w := newWalker(nil)
	w.kept = true
	return w.document(name, data)
}

// misses says whether a field has to be kept as its bytes.
func (w *walker) misses(fd protoreflect.FieldDescriptor, body []byte) bool {
	return w.kept && fd.Kind() == protoreflect.StringKind && !utf8.Valid(body)
}

// keptAny is an Any that cannot be expanded; false if it can.
func (w *walker) keptAny(b []byte) (Tree, bool) {
	url, value, odd := "", []byte(nil), false
	s := protoscan.Of(b)
	for s.Next() {
		switch body, ok := s.Bytes(); {
		case ok && s.Num == 1 && url == "":
			url = string(body)
		case ok && s.Num == 2 && value == nil:
			value = body
		default:
			odd = true
		}
	}
	tree := Tree{Kind: Object}
	switch {
	case s.Err != "" || odd || !utf8.ValidString(url):
		tree.add("@any", base64Tree(b))
		return tree, true
	case len(b) > 0 && w.find(xds.TypeName(url), nil) == nil:
		tree.add("@type", textTree(url))
		tree.add("@value", base64Tree(value))
		return tree, true
	}
	return tree, false
}

// keptTail are the fields that a message does not know, and what follows them.
func (w *walker) keptTail(tree *Tree, unknown []entry, rest []byte) {
	var b []byte
	for _, e := range unknown {
		b = append(b, e.raw...)
	}
	if len(b) > 0 {
		tree.add("@unknown", base64Tree(b))
	}
	if len(rest) > 0 {
		tree.add("@undecoded", base64Tree(rest))
	}
}
