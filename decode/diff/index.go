package diff

import (
	"hash/maphash"
	"math/bits"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// place is what the types tell of a value: the message that an object is, or
// the list or map that a value is.
type place struct {
	message protoreflect.MessageDescriptor
	field   protoreflect.FieldDescriptor // of a list or a map
	any     bool                         // an object may say with "@type" what it is
}

const anyName = "google.protobuf.Any"

func placeOf(md protoreflect.MessageDescriptor) place {
	return place{message: md, any: md != nil && md.FullName() == anyName}
}

// enter is the place of an object, once its own word is heard.
func (p place) enter(t *document.Tree, types *descriptors.Types) place {
	if typ := typeIn(t); p.any && typ != "" {
		return place{message: types.Find(protoreflect.FullName(xds.TypeName(typ)))}
	}
	return p
}

// member is the place of a member.
func (p place) member(name string) place {
	switch {
	case p.field != nil && p.field.IsMap():
		return placeOf(p.field.MapValue().Message())
	case p.message == nil || name == "" || name[0] == '@':
		return place{}
	}
	fd := p.message.Fields().ByName(protoreflect.Name(name))
	switch {
	case fd == nil:
		return place{}
	case fd.IsList() || fd.IsMap():
		return place{field: fd}
	case fd.Message() == nil:
		return place{}
	}
	return placeOf(fd.Message())
}

// item is the place of an item.
func (p place) item() place {
	if p.field == nil || !p.field.IsList() || p.field.Message() == nil {
		return place{}
	}
	return placeOf(p.field.Message())
}

// list says what is special about a list; nil: nothing.
func (p place) list() *listRule {
	if p.field == nil {
		return nil
	}
	return lists[p.field.FullName()]
}

// index holds what is worked out of one tree in a single pass: for each value,
// in the order in which they are written, a hash that is equal for equal
// meaning, and of how many values it consists.
type index struct {
	hash []uint64
	size []int32 // itself included
}

// indexer makes indexes that can be compared with each other. The seed is one
// that nobody outside can know, so that different values never have the same
// hash but by an unlikely accident.
type indexer struct {
	types  *descriptors.Types
	seed   maphash.Seed
	ignore map[protoreflect.FullName][]string // fields, by their messages
}

func (x *indexer) of(t *document.Tree, p place) *index {
	n := countValues(t)
	ix := &index{hash: make([]uint64, 0, n), size: make([]int32, 0, n)}
	x.add(ix, t, p)
	return ix
}

func countValues(t *document.Tree) int {
	n := 1
	for i := range t.Members {
		n += countValues(&t.Members[i].Value)
	}
	for i := range t.Items {
		n += countValues(&t.Items[i])
	}
	return n
}

func (x *indexer) add(ix *index, t *document.Tree, p place) uint64 {
	at := len(ix.hash)
	ix.hash, ix.size = append(ix.hash, 0), append(ix.size, 0)
	var h uint64
	switch t.Kind {
	case document.Object:
		p = p.enter(t, x.types)
		for i := range t.Members {
			m := &t.Members[i]
			var in place
			if m.Value.Kind <= document.Array {
				in = p.member(m.Name)
			}
			one := mix(x.add(ix, &m.Value, in) + 3*maphash.String(x.seed, m.Name))
			if !x.ignored(p, m.Name) {
				h += one // in any order
			}
		}
	case document.Array:
		set, item := false, p.item()
		if rule := p.list(); rule != nil {
			set = rule.set
		}
		for i := range t.Items {
			one := mix(x.add(ix, &t.Items[i], item))
			if !set {
				h = mix(h ^ one)
			} else {
				h += one
			}
		}
		h += uint64(len(t.Items))
	default:
		h = maphash.String(x.seed, t.Text)
	}
	h = mix(h + uint64(t.Kind)*0x9E3779B97F4A7C15)
	ix.hash[at], ix.size[at] = h, int32(len(ix.hash)-at)
	return h
}

func (x *indexer) ignored(p place, name string) bool {
	return len(x.ignore) > 0 && p.message != nil && slices.Contains(x.ignore[p.message.FullName()], name)
}

// mix makes each bit of the result depend on each bit of v.
func mix(v uint64) uint64 {
	hi, lo := bits.Mul64(v^0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
	v = hi ^ lo
	return (v ^ v>>29) * 0xBF58476D1CE4E5B9
}

// value is a tree and where it stands in its index.
type value struct {
	tree *document.Tree
	at   int32
}

func (ix *index) hashOf(v value) uint64 { return ix.hash[v.at] }
func (ix *index) sizeOf(v value) int    { return int(ix.size[v.at]) }

// items are the items of an array, or the values of the members of an object.
func (ix *index) items(v value) []value {
	n := len(v.tree.Items) + len(v.tree.Members)
	out := make([]value, n)
	at := v.at + 1
	for i := range n {
		if v.tree.Kind == document.Array {
			out[i] = value{&v.tree.Items[i], at}
		} else {
			out[i] = value{&v.tree.Members[i].Value, at}
		}
		at += ix.size[at]
	}
	return out
}

// get finds the member that a path of names leads to.
func (ix *index) get(v value, path []string) (value, bool) {
	for _, name := range path {
		i := -1
		if v.tree.Kind == document.Object {
			i = slices.IndexFunc(v.tree.Members, func(m document.Member) bool { return m.Name == name })
		}
		if i < 0 {
			return v, false
		}
		at := v.at + 1
		for range i {
			at += ix.size[at]
		}
		v = value{&v.tree.Members[i].Value, at}
	}
	return v, true
}
