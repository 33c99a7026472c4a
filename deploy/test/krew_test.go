package test

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/krew/pkg/index"
	"sigs.k8s.io/yaml"
)

// The manifest of the plugin is one that krew reads; what a release fills in is not
// there yet.
func TestKrew(t *testing.T) {
	text, err := os.ReadFile("../krew/xds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var p index.Plugin
	if err := yaml.UnmarshalStrict(text, &p); err != nil {
		t.Fatal(err)
	}
	if p.Name != "xds" || p.Kind != "Plugin" || p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || len(p.Spec.Platforms) != 6 || len(p.Spec.ShortDescription) > 50 {
		t.Errorf("%+v", p)
	}
	for _, on := range p.Spec.Platforms {
		labels := on.Selector.MatchLabels
		program := "kubectl-xds"
		if labels["os"] == "windows" {
			program += ".exe"
		}
		if on.Bin != program || on.Files[0].From != program || !strings.Contains(on.URI, labels["os"]+"_"+labels["arch"]) || !strings.Contains(on.URI, p.Spec.Version) || len(on.Sha256) != 64 {
			t.Errorf("%+v", on)
		}
	}
}
