package document

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// entry is one field as it stands on the wire. The body of a group is what is in
// it.
type entry struct {
	fd protoreflect.FieldDescriptor
	protoscan.Field
	raw []byte // with its tag
}

// room counts a node against the bound; false: there is no more.
func (w *walker) room(at *path) bool {
	w.nodes++
	if w.nodes > maxTreeNodes {
		w.tooMany(at)
	}
	return w.nodes <= maxTreeNodes
}

// tooMany says once that not all of the message is shown.
func (w *walker) tooMany(at *path) {
	if !w.full {
		w.full = true
		w.problem(at, "the message has more than %d values: the rest is not shown", maxTreeNodes)
	}
}

// message builds the tree of a message of a known type. It works on the wire
// format, so that what stands before an error is still shown.
func (w *walker) message(md protoreflect.MessageDescriptor, b []byte, at *path, depth int) Tree {
	if depth > maxDepth {
		w.problem(at, "nested deeper than %d messages: shown as bytes", maxDepth)
		if w.kept {
			tree := Tree{Kind: Object}
			w.keptTail(&tree, nil, b)
			return tree
		}
		return w.bytesTree(b)
	}
	if special := wellKnown[md.FullName()]; special != nil {
		return special(w, md, b, at, depth)
	}
	return w.fields(md, b, at, depth)
}

func (w *walker) fields(md protoreflect.MessageDescriptor, b []byte, at *path, depth int) Tree {
	known, unknown, rest := w.split(md, b, at)
	tree := Tree{Kind: Object}
	for i := 0; i < len(known); {
		n := i + 1
		for n < len(known) && known[n].Num == known[i].Num {
			n++
		}
		if !w.room(at) {
			break
		}
		fd := known[i].fd
		tree.add(string(fd.Name()), w.field(fd, known[i:n], at.field(string(fd.Name())), depth))
		i = n
	}
	if w.kept {
		w.keptTail(&tree, unknown, rest)
		return tree
	}
	if len(unknown) > 0 {
		tree.add("@unknown", w.unknownFields(unknown, at, depth))
	}
	if len(rest) > 0 {
		tree.add("@undecoded", w.bytesTree(rest))
	}
	return tree
}

// split reads the fields of a message, sorts those that its type knows by
// number, and returns what could not be read.
func (w *walker) split(md protoreflect.MessageDescriptor, b []byte, at *path) (known, unknown []entry, rest []byte) {
	fields := md.Fields()
	var winners map[int]protowire.Number // the member of each oneof that came last
	s := protoscan.Of(b)
	for s.Next() {
		// Fields of two bytes would take fifty times the memory of the message before
		// the first of them counts as a node.
		if !w.kept && len(known)+len(unknown) >= maxTreeNodes-w.nodes {
			w.tooMany(at)
			break
		}
		e := entryAt(s)
		fd := fields.ByNumber(e.Num)
		if fd == nil || !fits(fd, e.Type) || w.misses(fd, e.Body) {
			unknown = append(unknown, e)
			continue
		}
		e.fd = fd
		known = append(known, e)
		if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() {
			if winners == nil {
				winners = make(map[int]protowire.Number)
			}
			winners[o.Index()] = e.Num
		}
	}
	if s.Err != "" {
		w.problem(at, "%s", s.Err)
		rest = b[s.Off:]
	}
	if winners != nil {
		known = slices.DeleteFunc(known, func(e entry) bool {
			o := e.fd.ContainingOneof()
			return o != nil && !o.IsSynthetic() && winners[o.Index()] != e.Num
		})
	}
	slices.SortStableFunc(known, func(a, b entry) int { return cmp.Compare(a.Num, b.Num) })
	return known, unknown, rest
}

// entryAt is the field that the scanner is at.
func entryAt(s *protoscan.Scanner) entry {
	e := entry{Field: s.Field, raw: s.Raw()}
	if s.Type == protowire.StartGroupType {
		e.Body = s.Group()
	}
	return e
}

// fits says whether a field may come in a wire type. Repeated numbers may come
// packed or not, whatever the schema says.
func fits(fd protoreflect.FieldDescriptor, typ protowire.Type) bool {
	want := protoscan.WireType(fd.Kind())
	return typ == want || typ == protowire.BytesType && fd.IsList() && want != protowire.StartGroupType
}

// field builds the value of one field from all its entries.
func (w *walker) field(fd protoreflect.FieldDescriptor, es []entry, at *path, depth int) Tree {
	switch {
	case fd.IsMap():
		return w.mapField(fd, es, at, depth)
	case fd.IsList():
		list := Tree{Kind: Array}
		for _, e := range es {
			w.listItems(&list, fd, e, at, depth)
		}
		return list
	case fd.Message() != nil:
		// A message that comes in parts is their concatenation.
		body := es[0].Body
		if len(es) > 1 {
			body = slices.Clone(body)
			for _, e := range es[1:] {
				body = append(body, e.Body...)
			}
		}
		return w.message(fd.Message(), body, at, depth+1)
	}
	return w.scalar(fd, es[len(es)-1], at)
}

