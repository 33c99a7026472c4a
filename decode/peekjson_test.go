package decode

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// What is wrong in a poll is said, and the rest is read.
func TestPeekJSONProblems(t *testing.T) {
	rest := xds.LookupMethod("/v3/discovery:clusters")
	const guess = "the method is not known: read as JSON of a "
	for _, c := range []struct {
		m    xds.Method
		side session.Side
		text string
		want Message
	}{
		{rest, session.Client, " \n", Message{Kind: SotwRequest}},
		{rest, session.Proxy, "{}", Message{}},
		{rest, session.Client, "[]", Message{Kind: SotwRequest, Problems: []string{"not a JSON object: json: cannot unmarshal array into Go value of type decode.jsonFields"}}},
		{xds.Method{}, session.Client, `{"version_info":"7"}`, Message{Kind: SotwRequest, Version: "7", Problems: []string{guess + "DiscoveryRequest"}}},
		{xds.Method{}, session.Server, `{"versionInfo":"7"}`, Message{Kind: SotwResponse, Version: "7", Problems: []string{guess + "DiscoveryResponse"}}},
		{
			rest, session.Client, `{"node":null,"error_detail":null,"resource_names":"a","resource_locators":{"name":"b"}}`,
			Message{Kind: SotwRequest, Names: []string{"a", "b"}, Locators: Locators{Names: 1}},
		},
		{
			rest, session.Client, `{"version_info":7,"node":"n","error_detail":{"code":"no"},"resource_names":["a",1],"resource_locators":[1]}`,
			Message{Kind: SotwRequest, Names: []string{"a", "", ""}, Locators: Locators{Names: 1}, Node: &Node{}, Error: &Error{}, Problems: []string{
				"version_info: not a JSON string", "node: not a JSON object", "resource_names: not a JSON string",
				"resource_locators: not a JSON object", "error_detail: code is not a number",
			}},
		},
		{
			rest, session.Client, `{"errorDetail":{"message":"no"},"node":{"id":"n","userAgentVersion":"1.2","userAgentBuildVersion":[]}}`,
			Message{Kind: SotwRequest, Node: &Node{ID: "n", UserAgentVersion: "1.2"}, Error: &Error{Message: "no"}},
		},
		{
			rest, session.Client, `{"node":{"userAgentBuildVersion":{"version":{"majorNumber":1,"minorNumber":40,"patch":3}}}}`,
			Message{Kind: SotwRequest, Node: &Node{UserAgentVersion: "1.40.3"}},
		},
		{
			rest, session.Client, `{"node":{"user_agent_build_version":{"version":{}},"locality":{"zone":"z"}}}`,
			Message{Kind: SotwRequest, Node: &Node{UserAgentVersion: "0.0.0", Zone: "z"}},
		},
		{
			rest, session.Server, `{"resources":[1,{"@type":"` + wrapperURL + `","ttl":"soon","resource":null},
				{"@type":"` + wrapperURL + `","ttl":"0s","resource_name":{"name":"b","dynamic_parameter_constraints":{"a":1}},"resource":{"@type":"` + clusterURL + `","name":"c"}},
				{"@type":"` + wrapperURL + `","name":"a","resource_name":{"name":"b"}},
				{"@type":"` + wrapperURL + `","resource":{"@type":"` + endpointsURL + `","clusterName":"e"}},
				{"@type":"` + endpointsURL + `","cluster_name":"f","name":"g"},
				{"@type":"example.com/a.B","name":"h"}],
				"resource_errors":[1,{"resource_name":{"name":"x"}},{"error_detail":{"code":5}}]}`,
			Message{
				Kind: SotwResponse,
				Resources: []Resource{
					{},
					{Wrapped: true, Empty: true, HasTTL: true},
					{Name: "b", TypeURL: clusterURL, Wrapped: true, HasTTL: true, Constraints: `{"a":1}`},
					{Name: "a", Wrapped: true, Empty: true, BothNames: true},
					{Name: "e", TypeURL: endpointsURL, Wrapped: true, Unnamed: true},
					{Name: "f", TypeURL: endpointsURL},
					{Name: "h", TypeURL: "example.com/a.B"},
				},
				ResourceErrors: []ResourceError{{}, {Name: "x"}, {Error: Error{Code: 5}}},
				Problems:       []string{"resources: not a JSON object", `ttl: "soon" is not a duration`, "resource_errors: not a JSON object"},
			},
		},
	} {
		got := Peek(c.m, c.side, "application/json", []byte(c.text))
		for i := range got.Resources {
			if r := &got.Resources[i]; (r.Body == nil) != r.Empty {
				t.Errorf("%s: resource %d has the body %q", c.text, i, r.Body)
			}
			got.Resources[i].Body = nil
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	}
}

const endpointsURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

// A wrong message has at most so many problems.
func TestPeekBoundsProblems(t *testing.T) {
	for n, want := range map[int]int{maxProblems - 1: maxProblems - 1, maxProblems: maxProblems, maxProblems + 1: maxProblems} {
		text := `{"resource_names":[` + strings.Repeat("1,", n-1) + "1]}"
		if got := Peek(xds.LookupMethod("/v3/discovery:clusters"), session.Client, "", []byte(text)); len(got.Problems) != want || len(got.Names) != n {
			t.Errorf("%d are wrong: %d problems, %d names", n, len(got.Problems), len(got.Names))
		}
	}
}

// What a client says of itself in JSON is the same as in protobuf.
func TestPeekClientStatusJSON(t *testing.T) {
	for text, want := range map[string]ClientStatus{
		`{`:             {Problems: []string{"not a JSON object: unexpected end of JSON input"}},
		`{}`:            {},
		`{"config":{}}`: {Configs: []ClientConfig{{}}},
		`{"config":[{"client_scope":"s","generic_xds_configs":{"name":"a"}},1]}`: {
			Configs:  []ClientConfig{{Scope: "s", Resources: []ResourceStatus{{Name: "a", Client: "UNKNOWN", Config: "UNKNOWN"}}}, {}},
			Problems: []string{"config: not a JSON object"},
		},
	} {
		if diff := cmp.Diff(want, PeekClientStatus([]byte(text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	// Configs and resources are counted together.
	for room, want := range map[int]string{0: "[]", 1: "[0]", 2: "[1]", 3: "[2]", 4: "[2 0]", 5: "[2 1]", 6: "[2 1]"} {
		p := statusPeeker{items: maxItems - room}
		p.json([]byte(`{"config":[{"genericXdsConfigs":[{},{}]},{"genericXdsConfigs":[{}]}]}`))
		got := []int{}
		for i := range p.configs {
			got = append(got, len(p.configs[i].Resources))
		}
		if full := room < 5; fmt.Sprint(got) != want || full != slices.Contains(p.Problems, tooMany) {
			t.Errorf("room for %d: %v, %q", room, got, p.Problems)
		}
	}
}

// A duration is what it is in protobuf, and what no duration can hold stays within.
func TestPeekTTL(t *testing.T) {
	most := int64(1<<63-1) / int64(time.Second)
	for _, c := range []struct {
		sec, nano int64
		want      time.Duration
	}{
		{0, 0, 0},
		{5, 7, 5*time.Second + 7},
		{-5, -7, -5*time.Second - 7},
		{0, 999_999_999, 999_999_999},
		{0, 1_000_000_000, 0},
		{most, 0, time.Duration(most) * time.Second},
		{most + 1, 0, time.Duration(most) * time.Second},
		{-most, 0, time.Duration(-most) * time.Second},
		{-most - 1, 0, time.Duration(-most) * time.Second},
	} {
		data := sub(2, str(3, "a"), sub(6, num(1, uint64(c.sec)), num(2, uint64(c.nano))))
		r := Peek(xds.Method{Path: "/x", Variant: xds.VariantDelta}, session.Server, "", data).Resources[0]
		if r.TTL != c.want || !r.HasTTL {
			t.Errorf("%d s, %d ns: %d", c.sec, c.nano, r.TTL)
		}
	}
}

// Of what protobuf repeats, the last counts, and a wrong wire type is said.
func TestPeekOddFields(t *testing.T) {
	sotw, delta := xds.LookupMethod(adsPath), xds.LookupMethod(deltaADSPath)
	torn := []byte{0x0a, 9}
	for name, c := range map[string]struct {
		m    xds.Method
		side session.Side
		data []byte
		want Message
	}{
		"wrong types": {sotw, session.Client, msg(num(1, 1), num(3, 1)), Message{
			Kind: SotwRequest, Names: []string{""}, Problems: []string{"field 1 has wire type 0, not a length", "field 3 has wire type 0, not a length"},
		}},
		"twice": {sotw, session.Client, msg(str(1, "1"), str(1, "2"), str(4, "a"), str(4, "b")), Message{Kind: SotwRequest, Version: "2", TypeURL: "b"}},
		"torn status": {sotw, session.Client, sub(6, num(1, 5), torn), Message{
			Kind: SotwRequest, Error: &Error{Code: 5}, Problems: []string{"status: field 1 is 9 bytes long where 0 remain at byte 2"},
		}},
		"a payload that names itself": {delta, session.Server, msg(sub(2, anyOf(2, clusterURL, str(1, "own"))), sub(2, anyOf(2, clusterURL, str(1, "\xff")))), Message{
			Kind: DeltaResponse, Resources: []Resource{
				{Name: "own", TypeURL: clusterURL, Wrapped: true, Unnamed: true}, {TypeURL: clusterURL, Wrapped: true, Unnamed: true},
			},
		}},
		"names that are not printable": {sotw, session.Server, msg(anyOf(2, clusterURL, num(2, 1), str(1, "\x01")), anyOf(2, "a.b/c", str(1, "\x01")), anyOf(2, "a.b/c", str(1, "x")), anyOf(2, clusterURL, num(1, 7), str(1, "late"))), Message{
			Kind: SotwResponse, Resources: []Resource{{Name: "\x01", TypeURL: clusterURL}, {TypeURL: "a.b/c"}, {Name: "x", TypeURL: "a.b/c"}, {TypeURL: clusterURL}},
		}},
		"torn resources": {sotw, session.Server, msg(anyOf(2, clusterURL, str(1, "x")), sub(2, torn), anyOf(2, wrapperURL, str(3, "w"), torn)), Message{
			Kind: SotwResponse, Resources: []Resource{{Name: "x", TypeURL: clusterURL}, {}, {Name: "w", Wrapped: true, Empty: true}},
			Problems: []string{"resource 1: field 1 is 9 bytes long where 0 remain at byte 0", "resource 2: field 1 is 9 bytes long where 0 remain at byte 3"},
		}},
		"a file": {xds.Method{Path: "/etc/cds", Variant: xds.VariantFile}, session.Server, anyOf(2, clusterURL, str(1, "x")), Message{
			Kind: SotwResponse, TypeURL: clusterURL, Resources: []Resource{{Name: "x", TypeURL: clusterURL}},
		}},
		"a file with a type": {xds.Method{Path: "/etc/cds", Variant: xds.VariantFile}, session.Server, msg(str(4, "t"), anyOf(2, clusterURL, str(1, "x"))), Message{
			Kind: SotwResponse, TypeURL: "t", Resources: []Resource{{Name: "x", TypeURL: clusterURL}},
		}},
		"an empty file":  {xds.Method{Path: "/etc/cds", Variant: xds.VariantFile}, session.Server, str(1, "1"), Message{Kind: SotwResponse, Version: "1", Resources: nil}},
		"a stream alike": {sotw, session.Server, anyOf(2, clusterURL, str(1, "x")), Message{Kind: SotwResponse, Resources: []Resource{{Name: "x", TypeURL: clusterURL}}}},
		"an old node": {sotw, session.Client, sub(2, str(5, "old"), str(7, "1.2"), str(5, "older")), Message{
			Kind: SotwRequest, Node: &Node{UserAgentVersion: "1.2"},
		}},
		"an older node": {sotw, session.Client, sub(2, str(5, "a/1.5"), sub(4, str(1, "r"), str(2, "z"), str(3, "s"))), Message{
			Kind: SotwRequest, Node: &Node{UserAgentVersion: "a/1.5", Region: "r", Zone: "z"},
		}},
		"a build version": {sotw, session.Client, sub(2, sub(8, sub(2, num(1, 9)), sub(1, num(1, 1), num(2, 40), num(3, 3), num(4, 5), num(0x10, 1)))), Message{
			Kind: SotwRequest, Node: &Node{UserAgentVersion: "1.40.3"},
		}},
		"a large version": {sotw, session.Client, sub(2, sub(8, sub(1, num(1, 1<<32+1)))), Message{Kind: SotwRequest, Node: &Node{UserAgentVersion: "1.0.0"}}},
	} {
		got := Peek(c.m, c.side, "", c.data)
		for i := range got.Resources {
			got.Resources[i].Body = nil
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What is of a type as a whole is told by the field that holds its dump.
func TestPeekTypesOfClientStatus(t *testing.T) {
	for i, name := range []string{"LDS", "CDS", "RDS", "SRDS", "EDS"} {
		r := PeekClientStatus(sub(1, sub(2, sub(protowire.Number(i+2), num(1, 1))))).Configs[0].Resources[0]
		if r.TypeURL != xds.TypeURL(name) {
			t.Errorf("field %d: %q", i+2, r.TypeURL)
		}
	}
	for n, words := range map[uint64][2]string{0: {"UNKNOWN", "UNKNOWN"}, 4: {"RECEIVED_ERROR", "ERROR"}, 5: {"5", "5"}, 1<<64 - 1: {"-1", "-1"}} {
		r := PeekClientStatus(sub(1, sub(2, num(1, n), num(7, n)))).Configs[0].Resources[0]
		if r.Client != words[0] || r.Config != words[1] {
			t.Errorf("%d: %s, %s", n, r.Client, r.Config)
		}
	}
	for n, want := range map[uint64]string{5: "RECEIVED_ERROR", 6: "TIMEOUT", 7: "7"} {
		r := PeekClientStatus(sub(1, sub(3, num(7, n), num(9, 1), sub(4, str(1, clusterURL))))).Configs[0].Resources[0]
		if r.Client != want || !r.Static || r.BodyURL != clusterURL || r.Body == nil || len(r.Body) > 0 {
			t.Errorf("%d: %+v", n, r)
		}
	}
	if got := fmt.Sprint(PeekClientStatus(sub(2, str(1, "x")))); got != fmt.Sprint(ClientStatus{}) {
		t.Errorf("another field: %s", got)
	}
}
