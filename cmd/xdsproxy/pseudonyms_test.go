package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// execute runs the program, and gives what it prints.
func execute(t *testing.T, code int, args ...string) []byte {
	t.Helper()
	return pseudoRun(t, nil, code, args...)
}

func pseudoRun(t *testing.T, in []byte, code int, args ...string) []byte {
	t.Helper()
	var out, said bytes.Buffer
	if got := main1(args, bytes.NewReader(in), &out, &said); got != code && code >= 0 {
		t.Fatalf("%q ends with %d, not %d: %s", args, got, code, &said)
	}
	return out.Bytes()
}

// trees are the recordings in the tree, and conversations as text.
func trees(t *testing.T) (all []string) {
	for _, glob := range []string{"../../check/testdata/sessions/*.xdsp", "../../check/testdata/systems/*.xdsp", "../../check/testdata/clients/*.xds", "../../check/testdata/catalogue/*.positive.xds"} {
		found, err := filepath.Glob(glob)
		if err != nil || len(found) == 0 {
			t.Fatalf("%v: %d recordings", err, len(found))
		}
		all = append(all, found...)
	}
	return all
}

// What is attached to an issue has no name in it, the rules find the same in it,
// and the key brings the names back.
func TestPseudonyms(t *testing.T) {
	for _, v := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME"} {
		t.Setenv(v, t.TempDir())
	}
	api, stay := newAPI(), make(map[string]bool)
	judged, err := os.ReadFile(remaining)
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range trees(t) {
		if testing.Short() && i%10 != 0 {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".xdsp"), func(t *testing.T) {
			dir := t.TempDir()
			made, key := filepath.Join(dir, "r.xdsp"), filepath.Join(dir, "key")
			if err := os.WriteFile(key, []byte(`{"version":1,"secret":"YSBrZXkgb2YgMzIgYnl0ZXMsIGZvciB0aGUgdGVzdHM="}`), 0o600); err != nil {
				t.Fatal(err) // always the same, so that chance puts no short name into a stand-in
			}
			execute(t, 0, "export", path, "--pseudonyms", "--key-file", key, "-w", made)
			plain := execute(t, 0, "show", path, "1..", "-o", "json")
			inside := unpacked(t, made)
			for s := range stringsIn(t, plain) {
				if len(s) < 4 || api.has(s) || !bytes.Contains(inside, []byte(s)) {
					continue
				}
				line := strconv.Quote(digits.ReplaceAllString(s, "0"))
				if stay[line] = true; !*update && !bytes.Contains(judged, []byte(line+"\n")) {
					t.Errorf("%s is in it: a name that leaked, or one to be judged harmless with -update", line)
				}
			}
			want, got := findingsOf(execute(t, -1, "check", path, "-o", "json")), findingsOf(pseudoRun(t, execute(t, -1, "check", made, "-o", "json"), 0, "reveal", key))
			if !slices.Equal(want, got) {
				t.Errorf("the rules find\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
	if *update {
		lines := strings.Join(slices.Sorted(maps.Keys(stay)), "\n") + "\n"
		if err := os.WriteFile(remaining, []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// remaining lists what may remain of the recordings in the tree beside names of
// the API: header fields, names of programs and of parts of Envoy, words of errors.
const remaining = "testdata/pseudonyms.txt"

var digits = regexp.MustCompile(`[0-9]+`)

// unpacked is all that is in a recording.
func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil || len(b) == 0 {
		t.Fatalf("%v, %d bytes", err, len(b))
	}
	return b
}

// stringsIn are the strings of JSON documents, those that are keys of maps and in
// JSON in a string included.
func stringsIn(t *testing.T, docs []byte) map[string]bool {
	all := make(map[string]bool)
	dec := json.NewDecoder(bytes.NewReader(docs))
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := tok.(string); ok {
			all[s] = true
		}
	}
}

// api is what names nothing that belongs to anybody.
type api struct{ words, names map[string]bool }

var identifier = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

func newAPI() *api {
	a := &api{make(map[string]bool), make(map[string]bool)}
	add := func(name string) {
		a.names[name] = true
		for _, w := range identifier.FindAllString(name, -1) {
			a.words[strings.ToLower(w)] = true
		}
	}
	var messages func(protoreflect.MessageDescriptors)
	enums := func(es protoreflect.EnumDescriptors) {
		for i := range es.Len() {
			add(string(es.Get(i).Name()))
			for j := range es.Get(i).Values().Len() {
				add(string(es.Get(i).Values().Get(j).Name()))
			}
		}
	}
	messages = func(ms protoreflect.MessageDescriptors) {
		for i := range ms.Len() {
			add(string(ms.Get(i).Name()))
			for j := range ms.Get(i).Fields().Len() {
				add(string(ms.Get(i).Fields().Get(j).Name()))
			}
			messages(ms.Get(i).Messages())
			enums(ms.Get(i).Enums())
		}
	}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		add(string(f.Package()))
		messages(f.Messages())
		enums(f.Enums())
		for i := range f.Services().Len() {
			add(string(f.Services().Get(i).Name()))
			for j := range f.Services().Get(i).Methods().Len() {
				add(string(f.Services().Get(i).Methods().Get(j).Name()))
			}
		}
		return true
	})
	return a
}

func (a *api) has(s string) bool {
	if a.names[s] || strings.IndexFunc(s, unicode.IsLetter) < 0 || strings.HasPrefix(s, "[masked:") || isTime.MatchString(s) {
		return true
	}
	if !strings.HasPrefix(s, "envoy.") && !strings.HasPrefix(s, "/envoy.") && !strings.HasPrefix(s, "type.googleapis.com/") {
		return false
	}
	for _, w := range identifier.FindAllString(strings.TrimPrefix(s, "type.googleapis.com/"), -1) {
		if !a.words[strings.ToLower(w)] {
			return false
		}
	}
	return true
}

var isTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT[0-9:.]+Z$|^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [0-9:]+ GMT$`)

var notCompared = regexp.MustCompile(`; the nearest name.*|(\d+ of )?\d+ bytes|byte \d+`)

// findingsOf are the findings, each as a text. The name that is nearest to a wrong
// one is another, and short names and addresses are as long as others.
func findingsOf(report []byte) (all []string) {
	var r struct {
		Findings []map[string]any `json:"findings"`
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return []string{err.Error()}
	}
	for _, f := range r.Findings {
		delete(f, "lines") // of a text, which a recording has not
		delete(f, "last_line")
		message, _ := f["message"].(string)
		f["message"] = notCompared.ReplaceAllString(message, "")
		b, err := json.Marshal(f)
		if err != nil {
			return []string{err.Error()}
		}
		all = append(all, string(b))
	}
	slices.Sort(all)
	return all
}
