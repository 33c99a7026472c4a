package synth

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	loadv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

func peekOf(variant xds.Variant, side session.Side, b []byte) decode.Message {
	return decode.Peek(xds.Method{Path: "/x/y", Variant: variant}, side, "", b)
}

// Peek gives back what was described.
func TestPeekIsTheInverse(t *testing.T) {
	cds := xds.TypeURL("CDS")
	node := &decode.Node{
		ID: "n1", Cluster: "c", UserAgent: "envoy", UserAgentVersion: "1.40", Region: "r", Zone: "z", ClientFeatures: []string{"f"},
	}
	errs := []decode.ResourceError{{Name: "x", Error: decode.Error{Code: 5, Message: "gone"}}}
	q := &Request{TypeURL: cds, Version: "1", Nonce: "a", Node: node, Names: []string{"x", "", "y"}, Locators: []string{"z"}, Error: &decode.Error{}}
	got := peekOf(xds.VariantSotw, session.Client, q.Marshal())
	if d := cmp.Diff(decode.Message{
		Kind: decode.SotwRequest, TypeURL: cds, Version: "1", Nonce: "a", Node: node, Names: []string{"x", "", "y", "z"}, Locators: decode.Locators{Names: 1}, Error: q.Error,
	}, got); d != "" {
		t.Error(d)
	}
	dq := &DeltaRequest{
		TypeURL: cds, Nonce: "a", Node: node, Subscribe: []string{"x"}, Unsubscribe: []string{"*"},
		SubscribeLocators: []string{"y", "z"}, UnsubscribeLocators: []string{"q"},
		Initial: []decode.NameVersion{{Name: "a", Version: ""}, {Name: "b", Version: "2"}}, Error: &decode.Error{Code: 3, Message: "no"},
	}
	got = peekOf(xds.VariantDelta, session.Client, dq.Marshal())
	if d := cmp.Diff(decode.Message{
		Kind: decode.DeltaRequest, TypeURL: cds, Nonce: "a", Node: node, Subscribe: []string{"x", "y", "z"}, Unsubscribe: []string{"*", "q"},
		Locators:        decode.Locators{Subscribe: 2, Unsubscribe: 1},
		InitialVersions: dq.Initial, Error: dq.Error,
	}, got); d != "" {
		t.Error(d)
	}
	resources := []Resource{
		{TypeURL: cds, Name: "c1", Payload: "own", OwnName: true, Version: "7", Wrapped: true, Aliases: []string{"p", "q"}, HasTTL: true, TTL: 1500 * time.Millisecond},
		{TypeURL: cds, Name: "hb", Empty: true, Wrapped: true, HasTTL: true, TTL: -time.Second},
		{TypeURL: cds, Name: "v", Wrapped: true, Variant: "one"},
		{TypeURL: cds, Name: "v", Wrapped: true, Variant: "two", BothNames: true},
	}
	want := []decode.Resource{
		{Name: "c1", Version: "7", TypeURL: cds, Aliases: []string{"p", "q"}, TTL: 1500 * time.Millisecond, HasTTL: true, Wrapped: true},
		{Name: "hb", TTL: -time.Second, HasTTL: true, Wrapped: true, Empty: true},
		{Name: "v", TypeURL: cds, Wrapped: true, Constraints: string(Constraints("one"))},
		{Name: "v", TypeURL: cds, Wrapped: true, Constraints: string(Constraints("two")), BothNames: true},
	}
	r := &Response{TypeURL: cds, Version: "1", Nonce: "a", Resources: resources, Errors: errs, ControlPlane: "cp", V2: true}
	d := &DeltaResponse{TypeURL: cds, Version: "1", Nonce: "a", Resources: resources, Errors: errs, ControlPlane: "cp", Removed: []string{"z"}}
	for _, m := range []decode.Message{
		peekOf(xds.VariantSotw, session.Server, r.Marshal()),
		peekOf(xds.VariantDelta, session.Server, d.Marshal()),
		peekOf(xds.VariantREST, session.Server, r.JSON()),
	} {
		expect := decode.Message{
			Kind: m.Kind, TypeURL: cds, Version: "1", Nonce: "a", Resources: want, ResourceErrors: errs, ControlPlane: "cp",
		}
		if m.Kind == decode.DeltaResponse {
			expect.Removed = []string{"z"}
		}
		for i := range m.Resources {
			if (len(m.Resources[i].Body) == 0) != want[i].Empty {
				t.Errorf("resource %d has a body of %d bytes", i, len(m.Resources[i].Body))
			}
			if c := m.Resources[i].Constraints; c != "" && c[0] == '{' { // JSON
				m.Resources[i].Constraints = expect.Resources[i].Constraints
			}
			m.Resources[i].Body = nil
		}
		if diff := cmp.Diff(expect, m); diff != "" {
			t.Errorf("%s: %s", m.Kind, diff)
		}
	}
}

