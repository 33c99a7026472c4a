package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
)

// A story may say how a finding is worded: "# says: RULE TEXT" is a part of it.
func TestStoriesSay(t *testing.T) {
	eachLine(t, "testdata/stories/*.xds", func(file, line string) {
		remark, is := strings.CutPrefix(line, "# says: ")
		if !is {
			return
		}
		id, part, _ := strings.Cut(remark, " ")
		found := judge(t, file, everyRule(t))
		if !slices.ContainsFunc(found, func(f check.Finding) bool { return f.Rule.ID == id && strings.Contains(f.Message, part) }) {
			t.Errorf("%s: %s does not say %q; found: %s", file, id, part, words(found))
		}
	})
}

// What rules say of clients is what clients do.
func TestRulesSay(t *testing.T) {
	for id, part := range map[string]string{
		"dependent-removed-in-use":   "ignores the removal of endpoints", // eds.cc: an update without resources changes nothing
		"partial-state-of-the-world": "rolled back",
	} {
		i := slices.IndexFunc(check.Rules(), func(r *check.Rule) bool { return r.ID == id })
		if r := check.Rules()[i]; !strings.Contains(r.Means, part) {
			t.Errorf("%s does not say %q: %s", id, part, r.Means)
		}
	}
}
