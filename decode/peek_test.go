package decode

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

var (
	wantNode = &Node{ID: "n1", Cluster: "front", UserAgent: "envoy", UserAgentVersion: "1.40.0", Region: "eu", Zone: "a", ClientFeatures: []string{"f1"}}
	wants    = map[Kind]Message{
		SotwRequest: {
			Kind: SotwRequest, TypeURL: clusterURL, Version: "v1", Nonce: "n7", Node: wantNode,
			Names: []string{"a", "b", "c"}, Locators: Locators{Names: 1}, Error: &Error{Code: 13, Message: "no"},
		},
		SotwResponse: {
			Kind: SotwResponse, TypeURL: clusterURL, Version: "v2", Nonce: "n8", ControlPlane: "cp",
			Resources: []Resource{
				{Name: "c1", TypeURL: clusterURL, Body: msg(str(1, "c1"), num(4, 1))},
				{Name: "c2", Version: "w1", TypeURL: clusterURL, Body: str(1, "inner"), Aliases: []string{"al"}, TTL: 5 * time.Second, HasTTL: true, Wrapped: true},
				{Name: "c3", Version: "w1", Wrapped: true, Empty: true},
			},
			ResourceErrors: []ResourceError{{Name: "gone", Error: Error{Code: 5, Message: "not found"}}},
		},
		DeltaRequest: {
			Kind: DeltaRequest, TypeURL: clusterURL, Nonce: "n9", Node: wantNode, Subscribe: []string{"a", "d"},
			Unsubscribe: []string{"b", "e"}, InitialVersions: []NameVersion{{"c", "9"}}, Locators: Locators{Subscribe: 1, Unsubscribe: 1},
		},
		DeltaResponse: {
			Kind: DeltaResponse, TypeURL: clusterURL, Version: "sys", Nonce: "n10", ControlPlane: "cp",
			Resources: []Resource{
				{Name: "c1", Version: "1", TypeURL: clusterURL, Body: str(1, "c1"), Wrapped: true},
				{Name: "xdstp://c2", Version: "2", TypeURL: clusterURL, Body: str(1, "c2"), Wrapped: true},
			},
			Removed: []string{"gone", "gone2"}, ResourceErrors: []ResourceError{{Name: "bad"}},
		},
	}
)

// kinds are those of handmade.Samples.
var kinds = []Kind{SotwRequest, SotwResponse, DeltaRequest, DeltaResponse}

func TestPeek(t *testing.T) {
	for i, s := range handmade.Samples {
		got := Peek(xds.LookupMethod(s.Path), s.Side, "application/grpc", s.Data)
		if diff := cmp.Diff(wants[kinds[i]], got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", kinds[i], diff)
		}
	}
}

