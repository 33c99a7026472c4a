package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
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

	"github.com/xdsproxy/xdsproxy/internal/golden"
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
	api, inRecordings, inReports := newAPI(), newJudged(t, "testdata/pseudonyms.txt"), newJudged(t, "testdata/pseudonyms-reports.txt")
	for i, path := range trees(t) {
		if testing.Short() && i%3 != 0 {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".xdsp"), func(t *testing.T) {
			dir := t.TempDir()
			made, key := filepath.Join(dir, "r.xdsp"), filepath.Join(dir, "key")
			if err := os.WriteFile(key, []byte(`{"version":1,"secret":"YSBrZXkgb2YgMzIgYnl0ZXMsIGZvciB0aGUgdGVzdHM="}`), 0o600); err != nil {
				t.Fatal(err) // always the same, so that chance puts no short name into a stand-in
			}
			execute(t, 0, "export", path, "--pseudonyms", "--key-file", key, "-w", made)
			places := map[string][]byte{"r.xdsp": unpacked(t, made)}
			sameFindings(t, path, made, key)
			if strings.HasSuffix(path, ".xdsp") {
				named, renamed := filepath.Join(dir, "named.zip"), filepath.Join(dir, "renamed.zip")
				about := reported(t, path, "--yes", "-w", named)
				execute(t, 0, append(about, "--yes", "-w", renamed, "--pseudonyms", "--key-file", key)...)
				for name, inside := range unzipped(t, renamed, made) {
					places[name] = inside
				}
				unzipped(t, named, filepath.Join(dir, "named.xdsp"))
				sameFindings(t, filepath.Join(dir, "named.xdsp"), made, key)
			}
			for s := range stringsIn(t, execute(t, 0, "show", path, "1..", "-o", "json")) {
				if len(s) < 4 || api.has(s) {
					continue
				}
				for name, inside := range places {
					list := inRecordings
					if filepath.Ext(name) != ".xdsp" {
						list = inReports
					}
					if bytes.Contains(inside, []byte(s)) && (list == inRecordings || !bytes.Contains(places["session.xdsp"], []byte(s))) && !list.harmless(s) {
						t.Errorf("%q is in %s: a name that leaked, or one to be judged harmless with -update", s, name)
					}
				}
			}
		})
	}
	inRecordings.save(t)
	inReports.save(t)
}

// sameFindings says whether the rules find in a recording what they find in the one
// that was made of it.
func sameFindings(t *testing.T, named, renamed, key string) {
	t.Helper()
	want, got := findingsOf(execute(t, -1, "check", named, "-o", "json")), findingsOf(pseudoRun(t, execute(t, -1, "check", renamed, "-o", "json"), 0, "reveal", key))
	if !slices.Equal(want, got) {
		t.Errorf("the rules find\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// reported writes a report of what the rules find, or of the first entries, and gives
// the arguments that say of what.
func reported(t *testing.T, path string, more ...string) []string {
	t.Helper()
	args := []string{"report", path}
	var out, said bytes.Buffer
	if main1(append(args, more...), strings.NewReader(""), &out, &said) == 0 {
		return args
	}
	if !strings.Contains(said.String(), "no error and no warning") {
		t.Fatalf("report ends with %s", &said)
	}
	for dec := json.NewDecoder(bytes.NewReader(execute(t, 0, "show", path, "1..", "-o", "json"))); len(args) < 100; {
		var e struct{ Seq int }
		if dec.Decode(&e) != nil {
			break
		}
		args = append(args, strconv.Itoa(e.Seq))
	}
	execute(t, 0, append(args, more...)...)
	return args
}

// An entry that was named and is not there is told, and nothing is written.
func TestReportOfMissingEntries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.zip")
	var out, said bytes.Buffer
	if code := main1([]string{"report", "../../check/testdata/sessions/grpc-go-nack.xdsp", "1", "999999", "--yes", "-w", path}, strings.NewReader(""), &out, &said); code != 1 || !strings.Contains(said.String(), "there is no entry 999999") {
		t.Errorf("it ends with %d: %s", code, &said)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("there is a report")
	}
}

// unzipped is what is in the files of a report. Its recording goes to a file.
func unzipped(t *testing.T, path, recording string) map[string][]byte {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	all := make(map[string][]byte)
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil || len(b) == 0 {
			t.Fatalf("%s has %d bytes: %v", f.Name, len(b), err)
		}
		if filepath.Ext(f.Name) == ".xdsp" {
			if err := os.WriteFile(recording, b, 0o600); err != nil {
				t.Fatal(err)
			}
			b = unpacked(t, recording)
		}
		all[f.Name] = b
	}
	if len(all) < 5 {
		t.Fatalf("%d files in %s", len(all), path)
	}
	return all
}

// judged is a file that lists what may remain of the recordings in the tree beside
// names of the API: header fields, names of programs and of parts of Envoy, words of
// errors; in the files of a report, words of xdsproxy's own, too.
type judged struct {
	path string
	was  []byte
	met  map[string]bool
}

func newJudged(t *testing.T, path string) *judged {
	was, err := os.ReadFile(path)
	if err != nil && !golden.Updating() {
		t.Fatal(err)
	}
	return &judged{path, was, make(map[string]bool)}
}

// harmless says whether a text is in the list, where all numbers are one.
func (j *judged) harmless(s string) bool {
	line := strconv.Quote(digits.ReplaceAllString(s, "0"))
	j.met[line] = true
	return golden.Updating() || bytes.Contains(j.was, []byte(line+"\n"))
}

func (j *judged) save(t *testing.T) {
	if !golden.Updating() {
		return
	}
	if err := os.WriteFile(j.path, []byte(strings.Join(slices.Sorted(maps.Keys(j.met)), "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

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
	if a.names[s] || strings.IndexFunc(s, unicode.IsLetter) < 0 || strings.HasPrefix(s, "[masked:") || isMask64.MatchString(s) || isTime.MatchString(s) {
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

// isMask64 is "[masked:" in base64, whose last digit is also of what follows.
var isMask64 = regexp.MustCompile(`^W21hc2tlZD[op]`)

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
		delete(f, "sources") // which stand under keys that are replaced, too
		delete(f, "more_sources")
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
