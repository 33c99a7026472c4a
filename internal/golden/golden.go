// Package golden compares what a test has with a file that is kept in the repository.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Updating says whether golden files are to be written anew.
func Updating() bool { return *update }

// Is requires that a file has a text. With the flag -update of the test it writes
// the file.
func Is(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	is, should := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(is), len(should)) {
		if i >= len(is) || i >= len(should) || is[i] != should[i] {
			t.Errorf("%s differs in line %d; run with -update and look at the difference.\ngot:  %s\nwant: %s", path, i+1, three(is, i), three(should, i))
			return
		}
	}
}

// three are lines from one on.
func three(lines []string, at int) string {
	at = min(at, len(lines))
	return strings.Join(lines[at:min(at+3, len(lines))], "\n      ")
}
