package handmade

import (
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// Populate sets every field of a message once, messages within messages to a
// small depth. Of a oneof the field that variant picks is set.
func Populate(m protoreflect.Message, depth, variant int) {
	fields := m.Descriptor().Fields()
	switch m.Descriptor().FullName() {
	case "google.protobuf.Any":
		inner, _ := anypb.New(&clusterv3.Cluster{Name: "inner"})
		proto.Merge(m.Interface(), inner)
		return
	case "google.protobuf.Value":
		proto.Merge(m.Interface(), structpb.NewStringValue("v"))
		return
	case "google.protobuf.Duration", "google.protobuf.Timestamp":
		m.Set(fields.ByName("seconds"), protoreflect.ValueOfInt64(5))
		m.Set(fields.ByName("nanos"), protoreflect.ValueOfInt32(250_000_000))
		return
	case "google.protobuf.FieldMask":
		m.Mutable(fields.ByName("paths")).List().Append(protoreflect.ValueOfString("some_field.other"))
		return
	}
	for i := range fields.Len() {
		fd := fields.Get(i)
		if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() && o.Fields().Get(variant%o.Fields().Len()) != fd {
			continue
		}
		if fd.Message() != nil && depth <= 0 && !fd.IsMap() {
			continue
		}
		switch {
		case fd.IsMap():
			mp := m.Mutable(fd).Map()
			v := mp.NewValue()
			if fd.MapValue().Message() != nil {
				Populate(v.Message(), depth-1, variant)
			} else {
				v = scalar(fd.MapValue())
			}
			mp.Set(scalar(fd.MapKey()).MapKey(), v)
		case fd.IsList():
			l := m.Mutable(fd).List()
			for range 2 {
				if fd.Message() != nil {
					Populate(l.AppendMutable().Message(), depth-1, variant)
				} else {
					l.Append(scalar(fd))
				}
			}
		case fd.Message() != nil:
			Populate(m.Mutable(fd).Message(), depth-1, variant)
		default:
			m.Set(fd, scalar(fd))
		}
	}
}

func scalar(fd protoreflect.FieldDescriptor) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(fd.Enum().Values().Get(fd.Enum().Values().Len() - 1).Number())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(-7)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(7)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(-1 << 60)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(1 << 60)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(0.1)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(1e-9)
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{0, 1, 0xff})
	}
	return protoreflect.ValueOfString("some text")
}

// EachMessage calls f for every message type that is linked.
func EachMessage(f func(protoreflect.MessageType)) (n int) {
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		if !mt.Descriptor().IsMapEntry() {
			n++
			f(mt)
		}
		return true
	})
	return n
}

// Marshal is m in protobuf, its fields in the order in which all libraries write
// them.
func Marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
