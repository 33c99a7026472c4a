package inspect_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/decode/constraints"
	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/internal/unmarshal"
)

// isValid has the generated code judge a message, and that of every Any in it. Where
// there is none, package constraints does, whose tests compare it with that of version 2.
func isValid(m protoreflect.Message) bool {
	if v, ok := m.Interface().(interface{ ValidateAll() error }); ok && v.ValidateAll() != nil {
		return false
	} else if !ok && len(constraints.New().Violations(m, 1)) > 0 {
		return false
	}
	return validAnys(m)
}

// asAny is a message as an Any, nil if it is none. In a type without generated code
// it is a dynamic message.
func asAny(m protoreflect.Message) *anypb.Any {
	if m.Descriptor().FullName() != "google.protobuf.Any" {
		return nil
	}
	fields := m.Descriptor().Fields()
	return &anypb.Any{TypeUrl: m.Get(fields.ByName("type_url")).String(), Value: m.Get(fields.ByName("value")).Bytes()}
}

func validAnys(m protoreflect.Message) bool {
	if a := asAny(m); a != nil {
		inner, err := a.UnmarshalNew()
		return err != nil || isValid(inner.ProtoReflect())
	}
	ok := true
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				ok = ok && (fd.MapValue().Message() == nil || validAnys(v.Message()))
				return ok
			})
		case fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				ok = ok && validAnys(v.List().Get(i).Message())
			}
		default:
			ok = validAnys(v.Message())
		}
		return ok
	})
	return ok
}

// shuffle encodes a message anew: fields and map entries in any order, members
// of lists packed or not, and values that a later one replaces.
func shuffle(rnd *rand.Rand, m protoreflect.Message) []byte {
	if a, ok := m.Interface().(*anypb.Any); ok {
		value := a.Value
		if inner, err := a.UnmarshalNew(); err == nil {
			value = shuffle(rnd, inner.ProtoReflect())
		}
		b := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), value)
		return protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), a.TypeUrl)
	}
	var parts [][]byte
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		one := func(fd protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
			if fd.Message() != nil {
				return protowire.AppendBytes(protowire.AppendTag(nil, fd.Number(), protowire.BytesType), shuffle(rnd, v.Message()))
			}
			return appendScalar(protowire.AppendTag(nil, fd.Number(), wireOf(fd)), fd, v)
		}
		var part []byte
		switch {
		case fd.IsMap():
			var entries [][]byte
			v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				pair := [][]byte{one(fd.MapKey(), k.Value()), one(fd.MapValue(), v)}
				rnd.Shuffle(2, func(i, j int) { pair[i], pair[j] = pair[j], pair[i] })
				entries = append(entries, protowire.AppendBytes(protowire.AppendTag(nil, fd.Number(), protowire.BytesType), append(pair[0], pair[1]...)))
				return true
			})
			rnd.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
			for _, e := range entries {
				part = append(part, e...)
			}
		case fd.IsList():
			for i := range v.List().Len() {
				item := v.List().Get(i)
				if fd.Message() == nil && wireOf(fd) != protowire.BytesType && rnd.IntN(2) == 0 {
					part = protowire.AppendBytes(protowire.AppendTag(part, fd.Number(), protowire.BytesType), appendScalar(nil, fd, item))
				} else {
					part = append(part, one(fd, item)...)
				}
			}
		case fd.Message() != nil && rnd.IntN(4) == 0: // in two parts
			whole := shuffle(rnd, v.Message())
			cut := 0
			for rest := whole; len(rest) > 0 && rnd.IntN(3) > 0; rest = whole[cut:] {
				_, _, n := protowire.ConsumeField(rest)
				cut += n
			}
			part = protowire.AppendBytes(protowire.AppendTag(part, fd.Number(), protowire.BytesType), whole[:cut])
			part = protowire.AppendBytes(protowire.AppendTag(part, fd.Number(), protowire.BytesType), whole[cut:])
		default:
			if o := fd.ContainingOneof(); o != nil && rnd.IntN(3) == 0 { // another member, replaced
				other := o.Fields().Get(rnd.IntN(o.Fields().Len()))
				if other != fd && other.Message() == nil {
					part = one(other, m.NewField(other))
				}
			} else if fd.Message() == nil && rnd.IntN(4) == 0 {
				part = one(fd, handmade.Pick(rnd, fd))
			}
			part = append(part, one(fd, v)...)
		}
		parts = append(parts, part)
		return true
	})
	rnd.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func wireOf(fd protoreflect.FieldDescriptor) protowire.Type {
	switch fd.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	}
	return protowire.VarintType
}

