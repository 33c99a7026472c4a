package check_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/golden"
)

// TestFindings: all that is said of each finding of the stories and of the catalogue,
// as people read it.
func TestFindings(t *testing.T) {
	all := everyRule(t)
	var out strings.Builder
	for _, glob := range []string{"catalogue/*.positive.xds", "stories/*.xds"} {
		files, err := filepath.Glob("testdata/" + glob)
		if err != nil || len(files) == 0 {
			t.Fatal(err, glob)
		}
		for _, file := range files {
			fmt.Fprintf(&out, "%s\n", strings.TrimSuffix(filepath.Base(file), ".xds"))
			for _, f := range check.Fold(judge(t, file, all)) {
				fmt.Fprintf(&out, "  %s %s of %s, fault %v: %s\n    ", f.Rule.ID, f.Severity, strings.TrimSpace(f.Client+" "+f.Type), f.Fault, f.Message)
				f.At, f.Last = f.At.UTC(), f.Last.UTC()
				fmt.Fprintf(&out, "%v by %v, %d times up to %d in %v", f.Names, f.Seqs, f.Count, f.LastSeq, f.Last.Sub(f.At).Round(time.Millisecond))
				if len(f.Clients) > 1 || f.MoreClients {
					fmt.Fprintf(&out, ", on %v %v", f.Clients, f.MoreClients)
				}
				if len(f.Sources) > 0 || f.MoreSources {
					fmt.Fprintf(&out, ", of %v %v", f.Sources, f.MoreSources)
				}
				out.WriteString("\n")
			}
		}
	}
	golden.Is(t, filepath.Join("testdata", "findings.txt"), out.String())
}