func (w *walker) listItems(list *Tree, fd protoreflect.FieldDescriptor, e entry, at *path, depth int) {
	item := at.item(len(list.Items))
	want := protoscan.WireType(fd.Kind())
	if fd.Message() != nil {
		if w.room(at) {
			list.Items = append(list.Items, w.message(fd.Message(), e.Body, item, depth+1))
		}
		return
	}
	if e.Type != protowire.BytesType || want == protowire.BytesType {
		if w.room(at) {
			list.Items = append(list.Items, w.scalar(fd, e, item))
		}
		return
	}
	for b := e.Body; len(b) > 0 && w.room(at); { // packed
		one, n := protoscan.Value(e.Num, want, b)
		if n < 0 {
			w.problem(at.item(len(list.Items)), "a packed value is cut off")
			return
		}
		list.Items = append(list.Items, w.scalar(fd, entry{Field: one}, item))
		b = b[n:]
	}
}

func (w *walker) mapField(fd protoreflect.FieldDescriptor, es []entry, at *path, depth int) Tree {
	obj := Tree{Kind: Object}
	index := make(map[string]int, len(es))
	for _, e := range es {
		if !w.room(at) {
			break
		}
		parts, _, _ := w.split(fd.Message(), e.Body, at)
		key, value := zero(fd.MapKey()), Tree{}
		valued := false
		for i := 0; i < len(parts); {
			n := i + 1
			for n < len(parts) && parts[n].Num == parts[i].Num {
				n++
			}
			if parts[i].Num == 1 {
				key = w.scalar(fd.MapKey(), parts[n-1], at)
			} else {
				value, valued = w.field(fd.MapValue(), parts[i:n], at.field(strconv.Quote(key.Text)), depth), true
			}
			i = n
		}
		if !valued {
			value = w.absent(fd.MapValue(), at, depth)
		}
		if i, dup := index[key.Text]; dup {
			obj.Members[i].Value = value
			continue
		}
		index[key.Text] = len(obj.Members)
		obj.add(key.Text, value)
	}
	slices.SortFunc(obj.Members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return obj
}

// absent is the value of a field that is not on the wire but must be shown.
func (w *walker) absent(fd protoreflect.FieldDescriptor, at *path, depth int) Tree {
	if fd.Message() != nil {
		return w.message(fd.Message(), nil, at, depth+1)
	}
	return zero(fd)
}

func zero(fd protoreflect.FieldDescriptor) Tree {
	switch fd.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind:
		return textTree("")
	case protoreflect.BoolKind:
		return boolTree(false)
	case protoreflect.EnumKind:
		return enumTree(fd.Enum(), 0)
	case protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.Sint64Kind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return textTree("0")
	}
	return numberTree("0")
}

func (w *walker) scalar(fd protoreflect.FieldDescriptor, e entry, at *path) Tree {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return boolTree(e.Uint != 0)
	case protoreflect.EnumKind:
		return enumTree(fd.Enum(), protoreflect.EnumNumber(int32(e.Uint)))
	case protoreflect.Int32Kind:
		return numberTree(strconv.FormatInt(int64(int32(e.Uint)), 10))
	case protoreflect.Sint32Kind:
		return numberTree(strconv.FormatInt(int64(int32(protowire.DecodeZigZag(e.Uint&math.MaxUint32))), 10))
	case protoreflect.Uint32Kind:
		return numberTree(strconv.FormatUint(uint64(uint32(e.Uint)), 10))
	case protoreflect.Int64Kind:
		return textTree(strconv.FormatInt(int64(e.Uint), 10))
	case protoreflect.Sint64Kind:
		return textTree(strconv.FormatInt(protowire.DecodeZigZag(e.Uint), 10))
	case protoreflect.Uint64Kind:
		return textTree(strconv.FormatUint(e.Uint, 10))
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		v := uint32(e.Uint)
		switch fd.Kind() {
		case protoreflect.FloatKind:
			return floatTree(float64(math.Float32frombits(v)), 32)
		case protoreflect.Sfixed32Kind:
			return numberTree(strconv.FormatInt(int64(int32(v)), 10))
		}
		return numberTree(strconv.FormatUint(uint64(v), 10))
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		v := e.Uint
		switch fd.Kind() {
		case protoreflect.DoubleKind:
			return floatTree(math.Float64frombits(v), 64)
		case protoreflect.Sfixed64Kind:
			return textTree(strconv.FormatInt(int64(v), 10))
		}
		return textTree(strconv.FormatUint(v, 10))
	case protoreflect.BytesKind:
		return base64Tree(e.Body)
	}
	if !utf8.Valid(e.Body) {
		w.problem(at, "the string is not valid UTF-8")
	}
	return textTree(string(e.Body))
}

func enumTree(ed protoreflect.EnumDescriptor, n protoreflect.EnumNumber) Tree {
	if ed.FullName() == "google.protobuf.NullValue" {
		return nullTree()
	}
	if v := ed.Values().ByNumber(n); v != nil {
		return textTree(string(v.Name()))
	}
	return numberTree(strconv.FormatInt(int64(n), 10))
}