func appendScalar(b []byte, fd protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protowire.AppendVarint(b, protowire.EncodeBool(v.Bool()))
	case protoreflect.EnumKind:
		return protowire.AppendVarint(b, uint64(v.Enum()))
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return protowire.AppendVarint(b, uint64(v.Int()))
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return protowire.AppendVarint(b, protowire.EncodeZigZag(v.Int()))
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		return protowire.AppendVarint(b, v.Uint())
	case protoreflect.Fixed32Kind:
		return protowire.AppendFixed32(b, uint32(v.Uint()))
	case protoreflect.Sfixed32Kind:
		return protowire.AppendFixed32(b, uint32(v.Int()))
	case protoreflect.FloatKind:
		return protowire.AppendFixed32(b, math.Float32bits(float32(v.Float())))
	case protoreflect.Fixed64Kind:
		return protowire.AppendFixed64(b, v.Uint())
	case protoreflect.Sfixed64Kind:
		return protowire.AppendFixed64(b, uint64(v.Int()))
	case protoreflect.DoubleKind:
		return protowire.AppendFixed64(b, math.Float64bits(v.Float()))
	case protoreflect.BytesKind:
		return protowire.AppendBytes(b, v.Bytes())
	}
	return protowire.AppendString(b, v.String())
}

// Whatever a message of any type holds: the verdict on its constraints is that
// of the generated code, and the hash is that of its content.
func TestInspectEveryType(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	in := inspect.New(nil)
	valid, invalid := 0, 0
	handmade.EachMessage(func(mt protoreflect.MessageType) {
		if mt.Descriptor().ParentFile().Syntax() == protoreflect.Proto2 {
			return // descriptors, with enums that are closed
		}
		name := mt.Descriptor().FullName()
		url := "type.googleapis.com/" + string(name)
		for range 4 {
			msg := mt.New()
			handmade.Fill(rnd, msg, 1+rnd.IntN(4), rnd.Float64())
			wire, err := proto.MarshalOptions{AllowPartial: true}.Marshal(msg.Interface())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			f := in.Inspect(url, wire, false)
			if f.Undecodable != "" || !f.Known {
				t.Fatalf("%s: %+v", name, f)
			}
			if want := isValid(msg); want != (len(f.Invalid) == 0) {
				var err error
				if v, ok := msg.Interface().(interface{ ValidateAll() error }); ok {
					err = v.ValidateAll()
				}
				t.Fatalf("%s: valid %v (%v), but %q: %x", name, want, err, f.Invalid, wire)
			} else if want {
				valid++
			} else {
				invalid++
			}
			again := shuffle(rnd, msg)
			other := mt.New().Interface()
			if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(again, other); err != nil || !sameMessage(msg.Interface(), other) {
				t.Fatalf("%s: the test is wrong: %v\n%v\n%v", name, err, msg, other)
			}
			g := in.Inspect(url, again, false)
			if f.Hash != g.Hash {
				t.Fatalf("%s: the order of its fields changes the hash:\n%x\n%x", name, wire, again)
			}
			handmade.Fill(rnd, other.ProtoReflect(), 2, 0.2)
			changed, _ := proto.MarshalOptions{AllowPartial: true}.Marshal(other)
			if h := in.Inspect(url, changed, false); (h.Hash == f.Hash) != sameMessage(msg.Interface(), other) {
				t.Fatalf("%s: equal hashes %v\n%v\n%v", name, h.Hash == f.Hash, msg, other)
			}
		}
	})
	if valid < 1000 || invalid < 1000 {
		t.Errorf("%d valid, %d invalid", valid, invalid)
	}
}

// sameMessage compares messages, and those in an Any as messages, too.
func sameMessage(a, b proto.Message) bool {
	return string(canonical(a.ProtoReflect())) == string(canonical(b.ProtoReflect()))
}

func canonical(m protoreflect.Message) []byte {
	m = proto.Clone(m.Interface()).ProtoReflect()
	var expand func(m protoreflect.Message)
	expand = func(m protoreflect.Message) {
		if a := asAny(m); a != nil {
			if inner, err := a.UnmarshalNew(); err == nil {
				m.Set(m.Descriptor().Fields().ByName("value"), protoreflect.ValueOfBytes(canonical(inner.ProtoReflect())))
			}
			return
		}
		m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case fd.IsMap() && fd.MapValue().Message() != nil:
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { expand(v.Message()); return true })
			case fd.IsMap() || fd.Message() == nil:
			case fd.IsList():
				for i := range v.List().Len() {
					expand(v.List().Get(i).Message())
				}
			default:
				expand(v.Message())
			}
			return true
		})
	}
	expand(m)
	b, _ := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(m.Interface())
	return b
}

