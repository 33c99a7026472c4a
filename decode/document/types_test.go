package document_test

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

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/decode/handmade"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Every message type of the API, in an Any of a response, decodes to what
// protobuf's own JSON says.
func TestEveryTypeAgreesWithProtojson(t *testing.T) {
	m := xds.LookupMethod(handmade.ADSPath)
	n := handmade.EachMessage(func(mt protoreflect.MessageType) {
		name := mt.Descriptor().FullName()
		if name == "google.protobuf.Any" {
			return
		}
		for variant := range 3 {
			msg := mt.New()
			handmade.Populate(msg, 2, variant)
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
	handmade.EachMessage(func(mt protoreflect.MessageType) {
		msg := mt.New()
		handmade.Populate(msg, 1, 0)
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
	doc := decode.Decode(xds.LookupMethod(handmade.ADSPath), session.Server, "", handmade.Marshal(t, &discoveryv3.DiscoveryResponse{
		Resources: []*anypb.Any{clusterAny(t), {TypeUrl: a.TypeUrl, Value: broken}},
	}))
	if len(doc.Problems) != 1 || !strings.HasPrefix(doc.Problems[0], "resources[1].transport_socket.typed_config: ") {
		t.Errorf("%q", doc.Problems)
	}
	if !strings.Contains(string(doc.Compact()), `"@undecoded":`) {
		t.Error(string(doc.Compact()))
	}
}

func TestDepthIsBounded(t *testing.T) {
	a := clusterAny(t)
	for range 300 {
		a = &anypb.Any{TypeUrl: "a/envoy.service.discovery.v3.Resource", Value: handmade.Marshal(t, &discoveryv3.Resource{Resource: a})}
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
