package render

import (
	"os"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
)

// docs/rules.md is made from the rules.
func TestRuleReference(t *testing.T) {
	const path = "../../docs/rules.md"
	want := RuleReference(check.Rules())
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("docs/rules.md is not what the rules say (%v); go test ./internal/render -run RuleReference -update writes it", err)
	}
}
