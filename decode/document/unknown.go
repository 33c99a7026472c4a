package document

import (
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// unknownMessage shows a message without a type.
func (w *walker) unknownMessage(b []byte, at *path, depth int) Tree {
	tree := Tree{Kind: Object}
	if len(b) == 0 {
		return tree
	}
	if fields, ok := w.guess(b, at, depth); ok {
		tree.add("@unknown", fields)
		return tree
	}
	tree.add("@value", w.bytesTree(b))
	return tree
}

// guess reads b as fields without names. It is false if b is no message.
func (w *walker) guess(b []byte, at *path, depth int) (Tree, bool) {
	var es []entry
	s := protoscan.Of(b)
	for s.Next() {
		if len(es) >= maxTreeNodes-w.nodes { // as in split
			w.tooMany(at)
			return Tree{}, false
		}
		es = append(es, entryAt(s))
	}
	if s.Err != "" || depth > maxDepth {
		return Tree{}, false
	}
	return w.unknownFields(es, at, depth), true
}

// unknownFields shows fields by number, in the order in which each came first;
// a number that came more than once is an array.
func (w *walker) unknownFields(es []entry, at *path, depth int) Tree {
	obj := Tree{Kind: Object}
	index := make(map[protowire.Number]int)
	for _, e := range es {
		if !w.room(at) {
			break
		}
		v := w.unknownValue(e, at, depth)
		i, again := index[e.Num]
		if !again {
			index[e.Num] = len(obj.Members)
			obj.add(strconv.Itoa(int(e.Num)), Tree{Kind: Array, Items: []Tree{v}})
			continue
		}
		list := &obj.Members[i].Value
		list.Items = append(list.Items, v)
	}
	for i := range obj.Members {
		if v := &obj.Members[i].Value; len(v.Items) == 1 {
			*v = v.Items[0]
		}
	}
	return obj
}

func (w *walker) unknownValue(e entry, at *path, depth int) Tree {
	switch e.Type {
	case protowire.VarintType:
		if e.Uint > 1<<53 {
			return textTree(strconv.FormatUint(e.Uint, 10))
		}
		return numberTree(strconv.FormatUint(e.Uint, 10))
	case protowire.Fixed32Type:
		return textTree(fmt.Sprintf("0x%08x", e.Uint))
	case protowire.Fixed64Type:
		return textTree(fmt.Sprintf("0x%016x", e.Uint))
	}
	if e.Type == protowire.BytesType && protoscan.IsPrintable(e.Body) {
		return textTree(string(e.Body))
	}
	if plausible(e.Body) {
		if fields, ok := w.guess(e.Body, at, depth+1); ok {
			return fields
		}
	}
	return w.bytesTree(e.Body)
}

// plausible says whether a message that could be read may be meant as one:
// bytes that happen to parse mostly have absurd field numbers.
func plausible(b []byte) bool {
	for s := protoscan.Of(b); s.Next(); {
		if s.Num > 1<<14 {
			return false
		}
	}
	return true
}

// bytesTree shows bytes of which nothing is known.
func (w *walker) bytesTree(b []byte) Tree {
	if protoscan.IsText(b) {
		return textTree(string(b))
	}
	obj := Tree{Kind: Object}
	obj.add("@bytes", base64Tree(b))
	return obj
}
