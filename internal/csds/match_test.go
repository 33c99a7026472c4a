package csds

import (
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

func gateway(t testing.TB) *corev3.Node {
	t.Helper()
	metadata, err := structpb.NewStruct(map[string]any{
		"ROLE": "gateway", "WEIGHT": 3.5, "READY": true, "NOTHING": nil,
		"LABELS": map[string]any{"app": "web"}, "PORTS": []any{80.0, 443.0},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &corev3.Node{Id: "gw-0.istio", Metadata: metadata}
}

func requestOf(t testing.TB, text string) *statusv3.ClientStatusRequest {
	t.Helper()
	r := &statusv3.ClientStatusRequest{}
	if err := protojson.Unmarshal([]byte(text), r); err != nil {
		t.Fatal(err)
	}
	return r
}

// One of the matchers has to fit, and of that all.
func TestSelection(t *testing.T) {
	t.Parallel()
	node := gateway(t)
	of := func(key, value string) string {
		return `{"node_metadatas": [{"path": [{"key": "` + key + `"}], "value": ` + value + `}]}`
	}
	for matchers, want := range map[string]bool{
		``:                                     true,
		`{}`:                                   true,
		`{"node_id": {"exact": "gw-0.istio"}}`: true,
		`{"node_id": {"exact": "GW-0.istio"}}`: false,
		`{"node_id": {"exact": "GW-0.istio", "ignore_case": true}}`:                                                        true,
		`{"node_id": {"prefix": "gw-"}}`:                                                                                   true,
		`{"node_id": {"suffix": ".istio"}}`:                                                                                true,
		`{"node_id": {"suffix": "gw-0"}}`:                                                                                  false,
		`{"node_id": {"contains": "0.I", "ignore_case": true}}`:                                                            true,
		`{"node_id": {"safe_regex": {"regex": "gw-[0-9]+\\..*"}}}`:                                                         true,
		`{"node_id": {"safe_regex": {"regex": "gw"}}}`:                                                                     false,
		`{"node_id": {"exact": "other"}}, {"node_id": {"prefix": "gw-"}}`:                                                  true,
		of("ROLE", `{"string_match": {"exact": "gateway"}}`):                                                               true,
		of("ROLE", `{"bool_match": true}`):                                                                                 false,
		of("WEIGHT", `{"double_match": {"exact": 3.5}}`):                                                                   true,
		of("WEIGHT", `{"double_match": {"range": {"start": 3.5, "end": 4}}}`):                                              true,
		of("WEIGHT", `{"double_match": {"range": {"start": 3, "end": 3.5}}}`):                                              false,
		of("READY", `{"bool_match": true}`):                                                                                true,
		of("READY", `{"present_match": true}`):                                                                             true,
		of("LABELS", `{"present_match": true}`):                                                                            false,
		of("MISSING", `{"present_match": true}`):                                                                           false,
		of("NOTHING", `{"null_match": {}}`):                                                                                true,
		of("READY", `{"null_match": {}}`):                                                                                  false,
		of("LABELS\"}, {\"key\": \"app", `{"string_match": {"prefix": "w"}}`):                                              true,
		of("PORTS", `{"list_match": {"one_of": {"double_match": {"exact": 443}}}}`):                                        true,
		of("PORTS", `{"list_match": {"one_of": {"double_match": {"exact": 1}}}}`):                                          false,
		of("READY", `{"or_match": {"value_matchers": [{"null_match": {}}, {"bool_match": true}]}}`):                        true,
		`{"node_id": {"exact": "other"}, "node_metadatas": [{"path": [{"key": "READY"}], "value": {"bool_match": true}}]}`: false,
	} {
		s, err := selectionOf(requestOf(t, `{"node_matchers": [`+matchers+`]}`).NodeMatchers)
		if err != nil {
			t.Errorf("%s: %v", matchers, err)
			continue
		}
		if got := s.takes(node); got != want {
			t.Errorf("%s: %v", matchers, got)
		}
	}
}

// What is asked for in a way that is not known is named.
func TestSelectionRefused(t *testing.T) {
	t.Parallel()
	deep := `{"null_match": {}}`
	for range 10 {
		deep = `{"list_match": {"one_of": ` + deep + `}}`
	}
	for matcher, want := range map[string]string{
		`{"node_id": {}}`: "node_matchers[0].node_id.match_pattern without a value is not supported",
		`{"node_id": {"safe_regex": {"regex": "("}}}`:                                   "node_matchers[0].node_id.safe_regex: error parsing regexp: missing closing ): `^(?:()$`",
		`{"node_metadatas": [{"value": {"bool_match": true}}]}`:                         "node_matchers[0].node_metadatas[0].path without a segment is not supported",
		`{"node_metadatas": [{"path": [{}], "value": {"bool_match": true}}]}`:           "node_matchers[0].node_metadatas[0].path without a key is not supported",
		`{"node_metadatas": [{"path": [{"key": "a"}]}]}`:                                "node_matchers[0].node_metadatas[0].value.match_pattern without a value is not supported",
		`{"node_metadatas": [{"path": [{"key": "a"}], "value": {"double_match": {}}}]}`: "node_matchers[0].node_metadatas[0].value.double_match.match_pattern without a value is not supported",
		`{"node_metadatas": [{"path": [{"key": "a"}], "value": ` + deep + `}]}`:         "node_matchers[0].node_metadatas[0].value.list_match.one_of.list_match.one_of.list_match.one_of.list_match.one_of.list_match.one_of.list_match.one_of.list_match.one_of.list_match.one_of.list_match.one_of is nested too deeply",
	} {
		_, err := selectionOf(requestOf(t, `{"node_matchers": [`+matcher+`]}`).NodeMatchers)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", matcher, err)
		}
	}
	many := requestOf(t, `{"node_matchers": [{}]}`)
	for len(many.NodeMatchers) <= maxMatchers {
		many.NodeMatchers = append(many.NodeMatchers, many.NodeMatchers[0])
	}
	if _, err := selectionOf(many.NodeMatchers); err == nil {
		t.Error("any number of matchers is taken")
	}
}

// A short regular expression can become a large program: all of a request have a
// bound together.
func TestSelectionOfLargeRegex(t *testing.T) {
	t.Parallel()
	one := `{"node_id": {"safe_regex": {"regex": "` + strings.Repeat("a{1000}", 100) + `"}}}`
	if _, err := selectionOf(requestOf(t, `{"node_matchers": [`+one+`]}`).NodeMatchers); err != nil {
		t.Error(err)
	}
	_, err := selectionOf(requestOf(t, `{"node_matchers": [`+one+`, `+one+`]}`).NodeMatchers)
	if want := "node_matchers[1].node_id.safe_regex: the regular expressions of a request have at most 1024 bytes together"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// Whatever a request asks for, it is answered or refused.
func FuzzSelection(f *testing.F) {
	for _, text := range []string{
		`{"node_matchers": [{"node_id": {"safe_regex": {"regex": "a*b"}}, "node_metadatas": [{"path": [{"key": "LABELS"}, {"key": "app"}], "value": {"string_match": {"suffix": "b"}}}]}]}`,
		`{"node_matchers": [{"node_metadatas": [{"path": [{"key": "PORTS"}], "value": {"list_match": {"one_of": {"or_match": {"value_matchers": [{"double_match": {"range": {}}}]}}}}}]}]}`,
	} {
		b, err := proto.Marshal(requestOf(f, text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	node := gateway(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &statusv3.ClientStatusRequest{}
		if proto.Unmarshal(b, r) != nil {
			return
		}
		s, err := selectionOf(r.NodeMatchers)
		if err != nil {
			return
		}
		if s.takes(node) && !s.named(node.Id) {
			t.Errorf("%v takes a node whose id it does not", r)
		}
		if len(r.NodeMatchers) == 0 && !s.takes(nil) {
			t.Error("without matchers a node is not taken")
		}
	})
}
