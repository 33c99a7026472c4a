package file_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/xdsproxy/xdsproxy/decode/file"
)

// fixtures are the files in an archive of testdata. Which archive one stands in
// says what Envoy 1.40 does with it: that is measured by internal/e2e.
func fixtures(t testing.TB, archive string) []txtar.File {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", archive+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return a.Files
}

// A file is read if Envoy takes it, and what Envoy leaves out is warned of.
func TestFixtures(t *testing.T) {
	for archive, least := range map[string]int{"taken": 40, "leftout": 10, "rejected": 40, "constraint": 5} {
		files := fixtures(t, archive)
		if len(files) < least {
			t.Errorf("%s has %d files", archive, len(files))
		}
		for _, f := range files {
			c, err := file.Read(f.Name, f.Data)
			if taken := err == nil; taken != (archive != "rejected") {
				t.Errorf("%s/%s: %v", archive, f.Name, err)
			}
			left := 0
			for _, w := range c.Warnings {
				if strings.Contains(w.Hint, "dynamic_unknown_fields") {
					left++
				}
			}
			if want := archive == "leftout"; want != (left > 0) {
				t.Errorf("%s/%s: %d left out", archive, f.Name, left)
			}
		}
	}
}
