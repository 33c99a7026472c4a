package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
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
	r := startReplay(t, recording, "--as", "server", "--listen", "127.0.0.1:0")
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
