package input

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

// check calls a file invalid if Envoy rejects it, and no other; it warns of what
// Envoy leaves out. internal/e2e holds the archives against a real Envoy.
func TestCheckAgreesWithEnvoy(t *testing.T) {
	for _, archive := range []string{"taken", "leftout", "rejected", "constraint"} {
		a, err := txtar.ParseFile("../../decode/file/testdata/" + archive + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			path := filepath.Join(t.TempDir(), f.Name)
			if err := os.WriteFile(path, f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			src, err := OpenFiles([]string{path})
			if err != nil {
				t.Fatal(err)
			}
			checker := check.NewChecker(check.Options{})
			err = Each(context.Background(), src, checker, func(*session.Entry, *check.Change) error { return nil })
			src.Close()
			if err != nil {
				t.Fatal(err)
			}
			worst := check.Info
			for _, found := range checker.Findings() {
				worst = max(worst, found.Severity)
				if archive == "constraint" && found.Rule.ID != "pgv-constraint" {
					t.Errorf("%s: %s", f.Name, found.Rule.ID)
				}
			}
			if (worst == check.Error) != (archive == "rejected" || archive == "constraint") || worst == check.Info && archive == "leftout" {
				t.Errorf("%s/%s: %v: %+v", archive, f.Name, worst, checker.Findings())
			}
		}
	}
}