// Without a method the same comes out, and the guess is admitted.
func TestPeekGuesses(t *testing.T) {
	for i, s := range handmade.Samples {
		got := Peek(xds.Method{}, s.Side, "", s.Data)
		if len(got.Problems) != 1 || !strings.Contains(got.Problems[0], "method is not known") {
			t.Errorf("%v: problems %q", kinds[i], got.Problems)
		}
		got.Problems = nil
		if diff := cmp.Diff(wants[kinds[i]], got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", kinds[i], diff)
		}
	}
	for name, c := range map[string]struct {
		side session.Side
		data []byte
		want Kind
	}{
		"empty":                        {session.Client, nil, Other},
		"text":                         {session.Server, []byte("hello, world"), Other},
		"delta removal only":           {session.Server, msg(str(4, clusterURL), str(5, "a"), str(6, "c1")), DeltaResponse},
		"sotw without resources":       {session.Server, msg(str(1, "1"), str(4, clusterURL), str(5, "a"), sub(6, str(1, "cp"))), SotwResponse},
		"delta that unsubscribes URLs": {session.Client, msg(str(2, clusterURL), str(4, "a.b/c")), DeltaRequest},
		"delta with a pathy version":   {session.Server, msg(sub(2, str(1, "a.b/c"), anyOf(2, clusterURL), str(3, "x")), str(4, clusterURL)), DeltaResponse},
		"sotw with a pathy name":       {session.Server, msg(anyOf(2, clusterURL, str(1, "a.b/c")), str(4, clusterURL)), SotwResponse},
	} {
		if got := Peek(xds.Method{}, c.side, "", c.data).Kind; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestPeekJSON(t *testing.T) {
	m := xds.LookupMethod("/v3/discovery:clusters")
	got := Peek(m, session.Client, "application/json", []byte(`{"version_info":"v1","node":{"id":"n1","cluster":"front",
		"locality":{"region":"eu","zone":"a"},"user_agent_name":"envoy","user_agent_build_version":{"version":{"major_number":1,"minor_number":40}},
		"client_features":["f1"]},"resource_names":["a","b"],"resource_locators":[{"name":"c"}],"type_url":"`+clusterURL+`","response_nonce":"n7",
		"error_detail":{"code":13,"message":"no"}}`))
	if diff := cmp.Diff(wants[SotwRequest], got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	got = Peek(m, session.Server, "", []byte(`{"versionInfo":"v2","typeUrl":"`+clusterURL+`","nonce":"n8","controlPlane":{"identifier":"cp"},
		"resources":[{"@type":"`+clusterURL+`","name":"c1"},
		{"@type":"`+wrapperURL+`","name":"c2","version":"w1","aliases":["al"],"ttl":"5s","resource":{"@type":"`+clusterURL+`"}},
		{"@type":"`+wrapperURL+`","name":"c3","version":"w1"}],
		"resourceErrors":[{"resourceName":{"name":"gone"},"errorDetail":{"code":5,"message":"not found"}}]}`))
	want := wants[SotwResponse]
	want.Resources = append([]Resource(nil), want.Resources...)
	for i := range want.Resources {
		want.Resources[i].Body, got.Resources[i].Body = nil, nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	if got := Peek(m, session.Server, "", []byte(`{"resources": [`)); len(got.Problems) != 1 {
		t.Errorf("a torn body: problems %q", got.Problems)
	}
}

// What is whole before the damage is there, and the damage is said once.
func TestPeekTorn(t *testing.T) {
	for i, s := range handmade.Samples {
		for n := range s.Data {
			got := Peek(xds.LookupMethod(s.Path), s.Side, "", s.Data[:n])
			if len(got.Problems) > 1 {
				t.Fatalf("%v cut at %d: %q", kinds[i], n, got.Problems)
			}
		}
	}
	got := Peek(xds.LookupMethod(adsPath), session.Server, "", sotwResponseBytes[:len(sotwResponseBytes)-3])
	if len(got.Problems) != 1 || got.Version != "v2" || len(got.Resources) != 3 || got.Nonce != "n8" {
		t.Errorf("%+v", got)
	}
}

func TestPeekNodeOfReports(t *testing.T) {
	for path, data := range map[string][]byte{
		"/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats":       sub(1, nodeField),
		"/envoy.service.load_stats.v2.LoadReportingService/StreamLoadStats":       sub(1, nodeField),
		"/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus": sub(2, nodeField),
		"/envoy.service.health.v3.HealthDiscoveryService/StreamHealthCheck":       sub(1, sub(1, nodeField)),
	} {
		got := Peek(xds.LookupMethod(path), session.Client, "", data)
		if diff := cmp.Diff(Message{Kind: Other, Node: wantNode}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// A list of empty names is much larger here than on the wire: it is cut.
func TestPeekBoundsLists(t *testing.T) {
	got := Peek(xds.LookupMethod(adsPath), session.Client, "", bytes.Repeat([]byte{3<<3 | 2, 0}, maxItems+10))
	if len(got.Names) != maxItems || len(got.Problems) != 1 {
		t.Errorf("%d names, problems %q", len(got.Names), got.Problems)
	}
}

// Each list takes as many as there may be in one, and no more: that is said, once.
func TestPeekBoundsEachList(t *testing.T) {
	for what, c := range map[string]struct {
		add func(*peeker)
		n   func(*peeker) int
		p   peeker
	}{
		"names":            {func(p *peeker) { p.add(&p.Names, "") }, func(p *peeker) int { return len(p.Names) }, peeker{Names: make([]string, maxItems-1, maxItems)}},
		"initial versions": {func(p *peeker) { p.initialVersion(nil) }, func(p *peeker) int { return len(p.InitialVersions) }, peeker{InitialVersions: make([]NameVersion, maxItems-1, maxItems)}},
		"resources":        {func(p *peeker) { p.resource() }, func(p *peeker) int { return len(p.Resources) }, peeker{Resources: make([]Resource, maxItems-1, maxItems)}},
		"errors":           {func(p *peeker) { p.resourceError(nil) }, func(p *peeker) int { return len(p.ResourceErrors) }, peeker{ResourceErrors: make([]ResourceError, maxItems-1, maxItems)}},
	} {
		p := &c.p
		c.add(p)
		if n := c.n(p); n != maxItems || len(p.Problems) > 0 {
			t.Errorf("%s: the last that there may be makes %d of them, %q", what, n, p.Problems)
		}
		c.add(p)
		c.add(p)
		if n := c.n(p); n != maxItems || len(p.Problems) != 1 || p.Problems[0] != tooMany {
			t.Errorf("%s: two more make %d of them, %q", what, n, p.Problems)
		}
	}
}

func FuzzPeek(f *testing.F) {
	for _, s := range handmade.Samples {
		f.Add(s.Path, s.Side == session.Client, s.Data)
		f.Add("", s.Side == session.Client, s.Data)
	}
	var names []byte
	for i := range 40 {
		names = append(names, str(3, fmt.Sprint("a cluster with a long name, number ", i))...)
	}
	f.Add(adsPath, true, msg(str(1, "v"), names, str(4, clusterURL), str(5, "n")))
	f.Add(adsPath, true, msg(names, sub(7, str(1, "located")), names))
	f.Add(deltaADSPath, true, msg(str(2, clusterURL), names, sub(8, str(1, "located"))))
	f.Add("/v3/discovery:clusters", false, []byte(`{"resources":[{"@type":"a/b","name":"c"}]}`))
	f.Fuzz(func(t *testing.T, path string, client bool, data []byte) {
		side := session.Server
		if client {
			side = session.Client
		}
		before := bytes.Clone(data)
		got := Peek(xds.LookupMethod(path), side, "", data)
		if !bytes.Equal(before, data) {
			t.Error("Peek wrote to its input")
		}
		if len(got.Problems) > maxProblems {
			t.Errorf("%d problems", len(got.Problems))
		}
	})
}

func TestPeekResourceFlags(t *testing.T) {
	body := anyOf(2, clusterURL, str(1, "c1"))
	for what, c := range map[string]struct {
		wrapper []byte
		want    Resource
	}{
		"a TTL of nothing":    {msg(str(3, "c1"), body, sub(6)), Resource{Name: "c1", HasTTL: true}},
		"a TTL below nothing": {msg(str(3, "c1"), body, sub(6, num(1, 1<<64-5))), Resource{Name: "c1", HasTTL: true, TTL: -5 * time.Second}},
		"two names":           {msg(str(3, "c1"), body, sub(8, str(1, "c2"))), Resource{Name: "c1", BothNames: true}},
		"a variant":           {msg(body, sub(8, str(1, "c2"), sub(2, str(1, "k")))), Resource{Name: "c2", Constraints: string(str(1, "k"))}},
		"no name":             {msg(body, sub(8, sub(2, str(1, "k")))), Resource{Name: "c1", Unnamed: true, Constraints: string(str(1, "k"))}},
	} {
		got := Peek(xds.LookupMethod(deltaADSPath), session.Server, "", msg(sub(2, c.wrapper), str(4, clusterURL))).Resources[0]
		c.want.TypeURL, c.want.Body, c.want.Wrapped = clusterURL, str(1, "c1"), true
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	untyped := Peek(xds.LookupMethod(adsPath), session.Server, "", msg(anyOf(2, "", str(1, "c1")), anyOf(2, clusterURL), anyOf(2, wrapperURL, str(3, "hb")))).Resources
	for i, want := range []bool{true, false, false} {
		if untyped[i].Untyped() != want {
			t.Errorf("resource %d: %+v", i, untyped[i])
		}
	}
	got := Peek(xds.LookupMethod("/v3/discovery:clusters"), session.Server, "", []byte(`{"resources":[{"@type":"`+wrapperURL+`","name":"a","ttl":"0s",
		"resourceName":{"name":"b","dynamicParameterConstraints":{"k":1}},"resource":{"@type":"`+clusterURL+`"}}]}`)).Resources[0]
	got.Body = nil
	if diff := cmp.Diff(Resource{Name: "a", TypeURL: clusterURL, Wrapped: true, HasTTL: true, BothNames: true, Constraints: `{"k":1}`}, got); diff != "" {
		t.Error(diff)
	}
}

// Locators come last, wherever they stand on the wire.
func TestPeekLocators(t *testing.T) {
	got := Peek(xds.LookupMethod(adsPath), session.Client, "", msg(sub(7, str(1, "x")), str(3, "a"), sub(7, str(1, "y")), str(4, clusterURL)))
	if diff := cmp.Diff(Message{Kind: SotwRequest, TypeURL: clusterURL, Names: []string{"a", "x", "y"}, Locators: Locators{Names: 2}}, got); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkPeek(b *testing.B) {
	data := handmade.Clusters(20_000)
	m := xds.LookupMethod(adsPath)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if got := Peek(m, session.Server, "", data); len(got.Resources) != 20_000 {
			b.Fatal(len(got.Resources))
		}
	}
}

// A name is what the resource says, whatever it holds. What may be a message of a
// type that is not known is no name, and neither is what is no text.
func TestNamesHoldAnything(t *testing.T) {
	method := xds.LookupMethod("/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources")
	for _, c := range []struct{ typeURL, name, want string }{
		{clusterURL, "a\tb", "a\tb"},
		{clusterURL, "\x1b[31mred\n", "\x1b[31mred\n"},
		{clusterURL, "a\x00b\u202e", "a\x00b\u202e"},
		{clusterURL, "\xff", ""},
		{"type.googleapis.com/x.Y", "\n\x05hello", ""},
		{"type.googleapis.com/x.Y", "hello", "hello"},
	} {
		inner := msg(str(1, c.typeURL), str(2, string(str(1, c.name))))
		wrapped := msg(str(1, "type.googleapis.com/envoy.service.discovery.v3.Resource"), str(2, string(str(2, string(inner)))))
		for _, data := range [][]byte{str(2, string(inner)), str(2, string(wrapped))} {
			m := Peek(method, session.Server, "application/grpc", data)
			if len(m.Resources) != 1 || m.Resources[0].Name != c.want {
				t.Errorf("%s of %q: %+v", c.typeURL, c.name, m.Resources)
			}
		}
	}
}
