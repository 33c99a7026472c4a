package whose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/whose"
	"github.com/xdsproxy/xdsproxy/decode/origin"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// read steps through a recording of a system.
func read(t *testing.T, name string, o check.Options) *check.Checker {
	t.Helper()
	r, err := recorder.Open("../testdata/systems/" + name + ".xdsp")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	k := check.NewChecker(o)
	for e, err := range r.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		k.Step(&e)
	}
	return k
}

// said are sources with their systems.
func said(list []origin.Source, more bool) string {
	var out []string
	for _, s := range list {
		out = append(out, s.System+": "+s.String())
	}
	if more {
		out = append(out, "more")
	}
	return strings.Join(out, "; ")
}

// What was recorded of real control planes names their objects.
func TestRecorded(t *testing.T) {
	for _, c := range []struct{ recording, typ, name, want string }{
		{"istio-sidecar-delta", "CDS", "outbound|80|v1|web.example.com", "Istio: DestinationRule default/web"},
		{"istio-sidecar-delta", "CDS", "outbound|8080||kube-svc.default.svc.cluster.local", "Istio: Service default/kube-svc, port 8080 (by its name)"},
		{"istio-sidecar-delta", "RDS", "80", "Istio: VirtualService default/web"},
		{"istio-sidecar-delta", "CDS", "PassthroughCluster", ""},
		{"istio-router-delta", "RDS", "https.443.https.gw.istio-system", "Istio: VirtualService istio-system/gwvs"},
		{"eg-updates-plain", "CDS", "httproute/default/r0/rule/0", "Envoy Gateway: HTTPRoute default/r0, rule 0"},
		{"eg-updates-plain", "CDS", "httproute/default/r1/rule/0", "Envoy Gateway: HTTPRoute default/r1, rule 0; Envoy Gateway: Backend default/dns"},
		{"eg-updates-plain", "CDS", "tcproute/default/t/rule/-1", "Envoy Gateway: TCPRoute default/t"},
		{"eg-updates-plain", "EDS", "httproute/default/r1/rule/1", "Envoy Gateway: Backend default/b0"},
		{"eg-updates-plain", "CDS", "httproute/default/r4/rule/1", "Envoy Gateway: HTTPRoute default/r4, rule 1 (by its name)"}, // it was removed
		{"eg-updates-plain", "LDS", "default/eg/http", ""},
		{"eg-warm-plain", "RDS", "default/eg/https", "Envoy Gateway: kind unknown default/eg, section https; Envoy Gateway: HTTPRoute default/r0, rule 1; " +
			"Envoy Gateway: HTTPRoute default/r0, rule 0; Envoy Gateway: HTTPRoute default/r1, rule 1; Envoy Gateway: HTTPRoute default/r1, rule 0; " +
			"Envoy Gateway: HTTPRoute default/r2, rule 1; Envoy Gateway: HTTPRoute default/r2, rule 0"},
		{"consul-nack", "CDS", "local_app", ""},
	} {
		k := read(t, c.recording, check.Options{Rules: []*check.Rule{}})
		got := "it was never spoken of"
		for _, client := range k.Status() {
			tree := k.Tree(client.Client)
			for _, list := range [][]*engine.Node{tree.Roots, tree.Dangling} {
				visit(list, func(n *engine.Node) {
					if n.Type == c.typ && n.Name == c.name {
						got = said(n.Sources, n.MoreSources)
					}
				})
			}
		}
		if strings.Contains(c.want, "(by its name)") && strings.HasPrefix(got, "it was never") {
			got = said(whose.Of(nil, nil, c.typ, []string{c.name})) // it is gone
		}
		if got != c.want {
			t.Errorf("%s: %s %s: %q, not %q", c.recording, c.typ, c.name, got, c.want)
		}
	}
}

func visit(list []*engine.Node, f func(*engine.Node)) {
	for _, n := range list {
		f(n)
		visit(n.Children, f)
	}
}

// Findings name the objects of the resources that they are about: of those that
// are gone as far as the name tells.
func TestFindings(t *testing.T) {
	for _, c := range []struct{ recording, rule, want string }{
		{"istio-router-delta", "resource-deprecated-field", "Istio: VirtualService istio-system/gwvs"},
		{"eg-updates-plain", "dependent-removed-in-use", "Envoy Gateway: HTTPRoute default/r2, rule 0 (by its name); Envoy Gateway: HTTPRoute default/r2, rule 1 (by its name)"},
		{"eg-warm-plain", "cluster-warming-starved", "Envoy Gateway: Backend default/b0"},
		{"consul-nack", "nack-received", ""},
	} {
		k := read(t, c.recording, check.Options{})
		var got []string
		for _, f := range k.Findings() {
			if f.Rule.ID == c.rule {
				got = append(got, said(f.Sources, f.MoreSources))
			}
		}
		if !slices.Contains(got, c.want) {
			t.Errorf("%s: %s: %q, not %q", c.recording, c.rule, got, c.want)
		}
	}
}
