package test

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// krewPlugin is the format of krew's manifests as its developer guide has it. Its own
// types are in a module that pins another Kubernetes.
type krewPlugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string `json:"version"`
		Homepage         string `json:"homepage"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
		Platforms        []struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			URI    string `json:"uri"`
			Sha256 string `json:"sha256"`
			Bin    string `json:"bin"`
			Files  []struct {
				From string `json:"from"`
				To   string `json:"to"`
			} `json:"files"`
		} `json:"platforms"`
	} `json:"spec"`
}

// The manifest of the plugin is one that krew reads; what a release fills in is not
// there yet.
func TestKrew(t *testing.T) {
	text, err := os.ReadFile("../krew/xds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var p krewPlugin
	if err := yaml.UnmarshalStrict(text, &p); err != nil {
		t.Fatal(err)
	}
	if p.Metadata.Name != "xds" || p.Kind != "Plugin" || p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || len(p.Spec.Platforms) != 6 || len(p.Spec.ShortDescription) > 50 {
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
