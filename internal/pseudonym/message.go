package pseudonym

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// maxDepth bounds the nesting that is followed; what is deeper is opaque.
const maxDepth = 128

// messageType is the descriptor of a type, or nil.
func messageType(name string) protoreflect.MessageDescriptor {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil
	}
	md, _ := d.(protoreflect.MessageDescriptor)
	return md
}

// message maps the texts in a message of a known type. It works on the wire
// format: fields keep their order and their way of being written, and what is
// broken stays broken.
func (n *Names) message(md protoreflect.MessageDescriptor, b []byte, depth int) []byte {
	if depth > maxDepth {
		return n.opaque(b)
	}
	if md.FullName() == "google.protobuf.Any" {
		return n.any(b, depth)
	}
	if md.Name() == "TypedStruct" && !n.typed {
		n.typed = true
		defer func() { n.typed = false }()
	}
	out := make([]byte, 0, len(b)+len(b)/16)
	s := protoscan.Of(b)
	for s.Next() {
		fd := md.Fields().ByNumber(s.Num)
		body, ok := s.Bytes()
		switch {
		case s.Type == protowire.StartGroupType: // in no type that is linked
		case s.Type == protowire.Fixed64Type && md.FullName() == "google.protobuf.Value" && !n.typed:
			out = append(out, n.number(s.Raw())...)
		case !ok, ok && fd != nil && !holdsBytes(fd.Kind()):
			out = append(out, s.Raw()...)
		case fd == nil:
			out = n.put(out, s, n.opaque(body))
		case n.vocab.allowed[fd.FullName()][string(body)]:
			out = append(out, s.Raw()...)
		case fd.Kind() == protoreflect.MessageKind:
			out = n.put(out, s, n.message(fd.Message(), body, depth+1))
		case fd.Kind() == protoreflect.BytesKind:
			out = n.put(out, s, n.bytes(body, depth+1))
		default:
			out = n.put(out, s, []byte(n.text(string(body), placeOf(md, fd), depth)))
		}
	}
	return append(out, n.broken(s)...)
}

func holdsBytes(k protoreflect.Kind) bool {
	return k == protoreflect.MessageKind || k == protoreflect.BytesKind || k == protoreflect.StringKind
}

// number maps a number in metadata, such as that of an account. raw is its field.
func (n *Names) number(raw []byte) []byte {
	v := math.Float64frombits(binary.LittleEndian.Uint64(raw[len(raw)-8:]))
	digits := strconv.FormatFloat(v, 'f', -1, 64)
	if v < 1e5 || v >= 1e15 || v != math.Trunc(v) {
		return raw // a share, a coordinate, or too large to be one
	}
	f, _ := strconv.ParseFloat(n.text(digits, inValue, 0), 64)
	if n.leak != nil {
		return raw
	}
	return binary.LittleEndian.AppendUint64(slices.Clone(raw[:len(raw)-8]), math.Float64bits(f))
}

// put appends the field at which s stands, with another body.
func (n *Names) put(out []byte, s *protoscan.Scanner, body []byte) []byte {
	out = protowire.AppendTag(out, s.Num, protowire.BytesType)
	return protowire.AppendBytes(out, body)
}

// broken is what stands for the end of a message that cannot be read: a beginning
// of a field, as broken as that was.
func (n *Names) broken(s *protoscan.Scanner) []byte {
	if s.Err == "" {
		return nil
	}
	rest := s.Rest()
	num, typ, size := protowire.ConsumeTag(rest)
	if size < 0 || typ != protowire.BytesType {
		return []byte{byte(protowire.EndGroupType)} // field 0, which there is not
	}
	claimed, m := protowire.ConsumeVarint(rest[size:])
	if m < 0 {
		return append(protowire.AppendTag(nil, num, typ), 0x80)
	}
	out := protowire.AppendVarint(protowire.AppendTag(nil, num, typ), claimed)
	return append(out, make([]byte, len(rest)-size-m)...)
}

// placeOf says what a field of text stands for.
func placeOf(md protoreflect.MessageDescriptor, fd protoreflect.FieldDescriptor) place {
	name := string(fd.Name())
	switch {
	case md.FullName() == "google.protobuf.Struct.FieldsEntry" && fd.Number() == 1:
		return inKey
	case md.FullName() == "google.protobuf.FieldMask":
		return inField
	case strings.HasPrefix(name, "user_agent_"):
		return inAgent
	case md.Name() == "Extension" && (name == "name" || name == "category"):
		return inAgent
	case md.FullName() == "google.rpc.Status", name == "details", name == "error_message":
		return inProse
	case name == "regex", strings.HasSuffix(name, "_regex"):
		return inPattern
	case strings.Contains(name, "header"), strings.Contains(string(md.Name()), "Header") && (name == "key" || name == "name"):
		return inHeader
	}
	return inValue
}

// any maps an Any. The value of a type that is not known becomes opaque.
func (n *Names) any(b []byte, depth int) []byte {
	var url string
	for s := protoscan.Of(b); s.Next(); {
		if body, ok := s.Bytes(); ok && s.Num == 1 {
			url = string(body)
		}
	}
	md := messageType(xds.TypeName(url))
	var out []byte
	s := protoscan.Of(b)
	for s.Next() {
		body, ok := s.Bytes()
		switch {
		case !ok:
			if s.Type != protowire.StartGroupType {
				out = append(out, s.Raw()...)
			}
		case s.Num == 1:
			out = n.put(out, s, []byte(n.text(string(body), inValue, depth)))
		case s.Num == 2 && md != nil:
			out = n.put(out, s, n.message(md, body, depth+1))
		case s.Num == 2:
			out = n.put(out, s, n.unknown(body))
		default:
			out = n.put(out, s, n.opaque(body))
		}
	}
	return append(out, n.broken(s)...)
}

// unknown stands for a message of a type that is not known: it has one field, of
// bytes that cannot be read.
func (n *Names) unknown(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	if n.leak != nil || !n.settled {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), n.opaque(b)[:min(len(b), 16)])
}
