package inspect

import (
	"strconv"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/handmade"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
)

// walking is an Inspector in the middle of a resource.
func walking(f Facts) *Inspector {
	in := New(nil)
	in.facts = &f
	return in
}

// Messages are followed as deep as they may be nested, and what is deeper cannot be
// decoded.
func TestDepthIsBounded(t *testing.T) {
	for depth, want := range map[int]string{maxDepth: "", maxDepth + 1: tooDeep} {
		in := walking(Facts{})
		if in.message(in.byName([]byte("envoy.config.cluster.v3.Cluster")), nil, depth); in.facts.Undecodable != want {
			t.Errorf("a message at depth %d: %q", depth, in.facts.Undecodable)
		}
		in = walking(Facts{})
		if in.any(nil, depth); in.facts.Undecodable != want {
			t.Errorf("an Any at depth %d: %q", depth, in.facts.Undecodable)
		}
	}
	for what, c := range map[string]struct {
		typ  string
		body []byte
		at   string
	}{
		"a message":   {"envoy.config.cluster.v3.Cluster", handmade.Sub(3), "eds_cluster_config"},
		"an Any":      {"envoy.config.core.v3.TransportSocket", handmade.Sub(3), "typed_config"},
		"a map entry": {"envoy.config.cluster.v3.Cluster", handmade.Sub(36), `typed_extension_protocol_options[""]`},
	} {
		for depth, want := range map[int]string{maxDepth - 1: "", maxDepth: c.at + ": " + tooDeep} {
			in := walking(Facts{})
			if in.message(in.byName([]byte(c.typ)), c.body, depth); in.facts.Undecodable != want {
				t.Errorf("%s within a message at depth %d: %q", what, depth, in.facts.Undecodable)
			}
		}
	}
	inner := handmade.Str(2, string(handmade.Num(1000, 1))) // a field that is not known
	for anys, want := range map[int]string{maxAnys - 1: "unknown field 1000", maxAnys: ""} {
		in := walking(Facts{})
		in.anys = anys
		if in.any(append(handmade.Str(1, handmade.ClusterURL), inner...), 0); strings.Join(in.facts.Unknown, "; ") != want {
			t.Errorf("in %d others an Any has %q", anys, in.facts.Unknown)
		}
	}
}

// Of what is not known, of what is not valid and of what is proven so much is told.
func TestFactsAreBounded(t *testing.T) {
	in := walking(Facts{})
	for i := range maxUnknown + 1 {
		in.finding("", strconv.Itoa(i+1))
	}
	if n := len(in.facts.Unknown); n != maxUnknown || in.facts.Unknown[n-1] != strconv.Itoa(maxUnknown) {
		t.Errorf("not known are %q", in.facts.Unknown)
	}
	in = walking(Facts{})
	in.proving = true
	for i := range maxProven + 1 {
		in.cluster(&fieldFacts{name: "cluster"}, []byte(strconv.Itoa(i+1)))
	}
	if n := len(in.facts.Proven); n != maxProven || in.facts.Proven[n-1] != strconv.Itoa(maxProven) {
		t.Errorf("proven are %q", in.facts.Proven)
	}
	for had, want := range map[int]int{maxInvalid - 1: maxInvalid, maxInvalid: maxInvalid} {
		in = walking(Facts{Invalid: make([]string, had)})
		in.path = []step{{field: &fieldFacts{name: "inside"}, index: -1}}
		in.validate(in.byName([]byte("envoy.config.cluster.v3.Cluster")), nil) // its name is missing
		if len(in.facts.Invalid) != want {
			t.Errorf("of %d there are %q", had+1, in.facts.Invalid)
		}
		in.path = nil
		in.validate(in.byName([]byte("envoy.config.cluster.v3.Cluster")), nil)
		if len(in.facts.Invalid) != maxInvalid || in.facts.InvalidOwn != 1 || in.facts.Invalid[0] == "" {
			t.Errorf("with that of the resource there are %q, %d of it", in.facts.Invalid, in.facts.InvalidOwn)
		}
	}
}
