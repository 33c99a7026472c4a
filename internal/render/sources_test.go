package render_test

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// What a peer wrote does nothing to a terminal, and a name that is to be hidden is
// in none of the words.
func TestMadeFrom(t *testing.T) {
	list := []render.Source{{System: "Envoy Gateway", Kind: "HTTPRoute", Namespace: "shop", Name: "a\x1b[31m", Section: "web", Rule: 3}, {System: "Istio", Kind: "Service", Namespace: "shop", Name: "b"}}
	text := render.MadeFrom(list, false, 1)
	if strings.Contains(text, "\x1b") || !strings.HasPrefix(text, "made from HTTPRoute shop/a") || !strings.HasSuffix(text, ", section web, rule 2; and 1 more") {
		t.Errorf("%q", text)
	}
	hidden := render.MadeFrom(render.Renamed(list, func(string) string { return "x" }), false, 2)
	if hidden != "made from HTTPRoute x, section x, rule 2; Service x" || list[1].Name != "b" {
		t.Errorf("%q", hidden)
	}
	if text := render.MadeFrom(nil, false, 2); text != "" {
		t.Errorf("of nothing: %q", text)
	}
}
