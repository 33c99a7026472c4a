package launch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/bootstrap/generate"
)

func TestNewClient(t *testing.T) {
	t.Setenv("GRPC_XDS_BOOTSTRAP_CONFIG", "{}")
	dir := t.TempDir()
	envoy, grpc := filepath.Join(dir, "envoy.json"), filepath.Join(dir, "grpc.json")
	asks := &generate.Client{Asks: []generate.Ask{{Type: "CDS", API: generate.SotW}}}
	for _, c := range []struct {
		of         *generate.Client
		argv, want string
	}{
		{asks, "envoy", "envoy -c " + envoy + " --disable-hot-restart"},
		{asks, "/opt/envoy-1.36 -l debug", "/opt/envoy-1.36 -l debug -c " + envoy + " --disable-hot-restart"},
		{asks, "envoy --config-yaml {}x", "envoy --config-yaml {}x -c " + envoy + " --disable-hot-restart"},
		{asks, "envoy -c {} --base-id 3", "envoy -c " + envoy + " --base-id 3"},
		{asks, "envoy -c own.yaml --disable-hot-restart", "envoy -c own.yaml --disable-hot-restart"},
		{asks, "envoy -c own.yaml --use-dynamic-base-id", "envoy -c own.yaml --use-dynamic-base-id"},
		{asks, "run.sh --config={} {}", "run.sh --config=" + envoy + " " + envoy},
		{asks, "client", "client"},
		{&generate.Client{GRPC: true}, "client {}", "client " + grpc},
		{&generate.Client{GRPC: true}, "envoy", ""},
		{&generate.Client{}, "run.sh {}", ""},
	} {
		got, err := NewClient(strings.Fields(c.argv), c.of, dir, "127.0.0.1:1", "127.0.0.1:2")
		if c.want == "" || err != nil {
			if (c.want == "") != (err != nil) {
				t.Errorf("%s: %v", c.argv, err)
			}
			continue
		}
		if text := strings.Join(got.Argv, " "); text != c.want {
			t.Errorf("%s: got %s, want %s", c.argv, text, c.want)
		}
		if !slices.Contains(got.Env, "GRPC_XDS_BOOTSTRAP="+grpc) || slices.Contains(got.Env, "GRPC_XDS_BOOTSTRAP_CONFIG={}") {
			t.Errorf("%s: its environment is %q", c.argv, got.Env)
		}
	}
	// A command that may need a bootstrap and has no place for one is told so.
	const hint, within = "no word of the command is {}, which becomes the path of the bootstrap", "; within a word it stays as it is"
	for _, c := range []struct {
		of         *generate.Client
		argv, want string
	}{
		{asks, "client", hint},
		{asks, "client {}", ""},
		{asks, "client x{}y", hint + within},
		{&generate.Client{}, "client", ""}, // it asked for nothing
		{&generate.Client{}, "client x{}y", hint + within},
		{&generate.Client{GRPC: true, Asks: asks.Asks}, "client", ""}, // it looks into the environment
		{&generate.Client{GRPC: true, Asks: asks.Asks}, "client x{}y", hint + within},
		{asks, "envoy -c own.yaml", ""},
	} {
		if got, err := NewClient(strings.Fields(c.argv), c.of, dir, "127.0.0.1:1", "127.0.0.1:2"); err != nil || got.Hint != c.want {
			t.Errorf("%s: %+v, %v", c.argv, got, err)
		}
	}
	text, err := os.ReadFile(grpc)
	if err != nil || !json.Valid(text) {
		t.Errorf("%v, %s", err, text)
	}
}
