package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// recipe is the block of docs/tls.md behind the mark of this name, with dir in
// the place of /etc, and other places as told (what, by what, ...).
func recipe(t *testing.T, name, dir string, places ...string) string {
	t.Helper()
	page := string(contents(t, filepath.Join("..", "..", "docs", "tls.md")))
	_, rest, found := strings.Cut(page, "\n<!-- recipe: "+name+" -->\n```")
	_, rest, begun := strings.Cut(rest, "\n")
	block, _, ended := strings.Cut(rest, "\n```\n")
	if !found || !begun || !ended {
		t.Fatalf("docs/tls.md has no recipe %q", name)
	}
	for i := 0; i < len(places); i += 2 {
		if !strings.Contains(block, places[i]) {
			t.Fatalf("the recipe %q does not speak of %s", name, places[i])
		}
	}
	return strings.NewReplacer(append(places, "/etc/", dir+"/")...).Replace(block)
}

// recipeArgs are the flags of a recipe for xdsproxy run, but those that say
// where it listens and dials.
func recipeArgs(t *testing.T, name, dir string) []string {
	t.Helper()
	words := strings.Fields(strings.ReplaceAll(recipe(t, name, dir), "\\\n", " "))
	if len(words) < 6 || !slices.Equal(words[:3], []string{"xdsproxy", "run", "--listen"}) || words[4] != "--upstream" {
		t.Fatalf("recipe %q: %q", name, words)
	}
	return words[6:]
}

// recipeSocket is the transport_socket of a recipe for Envoy.
func recipeSocket(t *testing.T, name, dir string, places ...string) object {
	t.Helper()
	var all object
	if err := yaml.Unmarshal([]byte(recipe(t, name, dir, places...)), &all); err != nil {
		t.Fatalf("recipe %q: %v", name, err)
	}
	return all["transport_socket"].(object)
}
