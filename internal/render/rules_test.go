package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/golden"
)

// docs/rules.md is made from the rules.
func TestRuleReference(t *testing.T) {
	golden.Is(t, "../../docs/rules.md", ruleReference(check.Rules()))
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

// ruleReference is docs/rules.md.
func ruleReference(rules []*check.Rule) string {
	var b strings.Builder
	b.WriteString("# Rules\n\nWhat xdsproxy looks for in a conversation. `xdsproxy explain RULE` prints the same. [How verdicts are proved](proofs.md) lists the conversations, recordings and public bugs that each rule is held against. This page is generated from the rules (`go test ./internal/render -run RuleReference -update`).\n\n")
	b.WriteString("*Error*: a broken \"must\" of the protocol, or a state that a peer cannot recover from. *Warning*: works today, hurts or is fragile. *Info*: worth a line, never a failure. Most severities depend on what was seen; the usual one is given. *D*: follows from content and order of the messages alone; *T*: needs a timer; *H*: a heuristic, never an error. *In the protocol* names sections of [xDS REST and gRPC protocol](https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol), unless it says otherwise.\n\n")
	b.WriteString("What has one cause is one finding with a count, and on many clients one finding with all their names. The cause is the same where rule, severity, type and resources are the same, and so is the reason that a peer gave for a rejection or for the end of a stream. What of that is the client's own name does not matter. Clients without a node id are not told apart. Up to 2,000 clients of a cause are counted; `2,000+ clients`, in JSON `more_clients`, says that there are more. What has been printed stays: the log and `watch` tell the first at once and sum up the others, in one line a second at most. `watch -o jsonl` and `/metrics` have each client's.\n\n")
	group := ""
	for _, r := range rules {
		if r.Group != group {
			group = r.Group
			fmt.Fprintf(&b, "## %s\n\n| rule | | what is wrong |\n|---|---|---|\n", group)
			for _, o := range rules {
				if o.Group == group {
					fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", o.ID, o.ID, o.Severity, o.Title)
				}
			}
			b.WriteByte('\n')
		}
		off := ""
		if r.Off {
			off = " · off unless enabled"
		}
		fmt.Fprintf(&b, "### `%s`\n\n%s.\n\n*Fault of %s · %s · %s · %s%s*\n\n%s\n\n**Usual causes.** %s\n\n**What to do.** %s\n\nIn the protocol: %s. [How it is proved](proofs.md#%s).\n\n",
			r.ID, upperFirst(r.Title), faultWords(r.Fault), r.Severity, r.Confidence, r.Scope, off, r.Means, r.Causes, r.Next, specLinks(r.Spec), r.ID)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func upperFirst(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if word == "" || strings.Contains(word, "_") { // the name of a field
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