// A message has the size that is asked for, or a little less, where that leaves
// room for padding.
func TestSizes(t *testing.T) {
	var makers []func(size int) []byte
	for _, n := range []*decode.Node{nil, {ID: "n"}} {
		makers = append(makers,
			func(size int) []byte { return (&Request{Node: n, Size: size}).Marshal() },
			func(size int) []byte { return (&DeltaRequest{Node: n, Size: size}).Marshal() })
	}
	for _, list := range [][]Resource{nil, {{TypeURL: xds.TypeURL("CDS"), Empty: true}}} {
		makers = append(makers, func(size int) []byte { return (&Response{Resources: list, Size: size}).Marshal() })
	}
	for _, r := range described() {
		makers = append(makers, func(size int) []byte {
			return (&DeltaResponse{Resources: []Resource{{Empty: true}, r}, Size: size}).Marshal()
		})
	}
	for _, make := range makers {
		least := len(make(0))
		for _, size := range []int{1, least + 1, least + 20, least + 127, least + 128, least + 150, 4096, 16_500, 1 << 18} {
			got := len(make(size))
			if got > size && size > least+60 || size > least+60 && got < size-20 || got < least {
				t.Errorf("asked for %d bytes (%d are the least): %d", size, least, got)
			}
		}
	}
}

// The padding is in the first resource that has room, and stands beside them only
// where none has.
func TestWhereThePaddingIs(t *testing.T) {
	room, none := Resource{TypeURL: xds.TypeURL("CDS"), Name: "c"}, Resource{TypeURL: xds.TypeURL("CDS"), Empty: true}
	for want, list := range map[int][]Resource{-1: {none}, 0: {room, room}, 1: {none, room, room}} {
		b := (&Response{Resources: list, Size: 1000}).Marshal()
		if beside := protoscan.Last(b, unknownField) != nil; beside != (want < 0) || len(b) != 1000 {
			t.Errorf("of %d bytes the padding is beside the resources: %v", len(b), beside)
		}
		for i, r := range peekOf(xds.VariantSotw, session.Server, b).Resources {
			if (len(r.Body) > 500) != (i == want) {
				t.Errorf("it should be in resource %d, and %d has %d bytes", want, i, len(r.Body))
			}
		}
	}
}

// What cannot have the size that is asked for has a little less, and never more.
func TestFill(t *testing.T) {
	build := func(pad int) []byte { // of 5 bytes without padding; from 100 bytes of it on 5 more
		if n := pad; n >= 100 {
			return make([]byte, n+5)
		}
		return make([]byte, max(5, pad))
	}
	for _, size := range []int{0, 5, 6, 99, 100, 101, 102, 103, 104, 105, 200} {
		if got := len(fill(size, build)); got > max(size, 5) || got < size-6 || (size < 100 || size >= 105) && got != max(size, 5) {
			t.Errorf("asked for %d bytes: %d", size, got)
		}
	}
}

// JSON and protobuf say the same.
func TestJSON(t *testing.T) {
	for _, r := range described() {
		p := &Response{TypeURL: r.TypeURL, Version: "1", Nonce: "n", Resources: []Resource{r, {TypeURL: r.TypeURL, Name: "x", Empty: true, HasTTL: true, TTL: 1500 * time.Millisecond, Aliases: []string{"y"}}}}
		var fromJSON, fromProto discoveryv3.DiscoveryResponse
		if err := protojson.Unmarshal(p.JSON(), &fromJSON); err != nil {
			t.Errorf("%s: %v", r.title(), err)
			continue
		}
		if err := proto.Unmarshal(p.Marshal(), &fromProto); err != nil {
			t.Fatal(err)
		}
		if len(fromJSON.Resources) != 2 {
			t.Fatalf("%d resources", len(fromJSON.Resources))
		}
		for i := range fromJSON.Resources {
			a, _ := fromJSON.Resources[i].UnmarshalNew()
			b, _ := fromProto.Resources[i].UnmarshalNew()
			if !proto.Equal(a, b) {
				t.Errorf("%s: JSON says %v, protobuf %v", r.title(), a, b)
			}
		}
		bad := r
		bad.Corrupt = true
		if err := protojson.Unmarshal((&Response{Resources: []Resource{bad}}).JSON(), &fromJSON); err == nil {
			t.Errorf("%s: corrupt JSON is accepted", r.title())
		}
		odd := r
		odd.Unknown = true
		if err := protojson.Unmarshal((&Response{Resources: []Resource{odd}}).JSON(), &fromJSON); err == nil || !strings.Contains(err.Error(), "unknown_field") {
			t.Errorf("%s: the unknown field is missing: %v", r.title(), err)
		}
	}
}

