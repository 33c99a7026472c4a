package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaOf are the files of docs/schema that what a command prints may be of.
var schemaOf = map[string][]string{
	"watch": {"entry"}, "export": {"entry"}, "show": {"entry-full"}, "info": {"info", "info-many"}, "check": {"check"}, "explain": {"rules"},
	"status": {"status"}, "tree": {"tree"}, "pushes": {"pushes", "push"}, "config": {"config"}, "version": {"version"},
	"diff":   {"diff-resource", "diff-entries", "diff-sessions", "diff-held"},
	"replay": {"replay", "replays", "shadow"}, "bisect": {"bisect"},
}

// schemas holds what is printed against the published schemas. These are open, since
// members are added. Here they are closed: a member that they do not name is a fault,
// of the schema.
type schemas struct {
	dir    string
	closed map[string]*jsonschema.Resolved
	forms  map[string]*jsonschema.Schema
	seen   map[string]bool // the form or the definition, and the member
}

func newSchemas(dir string) *schemas {
	return &schemas{dir: dir, closed: map[string]*jsonschema.Resolved{}, forms: map[string]*jsonschema.Schema{}, seen: map[string]bool{}}
}

func (s *schemas) of(name string) (*jsonschema.Resolved, error) {
	if r := s.closed[name]; r != nil {
		return r, nil
	}
	text, err := os.ReadFile(filepath.Join(s.dir, name+".json"))
	if err != nil {
		return nil, err
	}
	form := new(jsonschema.Schema)
	if err := json.Unmarshal(text, form); err != nil {
		return nil, err
	}
	s.forms[name] = form
	shut := form.CloneSchemas()
	shutObjects(shut)
	r, err := shut.Resolve(nil)
	s.closed[name] = r
	return r, err
}

// shutObjects lets an object have the members only that are named.
func shutObjects(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties != nil && s.AdditionalProperties == nil {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	for _, p := range s.Properties {
		shutObjects(p)
	}
	for _, d := range s.Defs {
		shutObjects(d)
	}
	shutObjects(s.Items)
}

// valid requires each document of out to be of one of the forms of a command.
func (s *schemas) valid(command string, out []byte) error {
	names := schemaOf[command]
	if len(names) == 0 {
		return fmt.Errorf("docs/schema has no schema of what %s prints", command)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var doc any
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s prints no JSON: %w", command, err)
		}
		var not []error
		for _, name := range names {
			r, err := s.of(name)
			if err != nil {
				return err
			}
			if err = r.Validate(doc); err == nil {
				s.note(name, s.forms[name], s.forms[name], "", doc)
				not = nil
				break
			}
			not = append(not, fmt.Errorf("not of %s: %w", name, err))
		}
		if len(not) > 0 {
			head, _ := json.Marshal(doc)
			return fmt.Errorf("%s prints what docs/schema does not know: %w\n%.2000s", command, errors.Join(not...), head)
		}
	}
}

// note remembers which members there are.
func (s *schemas) note(name string, form, at *jsonschema.Schema, where string, doc any) {
	if ref, ok := strings.CutPrefix(at.Ref, "#/$defs/"); ok {
		at, where = form.Defs[ref], ref
	}
	switch doc := doc.(type) {
	case map[string]any:
		for member, value := range doc {
			if p := at.Properties[member]; p != nil {
				s.seen[cmp.Or(where, name)+"."+member] = true
				s.note(name, form, p, where, value)
			}
		}
	case []any:
		for _, item := range doc {
			if at.Items != nil {
				s.note(name, form, at.Items, where, item)
			}
		}
	}
}

// unseen are the members of forms that nothing had yet.
func (s *schemas) unseen() (names []string, all int) {
	of := map[string]*jsonschema.Schema{}
	for name, form := range s.forms {
		of[name] = form
		maps.Copy(of, form.Defs)
	}
	for def, d := range of {
		for member := range d.Properties {
			if all++; !s.seen[def+"."+member] {
				names = append(names, def+"."+member)
			}
		}
	}
	slices.Sort(names)
	return names, all
}

