package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What was exported as a folder and imported again leads an Envoy to where the
// recording leads it, and one value edited in one file to that with the value.
func TestEditAndPlay(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:3] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			recording, folder := filepath.Join(sessionsDir, "envoy-"+v.name+".xdsp"), filepath.Join(dir, "folder")
			unedited, edited := filepath.Join(dir, "unedited.xdsp"), filepath.Join(dir, "edited.xdsp")
			runProgram(t, "export", recording, "-o", "dir", "-w", folder)
			runProgram(t, "import", folder, "-w", unedited)
			file := filepath.Join(folder, "resources", "Cluster", "web@1.yaml")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), "connect_timeout: 1s", "connect_timeout: 2s", 1)
			if err := os.WriteFile(file, []byte(changed), 0o600); err != nil || changed == string(text) {
				t.Fatalf("%v in\n%s", err, text)
			}
			runProgram(t, "import", folder, "-w", edited)

			want := holds(t, v, recording)
			if diff := cmp.Diff(want, holds(t, v, unedited)); diff != "" {
				t.Errorf("what was not edited leads elsewhere: %s", diff)
			}
			got := holds(t, v, edited)
			if len(got) != len(want) {
				t.Fatalf("%d lines of %d", len(got), len(want))
			}
			var other []string
			for i := range got {
				if got[i] != want[i] {
					other = append(other, strings.TrimSpace(want[i]), strings.TrimSpace(got[i]))
				}
			}
			if len(other) != 2 || other[0] != `"connect_timeout": "1s",` || other[1] != `"connect_timeout": "2s",` {
				t.Errorf("the config_dump differs in %q", other)
			}
		})
	}
}

// holds replays a recording to an Envoy, all as recorded, and returns the lines of
// what it has then, but for its bootstrap and for times.
func holds(t *testing.T, v variant, recording string) []string {
	t.Helper()
	r := startReplay(t, recording, "--as", "server", "--listen", freeAddr(t))
	e := startEnvoy(t, v, envoyNode, r.addr)
	r.asRecorded(t)
	body, err := get("http://" + e.admin + "/config_dump?include_eds")
	if err != nil {
		t.Fatal(err)
	}
	var dump struct {
		Configs []object `json:"configs"`
	}
	if err := json.Unmarshal([]byte(body), &dump); err != nil {
		t.Fatal(err)
	}
	dump.Configs = slices.DeleteFunc(dump.Configs, func(of object) bool {
		return strings.HasSuffix(of["@type"].(string), ".BootstrapConfigDump")
	})
	for _, of := range dump.Configs {
		delete(of, "static_clusters") // the port of the server is in it
		delete(of, "static_endpoint_configs")
		withoutTimes(of)
	}
	text, err := json.MarshalIndent(dump.Configs, "", "  ")
	if err != nil || !strings.Contains(string(text), `"connect_timeout"`) {
		t.Fatalf("%v in %s", err, text)
	}
	return strings.Split(string(text), "\n")
}

// withoutTimes takes out when things came, and sorts what Envoy lists in no order.
func withoutTimes(v any) {
	switch v := v.(type) {
	case object:
		delete(v, "last_updated")
		for _, of := range v {
			withoutTimes(of)
		}
	case []any:
		for _, of := range v {
			withoutTimes(of)
		}
		slices.SortStableFunc(v, func(a, b any) int { return strings.Compare(nameIn(a), nameIn(b)) })
	}
}

// nameIn is the name of what is listed in a config_dump, "" of anything else.
func nameIn(v any) string {
	of, _ := v.(object)
	for _, key := range []string{"cluster", "route_config", "endpoint_config"} {
		if in, is := of[key].(object); is {
			for _, name := range []string{"name", "cluster_name"} {
				if text, is := in[name].(string); is {
					return text
				}
			}
		}
	}
	return ""
}
