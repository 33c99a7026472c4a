package types_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

const adsPath = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"

// populate sets every field of a message once, messages within messages to a
// small depth. Of a oneof the field that variant picks is set.
func populate(m protoreflect.Message, depth, variant int) {
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
				populate(v.Message(), depth-1, variant)
			} else {
				v = scalar(fd.MapValue())
			}
			mp.Set(scalar(fd.MapKey()).MapKey(), v)
		case fd.IsList():
			l := m.Mutable(fd).List()
			for range 2 {
				if fd.Message() != nil {
					populate(l.AppendMutable().Message(), depth-1, variant)
				} else {
					l.Append(scalar(fd))
				}
			}
		case fd.Message() != nil:
			populate(m.Mutable(fd).Message(), depth-1, variant)
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

// eachMessage calls f for every message type that is linked.
func eachMessage(f func(protoreflect.MessageType)) (n int) {
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		if !mt.Descriptor().IsMapEntry() {
			n++
			f(mt)
		}
		return true
	})
	return n
}

// Every message type of the API, in an Any of a response, decodes to what
// protobuf's own JSON says.
func TestEveryTypeAgreesWithProtojson(t *testing.T) {
	m := xds.LookupMethod(adsPath)
	n := eachMessage(func(mt protoreflect.MessageType) {
		name := mt.Descriptor().FullName()
		if name == "google.protobuf.Any" {
			return
		}
		for variant := range 3 {
			msg := mt.New()
			populate(msg, 2, variant)
			payload, err := anypb.New(msg.Interface())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			resp := &discoveryv3.DiscoveryResponse{VersionInfo: "1", Resources: []*anypb.Any{payload}}
			wire, err := proto.MarshalOptions{AllowPartial: true}.Marshal(resp)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want, err := protojson.MarshalOptions{UseProtoNames: true, AllowPartial: true}.Marshal(resp)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			doc := decode.Decode(m, session.Server, "application/grpc", wire)
			var a, b any
			if err := json.Unmarshal(doc.Compact(), &a); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := json.Unmarshal(want, &b); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !reflect.DeepEqual(a, b) || len(doc.Problems) > 0 {
				t.Fatalf("%s, variant %d:\n got %s\nwant %s\nproblems %q", name, variant, doc.Compact(), want, doc.Problems)
			}
		}
	})
	if n < 2000 {
		t.Errorf("only %d message types are linked", n)
	}
}

// A message of every type that is cut anywhere in the middle is still shown
// as far as it goes.
func TestTornMessagesOfEveryType(t *testing.T) {
	eachMessage(func(mt protoreflect.MessageType) {
		msg := mt.New()
		populate(msg, 1, 0)
		wire, err := proto.MarshalOptions{AllowPartial: true}.Marshal(msg.Interface())
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []int{len(wire) / 3, len(wire) / 2, len(wire) - 1} {
			if cut < 0 {
				continue
			}
			doc := document.Message(string(mt.Descriptor().FullName()), wire[:cut])
			if !json.Valid(doc.JSON()) {
				t.Fatalf("%s cut at %d: %s", mt.Descriptor().FullName(), cut, doc.JSON())
			}
		}
	})
}

