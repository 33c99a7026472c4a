package filter

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// Entries are found by the objects that their resources were made of: by kind, by
// namespace and by name. What was removed has its name alone.
func TestSource(t *testing.T) {
	var a anypb.Any
	if err := protojson.Unmarshal([]byte(`{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"c","metadata":{"filter_metadata":{
		"envoy-gateway":{"resources":[{"kind":"HTTPRoute","namespace":"shop","name":"checkout"}]}}}}`), &a); err != nil {
		t.Fatal(err)
	}
	row := func(m decode.Message) *Row {
		return &Row{Entry: &session.Entry{Kind: session.KindMessage}, Change: &check.Change{Change: engine.Change{Type: "CDS", Message: &m}}}
	}
	sent := row(decode.Message{Kind: decode.DeltaResponse, Resources: []decode.Resource{{Name: "c", TypeURL: a.TypeUrl, Body: a.Value}}})
	gone := row(decode.Message{Kind: decode.DeltaResponse, Removed: []string{"httproute/shop/cart/rule/0"}})
	asked := row(decode.Message{Kind: decode.DeltaRequest, Subscribe: []string{"httproute/shop/cart/rule/0"}})
	for _, c := range []struct {
		text             string
		sent, gone, asks bool
	}{
		{"source:HTTPRoute/shop/*", true, true, false},
		{"source:httproute", true, true, false},
		{"source:HTTPRoute/shop", true, true, false},
		{"source:*/shop/cart", false, true, false},
		{"source:HTTPRoute/shop/checkout", true, false, false},
		{"source:HTTPRoute/other/*", false, false, false},
		{"source:TCPRoute", false, false, false},
		{"-source:HTTPRoute", false, false, true},
	} {
		f := parse(t, c.text)
		if got := [3]bool{f.Takes(sent), f.Takes(gone), f.Takes(asked)}; got != [3]bool{c.sent, c.gone, c.asks} {
			t.Errorf("%s: %v", c.text, got)
		}
		if !f.Needs().Content {
			t.Errorf("%s does without the content", c.text)
		}
	}
}
