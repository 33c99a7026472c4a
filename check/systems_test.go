package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// Sessions of clients and servers that others wrote, as they are in use. Beside
// NAME.xdsp, NAME.txt says who they are and what happened, and in lines
// "expect: RULE SEVERITY ENTRY" what is truly wrong: just that is found, but for
// notes. These sessions cannot be recorded anew.
func TestSystems(t *testing.T) {
	files, err := filepath.Glob("testdata/systems/*.xdsp")
	if err != nil || len(files) < 14 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".xdsp"), func(t *testing.T) {
			text, err := os.ReadFile(strings.TrimSuffix(file, ".xdsp") + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			entries := readAll(t, file)
			found := judgeEntries(entries)
			for _, f := range found {
				sound(t, &f)
			}
			wrong := atLeast(check.Warning, found)
			for line := range strings.Lines(string(text)) {
				expected, ok := strings.CutPrefix(line, "expect: ")
				if !ok {
					continue
				}
				var rule, severity string
				var entry session.Seq
				if n, err := fmt.Sscanf(expected, "%s %s %d", &rule, &severity, &entry); n != 3 {
					t.Fatalf("%q: %v", line, err)
				}
				i := slices.IndexFunc(wrong, func(f check.Finding) bool {
					return f.Rule.ID == rule && f.Severity.String() == severity && slices.Contains(f.Seqs, entry)
				})
				if i < 0 {
					t.Errorf("no %s", strings.TrimSpace(expected))
					continue
				}
				wrong = slices.Delete(wrong, i, i+1)
			}
			for _, f := range wrong {
				t.Errorf("not expected: %s %s (%v): %s", f.Rule.ID, f.Severity, f.Seqs, f.Message)
			}
			sameAsScript(t, entries, check.Warning) // a script does not say which field is deprecated
		})
	}
}
