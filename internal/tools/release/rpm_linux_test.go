package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What rpm installs of the package it takes away again, directories too.
func TestRPM(t *testing.T) {
	rpm, err := exec.LookPath("rpm")
	if err != nil && os.Getenv("CI") != "" {
		t.Fatal("there is no rpm here, and CI is to have one")
	} else if err != nil {
		t.Skip("there is no rpm here (apt-get install rpm)")
	}
	r, root := standIns(t), t.TempDir()
	if err := r.pack(platform{"linux", runtime.GOARCH}, "rpm"); err != nil {
		t.Fatal(err)
	}
	packages, err := filepath.Glob(r.artefact("*.rpm"))
	if err != nil || len(packages) != 1 {
		t.Fatal(packages, err)
	}
	run := func(args ...string) {
		t.Helper()
		// Scripts would need a shell in root; booted.sh runs them.
		if out, err := exec.Command(rpm, append([]string{"--root", root, "--dbpath", "/rpm"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("rpm %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	ours := func() (names []string) {
		err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
			if strings.Contains(strings.TrimPrefix(path, root), "xdsproxy") {
				names = append(names, strings.TrimPrefix(path, root))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	run("-i", "--nodeps", "--noscripts", packages[0])
	run("-V", "--nodeps", "--noscripts", "xdsproxy")
	if n := len(ours()); n < 10 {
		t.Errorf("it has installed %q", ours())
	}
	run("-e", "--noscripts", "xdsproxy")
	if left := ours(); len(left) > 0 {
		t.Errorf("there is left: %q", left)
	}
}