func TestOfReports(t *testing.T) {
	for path, want := range map[string]string{
		"/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats":        `{"node":{"id":"n1"}}`,
		"/envoy.service.health.v3.HealthDiscoveryService/StreamHealthCheck":        `{"health_check_request":{"node":{"id":"n1"}}}`,
		"/envoy.service.status.v3.ClientStatusDiscoveryService/StreamClientStatus": `{"node":{"id":"n1"}}`,
	} {
		m := xds.LookupMethod(path)
		mt, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(m.Request))
		if err != nil {
			t.Fatal(err)
		}
		msg := mt.New().Interface()
		if err := protojson.Unmarshal([]byte(want), msg); err != nil {
			t.Fatal(err)
		}
		wire, _ := proto.Marshal(msg)
		if got := string(decode.Decode(m, session.Client, "", wire).Compact()); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// A REST body reads like any other message, whichever spelling it uses.
func TestRESTBody(t *testing.T) {
	doc := decode.Decode(xds.LookupMethod("/v3/discovery:clusters"), session.Server, "application/json",
		[]byte(`{"versionInfo":"1","resources":[{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","connectTimeout":"0.25s","name":"c1"}]}`))
	want := `{"version_info":"1","resources":[{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"c1","connect_timeout":"0.250s"}]}`
	if got := string(doc.Compact()); got != want || len(doc.Problems) > 0 {
		t.Errorf("%s %q", got, doc.Problems)
	}
}

const clusterJSON = `{"name":"outbound|80||a.default.svc","type":"EDS","connect_timeout":"5s",
	"eds_cluster_config":{"eds_config":{"ads":{},"resource_api_version":"V3"},"service_name":"a"},
	"circuit_breakers":{"thresholds":[{"max_connections":1024,"track_remaining":true}]},
	"transport_socket":{"name":"tls","typed_config":{"@type":"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
		"common_tls_context":{"alpn_protocols":["h2"],"validation_context":{"trusted_ca":{"inline_string":"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"}}},"sni":"a.default"}},
	"metadata":{"filter_metadata":{"istio":{"services":[{"host":"a","weight":1.5}]}}},
	"typed_extension_protocol_options":{"http":{"@type":"type.googleapis.com/xds.type.v3.TypedStruct","type_url":"a.b/c","value":{"k":true}}}}`

func clusterAny(t testing.TB) *anypb.Any {
	var c clusterv3.Cluster
	if err := protojson.Unmarshal([]byte(clusterJSON), &c); err != nil {
		t.Fatal(err)
	}
	a, err := anypb.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestClusterReadsWell(t *testing.T) {
	a := clusterAny(t)
	got := string(document.Any(a.TypeUrl, a.Value).YAML())
	want := `"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
name: outbound|80||a.default.svc
type: EDS
eds_cluster_config:
  eds_config:
    ads: {}
    resource_api_version: V3
  service_name: a
connect_timeout: 5s
circuit_breakers:
  thresholds:
  - max_connections: 1024
    track_remaining: true
transport_socket:
  name: tls
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
    common_tls_context:
      validation_context:
        trusted_ca:
          inline_string: |
            -----BEGIN CERTIFICATE-----
            MIIB
            -----END CERTIFICATE-----
      alpn_protocols:
      - h2
    sni: a.default
metadata:
  filter_metadata:
    istio:
      services:
      - host: a
        weight: 1.5
typed_extension_protocol_options:
  http:
    "@type": type.googleapis.com/xds.type.v3.TypedStruct
    type_url: a.b/c
    value:
      k: true
`
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("line %d:\n%s", i+1, got)
		}
	}
}

// What is broken deep inside is named by its path, and its surroundings stay.
func TestProblemsHavePaths(t *testing.T) {
	a := clusterAny(t)
	i := strings.LastIndex(string(a.Value), "a.default")
	broken := []byte(string(a.Value))
	broken[i-1] = 0x7f // the length of sni
	doc := decode.Decode(xds.LookupMethod(adsPath), session.Server, "", mustMarshal(t, &discoveryv3.DiscoveryResponse{
		Resources: []*anypb.Any{clusterAny(t), {TypeUrl: a.TypeUrl, Value: broken}},
	}))
	if len(doc.Problems) != 1 || !strings.HasPrefix(doc.Problems[0], "resources[1].transport_socket.typed_config: ") {
		t.Errorf("%q", doc.Problems)
	}
	if !strings.Contains(string(doc.Compact()), `"@undecoded":`) {
		t.Error(string(doc.Compact()))
	}
}

func mustMarshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDepthIsBounded(t *testing.T) {
	a := clusterAny(t)
	for range 300 {
		a = &anypb.Any{TypeUrl: "a/envoy.service.discovery.v3.Resource", Value: mustMarshal(t, &discoveryv3.Resource{Resource: a})}
	}
	doc := document.Any(a.TypeUrl, a.Value)
	if len(doc.Problems) != 1 || !strings.Contains(doc.Problems[0], "nested deeper") || !json.Valid(doc.JSON()) {
		t.Errorf("%q", doc.Problems)
	}
}

func BenchmarkDecodeCluster(b *testing.B) {
	a := clusterAny(b)
	b.ReportAllocs()
	for b.Loop() {
		if doc := document.Any(a.TypeUrl, a.Value); len(doc.Problems) > 0 {
			b.Fatal(doc.Problems)
		}
	}
}

func BenchmarkClusterToYAML(b *testing.B) {
	a := clusterAny(b)
	b.ReportAllocs()
	for b.Loop() {
		doc := document.Any(a.TypeUrl, a.Value)
		doc.YAML()
	}
}
