package internal_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/gobuild"
)

// A program that others wrote, in a module of its own, needs nothing but what is
// public.
func TestOutsideProgram(t *testing.T) {
	recording, err := filepath.Abs("../check/testdata/sessions/envoy-delta-nack.xdsp")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", ".", recording)
	cmd.Dir = "../docs/example"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := gobuild.Open(cmd.Dir, "."); err != nil {
		t.Error(err)
	}
	if n := strings.Count(string(out), "\n"); n != 1 || !strings.Contains(string(out), "entry 17, type.googleapis.com/envoy.config.cluster.v3.Cluster: ") || !strings.Contains(string(out), "value must be greater than 0s") {
		t.Errorf("it prints\n%s", out)
	}
}
