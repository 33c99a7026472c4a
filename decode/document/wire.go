package document

import (
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// WireField is one field as it stands in the bytes of a message.
type WireField struct {
	At    int // where its tag begins, in bytes from the beginning of the message
	Head  int // bytes of the tag, and of the length if there is one
	Size  int // bytes of all of it
	Depth int // how many messages it is in, without the outermost

	Number int
	Wire   string // varint, i64, len, group or i32
	Name   string // "" where the type of the message around is not known
	Holds  string // full name of the message that it holds; "" if it holds none, or if that is not known
	Inner  bool   // its own fields follow
	Value  string // for people, as sent: of what holds fields, nothing
}

// maxWireText bounds what is shown of one text.
const maxWireText = 256

// Wire lists the fields of a message of the type with this full name, in the order
// of their bytes: at most so many. It says what is wrong with the bytes, "" if
// nothing is.
func (d Decoder) Wire(name string, data []byte, most int) (fields []WireField, problem string) {
	l := wireLister{types: d.Types, most: most}
	l.list(d.Types.Find(protoreflect.FullName(name)), data, 0, 0)
	return l.fields, l.problem
}

type wireLister struct {
	types   *descriptors.Types
	fields  []WireField
	most    int
	problem string
}

// list lists the fields of b, which begins at base.
func (l *wireLister) list(md protoreflect.MessageDescriptor, b []byte, base, depth int) {
	url := ""
	s := protoscan.Of(b)
	for s.Next() {
		if len(l.fields) >= l.most {
			return
		}
		e := entryAt(s)
		f := WireField{At: base + s.At, Size: s.Off - s.At, Depth: depth, Number: int(s.Num), Wire: wireWord(s.Type)}
		switch s.Type {
		case protowire.BytesType:
			f.Head = f.Size - len(e.Body)
		case protowire.Fixed32Type:
			f.Head = f.Size - 4
		case protowire.Fixed64Type:
			f.Head = f.Size - 8
		default:
			f.Head = protowire.SizeTag(s.Num)
		}
		var fd protoreflect.FieldDescriptor
		if md != nil {
			if fd = md.Fields().ByNumber(s.Num); fd != nil && !fits(fd, s.Type) {
				fd = nil
			}
		}
		var of protoreflect.MessageDescriptor
		if fd != nil {
			f.Name, of = string(fd.Name()), fd.Message()
		}
		if md != nil && md.FullName() == "google.protobuf.Any" {
			switch {
			case s.Num == 1:
				url = string(e.Body)
			case s.Num == 2:
				fd, of = nil, l.types.Find(protoreflect.FullName(xds.TypeName(url)))
			}
		}
		if of != nil {
			f.Holds = string(of.FullName())
		}
		f.Inner = s.Type == protowire.StartGroupType || s.Type == protowire.BytesType && l.inner(fd, of, e.Body)
		f.Inner = f.Inner && depth < maxDepth && len(e.Body) > 0
		if !f.Inner {
			f.Value = wireValue(fd, &e)
		}
		l.fields = append(l.fields, f)
		if f.Inner {
			l.list(of, e.Body, f.At+f.Head, depth+1)
		}
	}
	if s.Err != "" && l.problem == "" {
		l.problem = s.Err
		if base > 0 {
			l.problem += fmt.Sprintf(" of the message at %d", base)
		}
	}
}

// inner says whether a length-delimited value is to be read as a message.
func (l *wireLister) inner(fd protoreflect.FieldDescriptor, of protoreflect.MessageDescriptor, body []byte) bool {
	if of != nil {
		return true
	}
	if fd != nil || protoscan.IsPrintable(body) || !plausible(body) {
		return false
	}
	s := protoscan.Of(body)
	for s.Next() {
	}
	return s.Err == ""
}

func wireWord(t protowire.Type) string {
	switch t {
	case protowire.VarintType:
		return "varint"
	case protowire.Fixed64Type:
		return "i64"
	case protowire.BytesType:
		return "len"
	case protowire.StartGroupType:
		return "group"
	case protowire.Fixed32Type:
		return "i32"
	}
	return "?"
}

// wireValue writes a value that holds no fields.
func wireValue(fd protoreflect.FieldDescriptor, e *entry) string {
	kind := protoreflect.Kind(0)
	if fd != nil {
		kind = fd.Kind()
	}
	switch e.Type {
	case protowire.VarintType:
		return varintText(fd, kind, e.Uint)
	case protowire.Fixed32Type:
		if kind == protoreflect.FloatKind {
			return strconv.FormatFloat(float64(math.Float32frombits(uint32(e.Uint))), 'g', -1, 32)
		}
		return fmt.Sprintf("0x%08x", e.Uint)
	case protowire.Fixed64Type:
		if kind == protoreflect.DoubleKind {
			return strconv.FormatFloat(math.Float64frombits(e.Uint), 'g', -1, 64)
		}
		return fmt.Sprintf("0x%016x", e.Uint)
	}
	text := kind == protoreflect.StringKind || kind == 0
	if fd != nil && fd.IsList() && kind != protoreflect.StringKind && kind != protoreflect.BytesKind && fd.Message() == nil {
		return fmt.Sprintf("packed, %d bytes", len(e.Body))
	}
	if text && protoscan.IsText(e.Body) {
		s := string(e.Body[:min(len(e.Body), maxWireText)])
		if len(e.Body) > maxWireText {
			return strconv.Quote(s+"…") + fmt.Sprintf(" and %d bytes more", len(e.Body)-maxWireText)
		}
		return strconv.Quote(s)
	}
	if len(e.Body) == 0 {
		return "empty"
	}
	return fmt.Sprintf("%d bytes", len(e.Body))
}

func varintText(fd protoreflect.FieldDescriptor, kind protoreflect.Kind, v uint64) string {
	switch kind {
	case protoreflect.BoolKind:
		return strconv.FormatBool(v != 0)
	case protoreflect.EnumKind:
		if ev := fd.Enum().Values().ByNumber(protoreflect.EnumNumber(int32(v))); ev != nil {
			return fmt.Sprintf("%d %s", v, ev.Name())
		}
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return strconv.FormatInt(protowire.DecodeZigZag(v), 10)
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatUint(v, 10)
}
