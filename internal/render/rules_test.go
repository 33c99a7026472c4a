package render

import (
	"os"
	"strings"
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

// Each rule leads to a text that it holds others to, but for one that is about
// a habit of libraries.
func TestRulesLeadToTheProtocol(t *testing.T) {
	for _, r := range check.Rules() {
		if !strings.Contains(specLinks(r.Spec), "](https://") && r.ID != "message-over-default-limit" {
			t.Errorf("%s: %q leads nowhere", r.ID, r.Spec)
		}
	}
	for spec, want := range map[string]string{
		"Incremental xDS, Knowing When a Requested Resource Does Not Exist": "#incremental-xds)",
		"ACK/NACK and resource type instance version":                       "#ack-nack-and-resource-type-instance-version)",
		"Unsubscribing from Resources":                                      "#xds-protocol-unsubscribe)",
		"gRFC A27, A36":                                                     "[A36](https://github.com/grpc/proposal/blob/master/A36-xds-for-servers.md)",
		"TTL":                                                               "#ttl)",
	} {
		if got := specLinks(spec); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s", spec, got)
		}
	}
}
