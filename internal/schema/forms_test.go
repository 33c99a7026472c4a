package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/xdsproxy/xdsproxy/internal/across"
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/render/facts"
	"github.com/xdsproxy/xdsproxy/internal/render/push"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/bisect"
	"github.com/xdsproxy/xdsproxy/replay/launch"
	"github.com/xdsproxy/xdsproxy/replay/shadow"
)

var update = flag.Bool("update", false, "write docs/schema anew")

const folder = "../../docs/schema"

// Forms that commands put together of others, by types that only they see. That
// these are the same is told by what the commands print.
type (
	// shown is an entry in full. Message has the names of its .proto files.
	shown struct {
		render.Object
		Message any `json:"message,omitempty"`
	}
	played struct {
		Schema string `json:"schema"`
		*replay.Report
		ConfigDump *render.HeldDiff `json:"config_dump,omitempty"`
	}
	plays struct {
		Schema string `json:"schema"`
		*launch.Matrix
	}
	shadowed struct {
		Schema string `json:"schema"`
		shadow.Event
	}
	bisected struct {
		Schema string `json:"schema"`
		*bisect.Result
		Script    string `json:"script,omitempty"`
		Recording string `json:"recording,omitempty"`
	}
	setting struct {
		Name     string `json:"name"`
		Value    any    `json:"value"`  // a boolean, a list of strings, or a string
		Origin   string `json:"origin"` // who said so
		From     string `json:"from,omitempty"`
		Variable string `json:"variable"`
	}
	listener struct {
		Place    string    `json:"place"`
		Name     string    `json:"name,omitempty"`
		Settings []setting `json:"settings"`
	}
	configured struct {
		Schema    string     `json:"schema"`
		Settings  []setting  `json:"settings"`
		Listeners []listener `json:"listeners,omitempty"`
		Paths     struct {
			ConfigFile    string `json:"config_file"`
			ConfigRead    bool   `json:"config_read"`
			StateDir      string `json:"state_dir"`
			Recordings    string `json:"recordings"`
			LastRecording string `json:"last_recording,omitempty"`
			Viewers       string `json:"viewers"`
		} `json:"paths"`
	}
)

// canBeNil are the embedded pointers that may be nil, and whose members are then not
// there.
var canBeNil = map[reflect.Type]bool{reflect.TypeFor[shadow.Difference](): true, reflect.TypeFor[facts.Info](): true}

// closed are the values of members that can have no others in version 1. Where it is
// not here, a member may have values that do not exist today.
var closed = map[string][]any{
	"Finding.severity":     {"error", "warning", "info"},
	"Finding.fault":        {"client", "server", "config"},
	"Finding.confidence":   {"D", "T", "H"},
	"Rule.severity":        {"error", "warning", "info"},
	"Rule.fault":           {"client", "server", "config", "sender"}, // who sent the message, which a finding knows
	"Rule.confidence":      {"D", "T", "H"},
	"Object.side":          {"client", "server", "proxy", "unknown"},
	"TypeStatus.state":     {"SYNCED", "PENDING", "STALE", "NACKED", "NOTSENT", "UNKNOWN"},
	"TypeStatus.effective": {"yes", "no", "unknown"},
	"Node.effective":       {"yes", "no", "unknown"},
	"Cell.outcome":         {"as recorded", "differs", "failed"},
}

// forms are the files of docs/schema: what prints it, and the type.
func forms() map[string]struct {
	title string
	of    any
} {
	return map[string]struct {
		title string
		of    any
	}{
		"entry":         {"watch -o jsonl, export -o jsonl: one object a line", render.Object{}},
		"entry-full":    {"show -o json: one object for each entry", shown{}},
		"info":          {"info -o json", facts.Info{}},
		"info-many":     {"info -o json, of many recordings", across.Info{}},
		"check":         {"check -o json, and findings.json of a report", render.Report{}},
		"rules":         {"explain -o json", render.Rules{}},
		"status":        {"status -o json", render.Standing{}},
		"tree":          {"tree -o json", render.Tree{}},
		"pushes":        {"pushes -o json", push.List{}},
		"push":          {"pushes N -o json, and pushes -o jsonl: one object a line", push.Object{}},
		"diff-resource": {"diff SOURCE NAME -o json", render.ResourceDiff{}},
		"diff-entries":  {"diff SOURCE SEQ SEQ -o json", render.MessageDiff{}},
		"diff-sessions": {"diff A B -o json", render.SessionsDiff{}},
		"diff-held":     {"diff SESSION CONFIG_DUMP -o json", render.HeldDiff{}},
		"replay":        {"replay -o json, of one play", played{}},
		"replays":       {"replay -o json, of several plays", plays{}},
		"shadow":        {"replay --follow -o json: one object a line", shadowed{}},
		"bisect":        {"bisect -o json", bisected{}},
		"config":        {"config -o json", configured{}},
		"version":       {"version -o json", build.Facts{}},
	}
}

// docs/schema has what the types say, and nothing else.
func TestSchemas(t *testing.T) {
	var names []string
	for name, form := range forms() {
		names = append(names, name+".json")
		t.Run(name, func(t *testing.T) {
			s := infer(t, form.title, form.of)
			if _, err := s.Resolve(nil); err != nil {
				t.Fatal(err)
			}
			want, err := json.MarshalIndent(s, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(folder, name+".json")
			want = append(want, '\n')
			kept, err := os.ReadFile(path)
			if err == nil {
				onlyGains(t, kept, s)
			}
			if *update {
				if err := os.WriteFile(path, want, 0o644); err != nil {
					t.Fatal(err)
				}
				kept = want
			}
			if !bytes.Equal(kept, want) {
				t.Errorf("%s is not what there is; go test ./internal/schema -update writes it", path)
			}
		})
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !slices.Contains(names, filepath.Base(file)) {
			t.Errorf("%s is of nothing that is printed", file)
		}
	}
}

// onlyGains requires of a schema what the published one promises: no member has gone,
// has another type, or may be missing where it could not.
func onlyGains(t *testing.T, published []byte, now *jsonschema.Schema) {
	t.Helper()
	old := new(jsonschema.Schema)
	if err := json.Unmarshal(published, old); err != nil {
		t.Fatal(err)
	}
	gains := func(where string, old, now *jsonschema.Schema) {
		for name, was := range old.Properties {
			is := now.Properties[name]
			switch {
			case is == nil:
				t.Errorf("%s.%s was published and is gone: members are only added", where, name)
			case was.Type != is.Type || was.Ref != is.Ref || !slices.Equal(was.Types, is.Types):
				t.Errorf("%s.%s was published as %s%s and is %s%s", where, name, was.Type, was.Ref, is.Type, is.Ref)
			case slices.Contains(old.Required, name) && !slices.Contains(now.Required, name):
				t.Errorf("%s.%s was always there and may be missing", where, name)
			}
		}
	}
	gains("", old, now)
	for name, was := range old.Defs {
		if is := now.Defs[name]; is == nil {
			t.Errorf("%s was published and is gone", name)
		} else {
			gains(name, was, is)
		}
	}
}
