package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/configdump"
)

// said runs xdsproxy, which has to succeed, and returns what it prints.
func said(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, beside bytes.Buffer
	cmd := exec.Command(program(t), args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &beside, quietEnv(t)
	if err := cmd.Run(); err != nil {
		t.Fatalf("xdsproxy %s: %v\n%s", strings.Join(args, " "), err, &beside)
	}
	return out.Bytes()
}

// envoysOf are the ids of the Envoys in a recording.
func envoysOf(t *testing.T, recording string) (ids []string) {
	t.Helper()
	var all struct {
		Clients []struct {
			Client string
			Agent  string `json:"user_agent"`
		}
	}
	if err := json.Unmarshal(said(t, "status", recording, "-o", "json"), &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Clients {
		if c.Agent == "envoy" {
			ids = append(ids, c.Client)
		}
	}
	return ids
}

// Every Envoy of every recording has a bootstrap that Envoy takes.
func TestStandaloneBootstraps(t *testing.T) {
	t.Parallel()
	envoy := envoyPath(t)
	var recordings []string
	for _, dir := range []string{sessionsDir, filepath.Join(filepath.Dir(sessionsDir), "systems")} {
		found, err := filepath.Glob(filepath.Join(dir, "*.xdsp"))
		if err != nil {
			t.Fatal(err)
		}
		recordings = append(recordings, found...)
	}
	n := 0
	for _, recording := range recordings {
		base := strings.TrimSuffix(filepath.Base(recording), ".xdsp")
		if !slices.ContainsFunc([]string{"envoy", "eg-", "consul-", "istio-", "jcp-", "rest-"}, func(s string) bool { return strings.HasPrefix(base, s) }) {
			continue
		}
		for _, id := range envoysOf(t, recording) {
			n++
			t.Run(base+"/"+id, func(t *testing.T) {
				t.Parallel()
				// Envoy goes by the ending.
				for _, ending := range []string{".json", ".yaml"}[:1+n%2] {
					file := filepath.Join(t.TempDir(), "bootstrap"+ending)
					said(t, "export", recording, "-o", "bootstrap", "--client", id, "-w", file)
					if out, err := exec.Command(envoy, "--mode", "validate", "-l", "error", "-c", file).CombinedOutput(); err != nil {
						text, _ := os.ReadFile(file)
						t.Errorf("%v\n%s\n%.20000s", err, out, text)
					}
				}
			})
		}
	}
	if n < 45 {
		t.Errorf("there are only %d Envoys in the recordings", n)
	}
}

// standalone starts an Envoy with the bootstrap that is made of a recording.
func standalone(t *testing.T, recording string) *envoy {
	t.Helper()
	var bootstrap object
	if err := json.Unmarshal(said(t, "export", recording, "-o", "bootstrap"), &bootstrap); err != nil {
		t.Fatal(err)
	}
	e, admin := launchEnvoyWith(t, bootstrap)
	e.await(t, admin)
	return e
}

// hosts are the endpoints that an Envoy has, but for its control plane's.
func (e *envoy) hosts(t *testing.T) (out []string) {
	t.Helper()
	text, err := get("http://" + e.admin + "/clusters?format=json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Clusters []struct {
			Name  string `json:"name"`
			Hosts []struct {
				Address json.RawMessage `json:"address"`
				Health  json.RawMessage `json:"health_status"`
			} `json:"host_statuses"`
		} `json:"cluster_statuses"`
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Clusters {
		for _, h := range c.Hosts {
			if c.Name != xdsCluster {
				var at, health bytes.Buffer
				if json.Compact(&at, h.Address) != nil || json.Compact(&health, h.Health) != nil {
					t.Fatalf("%s", text)
				}
				out = append(out, c.Name+" "+at.String()+" "+health.String())
			}
		}
	}
	slices.Sort(out)
	return out
}

// dumped is what an Envoy holds, by type and name, but for what is its control
// plane's.
func (e *envoy) dumped(t *testing.T) (out []string) {
	t.Helper()
	text, err := get("http://" + e.admin + "/config_dump?include_eds")
	if err != nil {
		t.Fatal(err)
	}
	d, err := configdump.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Resources {
		if r := &d.Resources[i]; r.Name != xdsCluster {
			out = append(out, r.Type+" "+r.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A fresh Envoy with the bootstrap serves what the recorded one served, and holds it.
func TestStandaloneServesTheSame(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "at ", r.URL.Path) }))
			t.Cleanup(backend.Close)
			s := openScene(t, v, careful(v), func(m *mesh) {
				m.endpointsAt(t, "web", backend.Listener.Addr().String())
				m.cluster("spare", 1)
				m.endpointsOf(t, "spare", 3)
			})
			url := s.envoy.url(t, "ingress")
			answered(t, url+"a/path", "any.example", "at /a/path")
			before, held := s.envoy.hosts(t), s.envoy.dumped(t)
			if len(before) != 4 || len(held) < 6 {
				t.Fatalf("the recorded Envoy has %q, and holds %q", before, held)
			}
			e := standalone(t, s.close(t))
			answered(t, e.url(t, "ingress")+"a/path", "any.example", "at /a/path")
			if now := e.hosts(t); !slices.Equal(now, before) {
				t.Errorf("it has\n%s\nand not\n%s", strings.Join(now, "\n"), strings.Join(before, "\n"))
			}
			if now := e.dumped(t); !slices.Equal(now, held) {
				t.Errorf("it holds\n%s\nand not\n%s", strings.Join(now, "\n"), strings.Join(held, "\n"))
			}
		})
	}
}

// What came by types of its own has its place, too: scopes, the configuration of a
// filter, runtime values, virtual hosts on demand. The backends of these recordings are
// not there any more.
func TestStandaloneSide(t *testing.T) {
	t.Parallel()
	e := standalone(t, filepath.Join(sessionsDir, "envoy-delta-side.xdsp"))
	url := e.url(t, "by-scope")
	for scope, want := range map[string]int{"blue": http.StatusServiceUnavailable, "red": http.StatusNotFound} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Scope", scope)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if stamp := answer.Header.Get("X-Stamp"); answer.StatusCode != want || want == http.StatusServiceUnavailable && stamp != "two" {
			t.Errorf("scope %s: %s, the filter's header is %q", scope, answer.Status, stamp)
		}
	}
	if body, err := get("http://" + e.admin + "/runtime"); err != nil || !slices.Contains(runtimeValues(body), "two") {
		t.Errorf("the runtime is %s, %v", body, err)
	}
	e = standalone(t, filepath.Join(sessionsDir, "envoy-delta-on-demand.xdsp"))
	answered(t, e.url(t, "ingress"), "lazy.example", "two")
}
