package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
)

// Each story begins with what it is about: "# expect: RULE SEVERITY",
// "# silent: RULE", or "# fold: RULE FINDINGS CLIENTS", how many findings there
// are once they are folded, and on how many clients each.
func TestStories(t *testing.T) {
	all := everyRule(t)
	known := make(map[string]bool)
	for _, r := range all {
		known[r.ID] = true
	}
	files, err := filepath.Glob("testdata/stories/*.xds")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d stories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".xds"), func(t *testing.T) {
			found := judge(t, file, all)
			worst := make(map[string]string)
			for _, f := range found {
				if old, ok := worst[f.Rule.ID]; !ok || old == check.Info.String() || f.Severity == check.Error {
					worst[f.Rule.ID] = f.Severity.String()
				}
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			remarks := 0
			for line := range strings.Lines(string(text)) {
				remark := strings.Fields(line)
				if len(remark) < 3 || remark[0] != "#" || !strings.Contains("expect: silent: fold:", remark[1]) {
					continue
				}
				id := remark[2]
				if remarks++; !known[id] {
					t.Errorf("there is no rule %q", id)
				}
				switch {
				case remark[1] == "fold:":
					folded := of(check.Fold(found), id)
					if got := fmt.Sprint(len(folded)); len(remark) != 5 || got != remark[3] {
						t.Errorf("want %s of %s; found %s: %s", remark[3:], id, got, words(folded))
					}
					for _, f := range folded {
						if got := fmt.Sprint(max(len(f.Clients), 1)); got != remark[4] {
							t.Errorf("on %s clients: %s", got, f.Message)
						}
					}
				case remark[1] == "silent:" && has(found, id):
					t.Errorf("want no %s; found: %s", id, words(found))
				case remark[1] == "expect:" && (len(remark) != 4 || worst[id] != remark[3]):
					t.Errorf("want %s of %s; found: %s", remark[3:], id, words(found))
				}
			}
			if remarks == 0 {
				t.Error("the story does not say what it is about")
			}
		})
	}
}