// A description of a type that is not linked is no reason to send nothing.
func TestUnknownType(t *testing.T) {
	r := Resource{TypeURL: "type.googleapis.com/custom.Thing", Name: "x", Content: "h1"}
	for _, b := range [][]byte{(&Response{Resources: []Resource{r}}).Marshal(), (&Response{Resources: []Resource{r}}).JSON()} {
		if !strings.Contains(string(b), "h1") || !strings.Contains(string(b), "custom.Thing") {
			t.Errorf("%q", b)
		}
	}
}

// The reports read back as they were described.
func TestReports(t *testing.T) {
	node := &decode.Node{ID: "n1", Cluster: "c", Region: "r"}
	load := decode.PeekLoadStats(session.Client, (&LoadRequest{Node: node, Clusters: []string{"a", "b"}}).Marshal())
	if d := cmp.Diff(decode.LoadStats{Node: node, Loads: []decode.ClusterLoad{{Name: "a"}, {Name: "b"}}}, load); d != "" {
		t.Error(d)
	}
	var said loadv3.LoadStatsRequest
	if err := proto.Unmarshal((&LoadRequest{Clusters: []string{"a"}}).Marshal(), &said); err != nil || said.Node != nil {
		t.Errorf("%v, %v", &said, err)
	}
	if got := said.ClusterStats[0].UpstreamLocalityStats; len(got) != 1 || got[0].TotalSuccessfulRequests != 1 || got[0].TotalIssuedRequests != 1 {
		t.Errorf("%v", got)
	}
	for _, want := range []decode.LoadStats{{Clusters: []string{"a"}, Interval: 5 * time.Second}, {SendAll: true}} {
		b := (&LoadResponse{Clusters: want.Clusters, SendAll: want.SendAll, Interval: want.Interval}).Marshal()
		if d := cmp.Diff(want, decode.PeekLoadStats(session.Server, b)); d != "" {
			t.Error(d)
		}
		var answer loadv3.LoadStatsResponse
		if err := proto.Unmarshal(b, &answer); err != nil || (answer.LoadReportingInterval != nil) != (want.Interval != 0) {
			t.Errorf("%v, %v", &answer, err)
		}
	}
	var asked statusv3.ClientStatusRequest
	if err := proto.Unmarshal((&StatusRequest{Node: "n1"}).Marshal(), &asked); err != nil || asked.NodeMatchers[0].NodeId.GetExact() != "n1" {
		t.Errorf("%v, %v", &asked, err)
	}
	cds := xds.TypeURL("CDS")
	p := &StatusResponse{Node: node}
	want := []decode.ResourceStatus{}
	if len(Statuses()) != 7 || Statuses()[3] != "ACKED" {
		t.Errorf("%q", Statuses())
	}
	for _, s := range Statuses() {
		p.Resources = append(p.Resources, ResourceStatus{TypeURL: cds, Name: "a " + s, Version: "1", Status: s})
		want = append(want, decode.ResourceStatus{TypeURL: cds, Name: "a " + s, Version: "1", Client: s, Config: "UNKNOWN"})
	}
	if d := cmp.Diff([]decode.ClientConfig{{NodeID: "n1", Resources: want}}, decode.PeekClientStatus(p.Marshal()).Configs); d != "" {
		t.Error(d)
	}
	// What a client holds is in the state that was asked for, with its content if
	// that shows one.
	h := &HeldResponse{Node: node}
	for _, s := range HeldStates() {
		h.Items = append(h.Items, HeldItem{Resource: Resource{TypeURL: cds, Name: string(s), Version: "2", Content: "because"}, State: s})
	}
	configs := decode.PeekClientStatus(h.Marshal()).Configs
	if len(configs) != 1 || configs[0].NodeID != "n1" || len(configs[0].Resources) != 7 {
		t.Fatalf("%+v", configs)
	}
	content := map[decode.HeldState]bool{decode.HeldActive: true, decode.HeldStatic: true, decode.HeldWarming: true, decode.HeldDraining: true}
	for i, r := range configs[0].Resources {
		s := HeldStates()[i]
		if r.Held() != s || r.Name != string(s) || r.Version != "2" || (r.Body != nil) != content[s] || HasContent(s) != content[s] || (r.Error == "because") != (s == decode.HeldFailed) {
			t.Errorf("%s: %+v is %s", s, r, r.Held())
		}
		if content[s] && (r.BodyURL != cds || string(r.Body) != string(h.Items[i].Body())) {
			t.Errorf("%s: its content is %q of %s", s, r.Body, r.BodyURL)
		}
	}
	for s, r := range map[decode.HeldState]decode.ResourceStatus{
		decode.HeldTimeout: {Client: "TIMEOUT"}, decode.HeldUnknown: {Client: "99"}, decode.HeldFailed: {Client: "RECEIVED_ERROR"},
	} {
		if r.Held() != s {
			t.Errorf("%s is %s", r.Client, r.Held())
		}
	}
}