// mainWithSchemas is main in scripts: what it prints for machines is held against
// docs/schema.
func mainWithSchemas() {
	dir := os.Getenv("SCHEMAS")
	args := strings.Join(os.Args[1:], " ")
	args, _, _ = strings.Cut(args, " -- ") // what follows is another command's
	if dir == "" || !strings.Contains(args, "-o json") && !strings.Contains(args, "-o=json") {
		main()
		return
	}
	var out bytes.Buffer
	code := main1(os.Args[1:], os.Stdin, io.MultiWriter(os.Stdout, &out), os.Stderr)
	if err := newSchemas(dir).valid(os.Args[1], out.Bytes()); err != nil && code < 100 {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	os.Exit(code)
}

// What commands print of the recordings in the tree is what docs/schema says.
func TestPrintedIsOfSchema(t *testing.T) {
	for _, v := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME"} {
		t.Setenv(v, t.TempDir())
	}
	s := newSchemas("../../docs/schema")
	run := func(args ...string) []byte {
		t.Helper()
		var out, said bytes.Buffer
		main1(args, strings.NewReader(""), &out, &said) // damage and differences are exit codes, and print all the same
		if err := s.valid(args[0], out.Bytes()); err != nil {
			t.Errorf("%q: %v", args, err)
		}
		return out.Bytes()
	}
	for _, source := range append(trees(t), "../../recorder/testdata/version1.xdsp", "../../recorder/testdata/version1-held.xdsp", "../../recorder/testdata/version1-recording/session.xdsp") {
		run("watch", source, "--no-follow", "-o=jsonl")
		run("check", source, "--enable=all", "--fail-on=never", "-o=json")
		if strings.HasSuffix(source, ".xds") {
			continue
		}
		run("info", source, "-o=json")
		run("show", source, "1..60", "-o=json")
		run("tree", source, "-o=json")
		run("pushes", source, "-o=json")
		run("pushes", source, "-o=jsonl")
		run("pushes", source, "1", "-o=json")
		var standing struct{ Clients []struct{ Client string } }
		if err := json.Unmarshal(run("status", source, "-o=json"), &standing); err != nil {
			t.Fatal(err)
		}
		for _, c := range standing.Clients {
			run("tree", source, c.Client, "-o=json")
		}
		for _, name := range []string{"broken", "api"} {
			run("diff", source, name, "--all", "-o=json")
		}
		run("diff", source, "5", "9", "-o=json")
	}
	const sessions = "../../check/testdata/sessions/"
	run("diff", sessions+"envoy-sotw-nack.xdsp", sessions+"envoy-delta-nack.xdsp", "--all", "-o=json")
	run("diff", sessions+"envoy-sotw.xdsp", sessions+"envoy-sotw-secrets.xdsp", "-o=json")
	run("check", sessions+"demo.xdsp", "../../check/testdata/stories/nack-received-fleet-of-one-cause.xds", "--fail-on=never", "-o=json")
	run("diff", sessions+"envoy-sotw-secrets.xdsp", "../../internal/configdump/testdata/secrets.json", "-o=json")
	run("diff", sessions+"envoy-sotw-nack.xdsp", "../../internal/configdump/testdata/secrets.json", "-o=json")
	run("export", sessions+"envoy-sotw-held.xdsp", "-o=jsonl", "-w=-")
	run("explain", "-o=json")
	run("config", "-o=json")
	run("version", "-o=json")
	unseen, all := s.unseen()
	t.Logf("of %d members %d were never printed here: %s", all, len(unseen), strings.Join(unseen, ", "))
	if len(unseen)*4 > all {
		t.Errorf("of %d members %d were never printed: the schemas are not held against what there is", all, len(unseen))
	}
}

// The schemas refuse what was never promised.
func TestSchemasRefuse(t *testing.T) {
	s := newSchemas("../../docs/schema")
	for name, text := range map[string]string{
		"a member that they do not know": `{"schema":"xdsproxy/v1","seq":1,"time":"2026-01-01T00:00:00Z","kind":"time","colour":"red"}`,
		"a member that is not there":     `{"schema":"xdsproxy/v1","time":"2026-01-01T00:00:00Z","kind":"time"}`,
		"another type":                   `{"schema":"xdsproxy/v1","seq":"1","time":"2026-01-01T00:00:00Z","kind":"time"}`,
		"a word that there is not":       `{"schema":"xdsproxy/v1","seq":1,"time":"2026-01-01T00:00:00Z","kind":"time","side":"left"}`,
		"another version":                `{"schema":"xdsproxy/v2","seq":1,"time":"2026-01-01T00:00:00Z","kind":"time"}`,
		"a member below":                 `{"schema":"xdsproxy/v1","seq":1,"time":"2026-01-01T00:00:00Z","kind":"note","note":{"code":"x","text":"y","colour":1}}`,
		"no JSON":                        `{"schema":`,
	} {
		if s.valid("watch", []byte(text)) == nil {
			t.Errorf("%s is taken", name)
		}
	}
	open, err := s.of("entry")
	if err != nil {
		t.Fatal(err)
	}
	_ = open
	published, err := s.forms["entry"].Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var later any
	if err := json.Unmarshal([]byte(`{"schema":"xdsproxy/v1","seq":1,"time":"2026-01-01T00:00:00Z","kind":"of tomorrow","colour":"red"}`), &later); err != nil {
		t.Fatal(err)
	}
	if err := published.Validate(later); err != nil {
		t.Errorf("who reads by the published schema cannot read what a later version adds: %v", err)
	}
}

// Every form for machines has a schema.
func TestEveryFormHasSchema(t *testing.T) {
	for command, of := range forms() {
		if (slices.Contains(of, "json") || slices.Contains(of, "jsonl")) && schemaOf[command] == nil {
			t.Errorf("%s prints %v, and nobody says by which schema", command, of)
		}
	}
}
