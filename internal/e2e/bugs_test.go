package e2e

import (
	"cmp"
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

	"github.com/xdsproxy/xdsproxy/internal/gobuild"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
)

// old are programs of modules that have bugs which were mended since: each is built
// once, beside the program.
var old struct {
	sync.Mutex
	built map[string]error
}

// oldProgram is a program below testdata, in a module of its own.
func oldProgram(t *testing.T, name string) string {
	t.Helper()
	program(t) // makes the directory that is removed in the end
	old.Lock()
	defer old.Unlock()
	path := filepath.Join(cmp.Or(built.dir, os.TempDir()), name)
	err, known := old.built[name]
	if !known {
		cmd := exec.Command("go", "build", "-o", path, ".")
		cmd.Dir = filepath.Join("testdata", name)
		err = gobuild.Program(cmd)
		if old.built == nil {
			old.built = map[string]error{}
		}
		old.built[name] = err
	}
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal(err)
	case err != nil:
		t.Skip(name, " cannot be built: ", err)
	}
	return path
}

// startOldPlane starts it with endpoints of these names. What is written to it adds
// and removes clusters.
func startOldPlane(t *testing.T, names ...string) (addr string, tell func(format string, args ...any)) {
	t.Helper()
	out, commands := talkProcess(t, exec.Command(oldProgram(t, "oldplane"), names...))
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
	t.Parallel()
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
			finds(t, bug.rule, p.file)
		})
	}
	t.Run("grpc-go-7013", func(t *testing.T) {
		t.Parallel()
		m := newMesh(t, variants()[0].source)
		m.apiListener(t, "dest", "routes")
		c := startControlPlane(t, "grpc")
		c.set(t, m.world())
		p := startProxy(t, c.Addr())
		bootstrap, err := json.Marshal(object{
			"xds_servers": []object{{"server_uri": p.addr, "channel_creds": []object{{"type": "insecure"}}, "server_features": []string{"xds_v3"}}},
			"node":        object{"id": "grpc"},
		})
		if err != nil {
			t.Fatal(err)
		}
		client := exec.Command(oldProgram(t, "oldclient"), "xds:///dest")
		client.Env = append(os.Environ(), "GRPC_XDS_BOOTSTRAP_CONFIG="+string(bootstrap), "no_proxy=127.0.0.1")
		out, commands := talkProcess(t, client)
		out.find(t, regexp.MustCompile(`connected`), nil)
		if _, err := io.WriteString(commands, "close\n"); err != nil {
			t.Fatal(err)
		}
		out.find(t, regexp.MustCompile(`closed`), nil)
		nameless := func(from int) {
			t.Helper()
			c.wait(t, "a request without names", func(rs []xdstest.Record) bool {
				return slices.ContainsFunc(rs[from:], func(r xdstest.Record) bool {
					return r.Kind == session.KindMessage && r.Side == session.Client && len(r.Names) == 0
				})
			})
		}
		nameless(0) // by which it gives up what it had named
		c.Stop()
		// A client that is back sooner may stand in the recording before that end.
		p.stderr.find(t, regexp.MustCompile(`server-closed-stream`), p.exited)
		before := len(c.account.Records())
		c.startAgain(t)
		nameless(before)
		p.stop(t)
		finds(t, "accidental-wildcard-on-reconnect", p.file)
	})
}

// finds requires of a rule that it finds something in a recording.
func finds(t *testing.T, rule, recording string) {
	t.Helper()
	type finding struct{ Rule, Severity, Message string }
	var report struct{ Findings []finding }
	if err := json.Unmarshal(runProgram(t, "check", recording, "--fail-on", "never", "-o", "json"), &report); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(report.Findings, func(f finding) bool { return f.Rule == rule }) {
		t.Errorf("%s does not find it; found: %+v\n%s", rule, report.Findings, runProgram(t, "watch", recording, "--no-follow"))
	}
}
