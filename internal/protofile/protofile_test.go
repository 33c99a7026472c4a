package protofile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/decode/document"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
)

// tree writes files below a directory of its own.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var sources = map[string]string{
	"api/mine/v1/policy.proto": `syntax = "proto3";
package mine.v1;
import "mine/v1/rule.proto";
import "envoy/config/core/v3/address.proto";
import "google/protobuf/any.proto";
import "validate/validate.proto";
message Policy {
  string name = 1 [(validate.rules).string.min_len = 1];
  repeated Rule rules = 2;
  envoy.config.core.v3.Address at = 3;
  google.protobuf.Any more = 4;
}
service S { rpc Get(Policy) returns (Policy); }
`,
	"api/mine/v1/rule.proto": `syntax = "proto3";
package mine.v1;
message Rule { enum Action { ALLOW = 0; DENY = 1; } Action action = 1; }
`,
	"elsewhere/mine/v1/rule.proto": `syntax = "proto3";
package mine.v1;
message Rule { string other = 1; }
`,
}

// Sources are compiled with what is linked, what --proto-path names, and what lies
// above them, in this order.
func TestSources(t *testing.T) {
	dir := tree(t, sources)
	policy, rule := filepath.Join(dir, "api/mine/v1/policy.proto"), filepath.Join(dir, "api/mine/v1/rule.proto")
	for name, c := range map[string]struct {
		files, paths []string
		want         string
	}{
		"upward":         {[]string{policy}, nil, `{"action":"DENY"}`},
		"both":           {[]string{policy, rule}, nil, `{"action":"DENY"}`},
		"path":           {[]string{policy}, []string{filepath.Join(dir, "api")}, `{"action":"DENY"}`},
		"path elsewhere": {[]string{policy}, []string{filepath.Join(dir, "elsewhere")}, `{"@unknown":{"1":1}}`},
	} {
		types := descriptors.New()
		told, err := Read(t.Context(), types, c.files, c.paths)
		if err != nil || told != nil {
			t.Errorf("%s: %v %v", name, told, err)
			continue
		}
		d := document.Decoder{Types: types}.Any("x/mine.v1.Policy", []byte("\x0a\x01p\x12\x02\x08\x01\x1a\x02\x12\x00"))
		if got, want := string(d.Compact()), `{"@type":"x/mine.v1.Policy","name":"p","rules":[`+c.want+`],"at":{"pipe":{}}}`; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if of := types.Find("mine.v1.Policy").Fields().ByName("at").Message(); of != types.Find("envoy.config.core.v3.Address") {
			t.Errorf("%s: the address is not the linked one", name)
		}
	}
}

// A source that describes what is linked is named, and the linked one counts.
func TestSourceOfALinkedType(t *testing.T) {
	dir := tree(t, map[string]string{"envoy/config/core/v3/address.proto": `syntax = "proto3";
package envoy.config.core.v3;
message Address { string mine = 1; }
message Newer { Address at = 1; }
`})
	types := descriptors.New()
	file := filepath.Join(dir, "envoy/config/core/v3/address.proto")
	told, err := Read(t.Context(), types, []string{file}, []string{dir})
	if want := `the descriptors of "` + file + `" have another form of envoy.config.core.v3.Address than xdsproxy: its own counts`; err != nil || len(told) != 1 || told[0] != want {
		t.Errorf("%q, %v", told, err)
	}
	if types.Find("envoy.config.core.v3.Address").Fields().ByName("pipe") == nil || types.Find("envoy.config.core.v3.Newer") == nil {
		t.Error("the linked type does not count, or what else is there is lost")
	}
}

func TestMissing(t *testing.T) {
	dir := tree(t, map[string]string{"a.proto": "syntax = \"proto3\";\nimport \"b.proto\";\n", "b.proto": "syntax = \"proto3\";\nimport \"gone/c.proto\";\n"})
	file := filepath.Join(dir, "a.proto")
	_, err := Read(t.Context(), descriptors.New(), []string{file}, nil)
	if e, is := errors.AsType[*ImportError](err); !is || e.Import != "gone/c.proto" || e.File != file {
		t.Errorf("got %v", err)
	}
	types := descriptors.New()
	if _, err := Read(t.Context(), types, []string{filepath.Join(dir, "none.proto")}, nil); err == nil || types.Names() != nil {
		t.Errorf("a file that is not there: %v", err)
	}
}

// What is compiled is the file that was named, whatever the directories have under
// its name.
func TestNamesake(t *testing.T) {
	dir := tree(t, sources)
	types := descriptors.New()
	file := filepath.Join(dir, "api/mine/v1/rule.proto")
	_, err := Read(t.Context(), types, []string{file}, []string{filepath.Join(dir, "elsewhere/mine/v1")})
	if err != nil || types.Find("mine.v1.Rule").Fields().ByName("action") == nil {
		t.Errorf("%v, %v", err, types.Find("mine.v1.Rule"))
	}
}

// A file that cannot be read is not called an import.
func TestUnreadable(t *testing.T) {
	dir := tree(t, map[string]string{"d.proto/a": ""})
	_, err := Read(t.Context(), descriptors.New(), []string{filepath.Join(dir, "d.proto")}, nil)
	if _, is := errors.AsType[*ImportError](err); err == nil || is {
		t.Errorf("got %v", err)
	}
}

func TestDeepSource(t *testing.T) {
	const n = maxDepth + 1
	dir := tree(t, map[string]string{"a.proto": `syntax = "proto3"; ` + strings.Repeat("message A{", n) + strings.Repeat("}", n)})
	_, err := Read(t.Context(), descriptors.New(), []string{filepath.Join(dir, "a.proto")}, nil)
	if err == nil || !strings.HasSuffix(err.Error(), `"a.proto" is nested too deeply`) {
		t.Errorf("got %.200v", err)
	}
}