// What the generated code cannot read is undecodable, and nothing else is.
func checkUndecodable(t testing.TB, in *inspect.Inspector, mt protoreflect.MessageType, wire []byte) {
	t.Helper()
	f := in.Inspect("a/"+string(mt.Descriptor().FullName()), wire, false)
	msg := mt.New()
	err := unmarshal.With(proto.UnmarshalOptions{AllowPartial: true}, wire, msg.Interface())
	if err != nil && strings.HasPrefix(err.Error(), "cannot read ") {
		return // it would have panicked: it cannot say what is right
	}
	if err != nil && f.Undecodable == "" {
		t.Fatalf("%s %x: decodes, but %v", mt.Descriptor().FullName(), wire, err)
	}
	if err == nil && f.Undecodable != "" && !hasBrokenAny(msg) && !strings.Contains(f.Undecodable, "deeper") {
		t.Fatalf("%s %x: %s", mt.Descriptor().FullName(), wire, f.Undecodable)
	}
}

func hasBrokenAny(m protoreflect.Message) bool {
	if a := asAny(m); a != nil {
		mt, err := protoregistry.GlobalTypes.FindMessageByURL(a.TypeUrl)
		if err != nil {
			return false
		}
		inner := mt.New()
		return unmarshal.With(proto.UnmarshalOptions{AllowPartial: true}, a.Value, inner.Interface()) != nil || hasBrokenAny(inner)
	}
	broken := false
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap() && fd.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				broken = broken || hasBrokenAny(v.Message())
				return true
			})
		case fd.IsMap() || fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				broken = broken || hasBrokenAny(v.List().Get(i).Message())
			}
		default:
			broken = broken || hasBrokenAny(v.Message())
		}
		return !broken
	})
	return broken
}

func TestInspectDamage(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	in := inspect.New(nil)
	handmade.EachMessage(func(mt protoreflect.MessageType) {
		msg := mt.New()
		handmade.Fill(rnd, msg, 3, 0.3)
		wire, _ := proto.MarshalOptions{AllowPartial: true}.Marshal(msg.Interface())
		for range 30 {
			if len(wire) == 0 {
				break
			}
			damaged := append([]byte(nil), wire...)
			for range 1 + rnd.IntN(3) {
				damaged[rnd.IntN(len(damaged))] = byte(rnd.IntN(256))
			}
			if rnd.IntN(2) == 0 {
				damaged = damaged[:rnd.IntN(len(damaged))]
			}
			checkUndecodable(t, in, mt, damaged)
		}
	})
}

// What a Masker leaves of a resource is not taken for damage.
func TestInspectMasked(t *testing.T) {
	k := mask.New()
	in := inspect.New(nil)
	rnd := rand.New(rand.NewPCG(5, 6))
	changed := 0
	handmade.EachMessage(func(mt protoreflect.MessageType) {
		for variant := range 4 {
			msg := mt.New()
			if variant%2 == 0 {
				handmade.Populate(msg, 3, variant)
			} else {
				handmade.Fill(rnd, msg, 3, 0.3)
			}
			wire, err := proto.Marshal(&discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{packed(t, msg.Interface())}})
			if err != nil {
				t.Fatal(err)
			}
			masked := k.Content(wire)
			var resp discoveryv3.DiscoveryResponse
			if err := proto.Unmarshal(masked, &resp); err != nil {
				t.Fatal(err)
			}
			if string(masked) != string(wire) {
				changed++
			}
			f := in.Inspect(resp.Resources[0].TypeUrl, resp.Resources[0].Value, true)
			if f.Undecodable != "" || len(f.Invalid) > 0 {
				t.Fatalf("%s: %+v", mt.Descriptor().FullName(), f)
			}
		}
	})
	if changed < 100 {
		t.Errorf("only %d messages were masked", changed)
	}
}

