package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"
)

// oldPlane is go-control-plane of 2021, built once, beside the program.
var oldPlane = sync.OnceValues(func() (string, error) {
	dir := built.dir
	if dir == "" { // the program was made elsewhere
		var err error
		if dir, err = os.MkdirTemp("", "oldplane"); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, "oldplane")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Dir = "testdata/oldplane"
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// startOldPlane starts it with endpoints of these names. What is written to it adds
// and removes clusters.
func startOldPlane(t *testing.T, names ...string) (addr string, tell func(format string, args ...any)) {
	t.Helper()
	program(t) // makes the directory that is removed in the end
	path, err := oldPlane()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("the old control plane cannot be built: ", err)
	}
	out, commands := talkProcess(t, exec.Command(path, names...))
	found := out.find(t, regexp.MustCompile(`listening on (\S+)`), nil)
	return found[1], func(format string, args ...any) {
		t.Helper()
		if _, err := io.WriteString(commands, fmt.Sprintf(format+"\n", args...)); err != nil {
			t.Fatal(err)
		}
	}
}

// Public bugs, played anew between an Envoy and a control plane of the version that
// has them. docs/track-record.md names these tests.
func TestBugs(t *testing.T) {
	for _, bug := range []struct {
		name, rule string
		play       func(t *testing.T, tell func(format string, args ...any), has func(cluster string))
	}{
		{"go-control-plane-463", "cluster-warming-starved", func(t *testing.T, tell func(string, ...any), has func(string)) {
			tell("add a")
			has("a")
			tell("add b") // whose endpoints are of the version that Envoy has
		}},
		{"go-control-plane-583", "resubscribe-not-resent", func(t *testing.T, tell func(string, ...any), has func(string)) {
			tell("add a")
			has("a")
			tell("remove a")
			has("")
			time.Sleep(3 * time.Second) // the server knows by then that Envoy has let go of it
			tell("add a")               // whose endpoints have not changed
		}},
	} {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			v := variants()[0]
			addr, tell := startOldPlane(t, "a", "b")
			p := startProxy(t, addr)
			e := startEnvoy(t, v, envoyNode, p.addr)
			has := func(cluster string) {
				t.Helper()
				eventually(t, "the clusters of Envoy", func() bool {
					text, err := get("http://" + e.admin + "/clusters")
					warm := regexp.MustCompile(`(?m)^a::127\.0\.0\.1:9::`).MatchString(text)
					return err == nil && warm == (cluster == "a")
				})
			}
			bug.play(t, tell, has)
			time.Sleep(20 * time.Second) // longer than Envoy and the rule wait
			e.stop(t)
			p.stop(t)
			var report struct {
				Findings []struct{ Rule, Severity, Message string }
			}
			out := runProgram(t, "check", p.file, "--fail-on", "never", "-o", "json")
			if err := json.Unmarshal(out, &report); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(report.Findings, func(f struct{ Rule, Severity, Message string }) bool { return f.Rule == bug.rule }) {
				t.Errorf("%s does not find it; found: %+v\n%s", bug.rule, report.Findings, runProgram(t, "watch", p.file, "--no-follow"))
			}
		})
	}
}
