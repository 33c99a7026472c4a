package export

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

func sessionFile(name string) string {
	return filepath.Join("..", "..", "check", "testdata", "sessions", name+".xdsp")
}

// export runs x on a source, and is what it wrote and said.
func export(t *testing.T, x Export, source ...string) (out, said string, err error) {
	t.Helper()
	var to, beside bytes.Buffer
	x.Opener = &input.Opener{Console: &console.Console{Ctx: t.Context(), Stdin: strings.NewReader(""), Stdout: &to, Stderr: &beside, Color: "never"}}
	err = x.Run(t.Context(), source)
	return to.String(), beside.String(), err
}

// What cannot be asked for together is refused, and nothing is written.
func TestRefused(t *testing.T) {
	source := sessionFile("envoy-sotw-nack")
	for name, x := range map[string]Export{
		"a script of a part":       {Form: formScript, Filter: "type:CDS"},
		"a folder without a place": {Form: formFolder},
		"a table repaired":         {Form: "csv", Repairing: true},
		"a part repaired":          {Form: FormRecording, Repairing: true, Seqs: []string{"5"}},
		"repaired and masked":      {Form: FormRecording, Repairing: true, Mask: true},
		"masked, with pseudonyms":  {Form: FormRecording, Mask: true, Pseudonymous: true},
		"a key without pseudonyms": {Form: FormRecording, KeyFile: "key"},
		"a filter that is none":    {Form: "csv", Filter: "type = = ("},
		"entries that are none":    {Form: "csv", Seqs: []string{"five"}},
	} {
		if x.Path == "" && x.Form == FormRecording {
			x.Path = filepath.Join(t.TempDir(), "part.xdsp")
		}
		out, _, err := export(t, x, source)
		if err == nil || out != "" {
			t.Errorf("%s: %v, and wrote %q", name, err, out)
		}
		if _, err := os.Stat(x.Path); x.Path != "" && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: there is a file: %v", name, err)
		}
	}
	if _, _, err := export(t, Export{Form: "csv", Seqs: []string{"99999"}}, source); err == nil {
		t.Error("an entry that is not there is found")
	}
	for _, sources := range [][]string{nil, {source, source}} {
		if _, _, err := export(t, Export{Form: "csv"}, sources...); err == nil {
			t.Errorf("%d sources are taken", len(sources))
		}
	}
}

// Each form has what was chosen, and only that.
func TestFormsOfAPart(t *testing.T) {
	source := sessionFile("envoy-sotw-nack")
	for form, has := range map[string]string{"csv": "NACK", "jsonl": `"NACK"`, "yaml": "NACK", "mermaid": "sequenceDiagram", "md": "NACK", formPage: "<html"} {
		out, said, err := export(t, Export{Form: form}, source)
		if err != nil || !strings.Contains(out, has) {
			t.Errorf("%s: %v, %s; no %s in %.300q", form, err, said, has, out)
		}
	}
	whole, _, err := export(t, Export{Form: "csv"}, source)
	if err != nil {
		t.Fatal(err)
	}
	part, _, err := export(t, Export{Form: "csv", Filter: "type:CDS"}, source)
	if err != nil || strings.Count(part, "\n") >= strings.Count(whole, "\n") || strings.Contains(part, ",EDS,") || !strings.Contains(part, ",CDS,") {
		t.Errorf("%v; of %d lines:\n%s", err, strings.Count(whole, "\n"), part)
	}
	if one, _, err := export(t, Export{Form: "csv", Seqs: []string{"5"}}, source); err != nil || strings.Count(one, "\n") != 2 {
		t.Errorf("one entry is %q, %v", one, err)
	}
	script, _, err := export(t, Export{Form: formScript}, source)
	if err != nil || !strings.Contains(script, "\nC> type=CDS V= N= R=[]") {
		t.Errorf("the script is %.300q, %v", script, err)
	}
}

// A part that is written as a recording can be read, has what explains it unless
// that is left out, and is not written over another file.
func TestRecordingOfAPart(t *testing.T) {
	source := sessionFile("envoy-sotw-nack")
	count := func(x Export) (messages int) {
		t.Helper()
		x.Form, x.Path = FormRecording, filepath.Join(t.TempDir(), "part.xdsp")
		if _, said, err := export(t, x, source); err != nil {
			t.Fatalf("%v; %s", err, said)
		}
		if _, _, err := export(t, x, source); err == nil {
			t.Error("it was written over")
		}
		r, err := recorder.Open(x.Path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for e, err := range r.Entries(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == session.KindMessage {
				messages++
			}
		}
		return messages
	}
	whole, bare, explained := count(Export{}), count(Export{Seqs: []string{"8"}, Bare: true}), count(Export{Seqs: []string{"8"}})
	if bare != 1 || explained <= bare || explained >= whole {
		t.Errorf("%d messages of %d explain one, %d without what explains it", explained, whole, bare)
	}
}

// What a path is to be is told by how it ends.
func TestFormOf(t *testing.T) {
	for path, want := range map[string]string{"a.xdsp": FormRecording, "a.csv": "csv", "a.html": formPage, "a.md": "md", "a.jsonl": "jsonl", "a.yaml": "yaml"} {
		if got, err := FormOf(path); err != nil || got != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if got, err := FormOf("a.exe"); err == nil {
		t.Errorf("a.exe: %q", got)
	}
}
