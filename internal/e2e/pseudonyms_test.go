package e2e

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A recording with stand-ins leads a fresh Envoy the same way: it accepts and
// rejects the same, and its configuration has the same shape.
func TestReplayPseudonyms(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:3] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			recording := rejectedSession(t, v)
			made := filepath.Join(t.TempDir(), "names.xdsp")
			cmd := exec.Command(program(t), "export", recording, "--pseudonyms", "-w", made)
			cmd.Env = quietEnv(t)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			want := shapeAfter(t, v, recording)
			if got := shapeAfter(t, v, made); got != want {
				t.Errorf("Envoy's configuration has the shape\n%s\nnot\n%s", got, want)
			}
		})
	}
}

// shapeAfter plays the server of a recording to an Envoy, requires that it answers
// as recorded, and says what shape its configuration has then.
func shapeAfter(t *testing.T, v variant, recording string) string {
	t.Helper()
	r := startReplay(t, recording, "--as", "server", "--listen", freeAddr(t))
	e := startEnvoy(t, v, envoyNode, r.addr)
	r.asRecorded(t)
	body, err := get("http://" + e.admin + "/config_dump?include_eds")
	if err != nil {
		t.Fatal(err)
	}
	var dump any
	if err := json.Unmarshal([]byte(body), &dump); err != nil {
		t.Fatal(err)
	}
	count := make(map[string]int)
	shapeOf(dump, "", count)
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(count)) {
		lines = append(lines, fmt.Sprintf("%s: %d", path, count[path]))
	}
	e.stop(t)
	shape := strings.Join(lines, "\n")
	for _, part := range []string{"dynamic_active_clusters[].cluster", "dynamic_listeners[].active_state", "dynamic_route_configs[].route_config", "dynamic_endpoint_configs[]"} {
		if !strings.Contains(shape, part) {
			t.Errorf("there is no %s in\n%s", part, shape)
		}
	}
	return shape
}

// shapeOf counts the fields of a tree by their path.
func shapeOf(v any, path string, count map[string]int) {
	switch v := v.(type) {
	case map[string]any:
		for k, field := range v {
			shapeOf(field, path+"."+k, count)
		}
	case []any:
		for _, item := range v {
			shapeOf(item, path+"[]", count)
		}
	default:
		count[path]++
	}
}

// What somebody gets who has only the zip leads a fresh Envoy the same way, too: of
// systems that others wrote, with what Envoy takes from lists of its own, such as the
// flags of a response.
func TestReplayPseudonymsOfSystems(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"consul-nack", "eg-warm-plain", "istio-sidecar-delta"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := filepath.Join(t.TempDir(), "r.zip")
			cmd := exec.Command(program(t), "report", "../../check/testdata/systems/"+name+".xdsp", "--pseudonyms", "--yes", "-w", made)
			cmd.Env = quietEnv(t)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			playedAlike(t, unzippedSession(t, made), nil, envoyPath(t))
		})
	}
}

// unzippedSession is the recording of a report.
func unzippedSession(t *testing.T, path string) string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open("session.xdsp")
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	session := filepath.Join(t.TempDir(), "session.xdsp")
	if err := os.WriteFile(session, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return session
}
