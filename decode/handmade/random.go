package handmade

import (
	"math"
	"math/rand/v2"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
)

// Fill sets fields of a message at random, with values near the bounds that
// constraints like to have.
func Fill(rnd *rand.Rand, m protoreflect.Message, depth int, want float64) {
	if m.Descriptor().FullName() == "google.protobuf.Any" {
		inner := &anypb.Any{}
		if rnd.Float64() < 0.7 && depth > 0 {
			names := []protoreflect.FullName{"envoy.config.core.v3.Metadata", "envoy.config.cluster.v3.CircuitBreakers", "envoy.config.route.v3.RouteAction", "google.protobuf.Struct"}
			mt, _ := protoregistry.GlobalTypes.FindMessageByName(names[rnd.IntN(len(names))])
			msg := mt.New()
			Fill(rnd, msg, depth-1, want)
			_ = anypb.MarshalFrom(inner, msg.Interface(), proto.MarshalOptions{AllowPartial: true, Deterministic: true})
		}
		proto.Merge(m.Interface(), inner)
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if rnd.Float64() > want || fd.Message() != nil && depth <= 0 && !fd.IsMap() {
			continue
		}
		switch {
		case fd.IsMap():
			mp := m.Mutable(fd).Map()
			for range rnd.IntN(4) {
				v := mp.NewValue()
				if fd.MapValue().Message() == nil {
					v = Pick(rnd, fd.MapValue())
				} else if depth > 0 {
					Fill(rnd, v.Message(), depth-1, want)
				}
				mp.Set(Pick(rnd, fd.MapKey()).MapKey(), v)
			}
		case fd.IsList():
			l := m.Mutable(fd).List()
			for range rnd.IntN(4) {
				if fd.Message() != nil {
					Fill(rnd, l.AppendMutable().Message(), depth-1, want)
				} else {
					l.Append(Pick(rnd, fd))
				}
			}
		case fd.Message() != nil:
			Fill(rnd, m.Mutable(fd).Message(), depth-1, want)
		default:
			m.Set(fd, Pick(rnd, fd))
		}
	}
}

// Pick is such a value.
func Pick(rnd *rand.Rand, fd protoreflect.FieldDescriptor) protoreflect.Value {
	numbers := []int64{0, 0, 1, 1, 2, -1, 10, 100, 65536, math.MaxInt32, 1 << 40}
	n := numbers[rnd.IntN(len(numbers))]
	words := []string{"", "a", "abc", "/path", "http://a.example/x", "UPPER-case", "a\nb", "\x00", "größe", strings.Repeat("x", 1100), "10.0.0.1", "x.mmdb"}
	word := words[rnd.IntN(len(words))]
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n%2 == 1)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rnd.IntN(fd.Enum().Values().Len() + 1)))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(n)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(n))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(n) / 4)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(n) / 4)
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(word))
	}
	return protoreflect.ValueOfString(word)
}
