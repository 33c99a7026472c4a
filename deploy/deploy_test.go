package deploy

import (
	"os"
	"strings"
	"testing"
)

// A patch is the manifest with the values in it, from its spec on, and nothing else in it
// has changed.
func TestPatches(t *testing.T) {
	for file, c := range map[string]struct {
		got   string
		pairs []string
	}{
		"sidecar/patch.yaml": {
			Sidecar("registry.example/x:1", "istiod.example:15010"),
			[]string{"image: xdsproxy\n", "image: registry.example/x:1\n", "control-plane.example:18000", "istiod.example:15010"},
		},
		"original-dst/patch.yaml": {
			OriginalDst("registry.example/x:1", "registry.example/t:2", 15012),
			[]string{"image: xdsproxy\n", "image: registry.example/x:1\n", "image: xdsproxy-iptables\n", "image: registry.example/t:2\n", `value: "18000"`, `value: "15012"`},
		},
	} {
		manifest, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, spec, found := strings.Cut(string(manifest), "\nspec:\n")
		if want := "spec:\n" + strings.NewReplacer(c.pairs...).Replace(spec); !found || c.got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", file, c.got, want)
		}
		for i := 0; i < len(c.pairs); i += 2 {
			if strings.Contains(c.got, c.pairs[i]) || strings.Count(c.got, c.pairs[i+1]) != 1 {
				t.Errorf("%s has %q, or not one %q", file, c.pairs[i], c.pairs[i+1])
			}
		}
	}
}

// What is to be replaced must stand in the manifest, once: else a pod would run an image
// that is nowhere.
func TestManifestsOfOthers(t *testing.T) {
	for manifest, want := range map[string]any{
		"a\nspec:\nx: KEY\n":      nil,
		"a\nspec:\nx: y\n":        "deploy: the manifest has not one KEY",
		"a\nspec:\nx: KEY, KEY\n": "deploy: the manifest has not one KEY",
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("%q: %v", manifest, got)
				}
			}()
			if got := fill(manifest, "x", "x", "KEY", "value"); got != "spec:\nx: value\n" {
				t.Errorf("%q", got)
			}
		}()
	}
}