func FuzzInspect(f *testing.F) {
	types := []string{
		"envoy.config.listener.v3.Listener", "envoy.api.v2.Listener", "envoy.config.cluster.v3.Cluster", "envoy.api.v2.Cluster",
		"envoy.config.route.v3.RouteConfiguration", "envoy.config.endpoint.v3.ClusterLoadAssignment", "envoy.service.runtime.v3.Runtime",
		"envoy.config.route.v3.ScopedRouteConfiguration", "envoy.extensions.transport_sockets.tls.v3.Secret", "google.protobuf.Any", "x.y.Z",
	}
	f.Add(uint8(0), fromJSON(f, &listenerv3.Listener{}, sidecarListener).Value)
	f.Add(uint8(2), fromJSON(f, &clusterv3.Cluster{}, sidecarCluster).Value)
	f.Add(uint8(2), []byte(sidecarCluster))
	f.Add(uint8(6), []byte("\x0a\x01x\x12\x06\x0a\x04\x0a\x00\x12\x00"))
	in := inspect.New(nil)
	f.Fuzz(func(t *testing.T, typ uint8, body []byte) {
		name := types[int(typ)%len(types)]
		before := string(body)
		for _, masked := range []bool{false, true} {
			got, again := in.Inspect("a/"+name, body, masked), in.Inspect("a/"+name, body, masked)
			if !reflect.DeepEqual(got, again) {
				t.Errorf("twice is not the same:\n%+v\n%+v", got, again)
			}
			if len(got.Unknown) > 8 || len(got.Deprecated) > 8 || len(got.Invalid) > 4 {
				t.Errorf("too much: %+v", got)
			}
		}
		if string(body) != before {
			t.Error("Inspect wrote to its input")
		}
		if mt, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name)); err == nil && (len(body) == 0 || body[0] != '{') {
			checkUndecodable(t, in, mt, body)
		}
	})
}

// Every field of the API that sounds like the name of a cluster is one that
// references are taken from, or is known to be something else.
func TestInspectKnowsFieldsWithClusters(t *testing.T) {
	other := []string{
		"envoy.admin.", "envoy.data.", "envoy.service.", "envoy.config.bootstrap.", "envoy.config.metrics.", "istio.",
		"envoy.api.v2.ClusterLoadAssignment.", "envoy.config.endpoint.v3.ClusterLoadAssignment.", // the name of the resource
		"envoy.api.v2.endpoint.ClusterStats.", "envoy.config.endpoint.v3.ClusterStats.",
		"envoy.api.v2.core.Node.cluster", "envoy.config.core.v3.Node.cluster",
		"envoy.config.filter.http.fault.v2.HTTPFault.", "envoy.extensions.filters.http.fault.v3.HTTPFault.", // conditions
		"envoy.config.route.v3.RouteAction.cluster_specifier_plugin",
		"envoy.extensions.clusters.dynamic_modules.v3.ClusterConfig.cluster_name", // of a module
		"envoy.extensions.filters.http.cache_v2.v3.CacheV2Config.override_upstream_cluster",
		"envoy.extensions.filters.network.kafka_mesh.", // names of its own
		"envoy.extensions.filters.network.reverse_tunnel.", "envoy.extensions.reverse_tunnel_reporters.",
	}
	in := inspect.New(nil)
	names := 0
	handmade.EachMessage(func(mt protoreflect.MessageType) {
		fields := mt.Descriptor().Fields()
		for i := range fields.Len() {
			fd := fields.Get(i)
			name := string(fd.FullName())
			weighted := strings.HasSuffix(name, ".WeightedCluster.ClusterWeight.name")
			if fd.Kind() != protoreflect.StringKind || fd.IsMap() || strings.Contains(string(fd.Name()), "header") || !weighted && !strings.Contains(string(fd.Name()), "cluster") {
				continue
			}
			msg := mt.New()
			if fd.IsList() {
				msg.Mutable(fd).List().Append(protoreflect.ValueOfString("c1"))
			} else {
				msg.Set(fd, protoreflect.ValueOfString("c1"))
			}
			f := in.Inspect("a/"+string(mt.Descriptor().FullName()), packed(t, msg.Interface()).Value, false)
			known := slices.ContainsFunc(other, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
			if found := len(f.Refs) == 1 && f.Refs[0].Type == "CDS" && f.Refs[0].Name == "c1" && f.Refs[0].Use != inspect.UseConfig; found == known {
				t.Errorf("%s: found %v: %+v", name, found, f.Refs)
			} else if found {
				names++
			}
		}
	})
	if names != 57 {
		t.Errorf("%d fields name clusters", names)
	}
}
