package folder_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/convert/folder"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// recordings are all that are in the tree.
func recordings(t testing.TB) (out []string) {
	t.Helper()
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".xdsp" {
			out = append(out, path)
		}
		return err
	})
	if err != nil || len(out) < 80 {
		t.Fatalf("%d recordings, %v", len(out), err)
	}
	return out
}

// read gives back the entries of a recording.
func read(t testing.TB, path string) (all []session.Entry, facts recorder.Facts) {
	t.Helper()
	r, err := recorder.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for e, err := range r.Entries(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all, r.Facts()
}

// export writes a recording as a folder.
func export(t testing.TB, path string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "folder")
	exportTo(t, path, dir)
	return dir
}

func exportTo(t testing.TB, path, dir string) {
	t.Helper()
	r, err := recorder.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Pieces()
	e, err := r.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	x, err := folder.NewExport(dir, r.Facts(), recorder.Options{})
	for err == nil {
		if err = x.Add(&e); err == nil {
			e, err = r.Next(context.Background())
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if _, err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

// imported makes a recording of a folder.
func imported(t testing.TB, dir string) (string, folder.Imported) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "new.xdsp")
	done, err := folder.Import(context.Background(), dir, path, folder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return path, done
}

// A folder that is given up leaves nothing: not the directory either, if it was made.
func TestDiscard(t *testing.T) {
	all, facts := read(t, "../../../check/testdata/sessions/envoy-sotw.xdsp")
	for _, there := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "folder")
		if there {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		x, err := folder.NewExport(dir, facts, recorder.Options{})
		for i := range all {
			if err == nil {
				err = x.Add(&all[i])
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		x.Discard()
		left, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) == there || len(left) > 0 {
			t.Errorf("the directory was there: %t; it has %v, %v", there, left, err)
		}
	}
}

// same requires that two entries are.
func same(t testing.TB, path string, was, is session.Entry) {
	t.Helper()
	for _, e := range []*session.Entry{&was, &is} {
		if e.Message != nil {
			m := *e.Message
			m.Data = session.Chunks{m.Data.Bytes()}
			e.Message = &m
		}
	}
	if !reflect.DeepEqual(was, is) {
		t.Errorf("%s: entry %d was %+v and is %+v", path, was.Seq, was, is)
	}
}

// What is exported and imported again is the same, to the last byte of every
// message.
func TestNothingEdited(t *testing.T) {
	for _, path := range recordings(t) {
		again, done := imported(t, export(t, path))
		was, of := read(t, path)
		is, facts := read(t, again)
		if done.Edited+done.Added+done.Deleted+done.Moved > 0 || len(done.Unused) > 0 || facts.Masked != of.Masked || !facts.Created.Equal(of.Created) || facts.Program != of.Program {
			t.Errorf("%s: %+v, %+v of %+v", path, done, facts, of)
		}
		if len(was) != len(is) {
			t.Fatalf("%s: %d entries of %d", path, len(is), len(was))
		}
		for i := range was {
			same(t, path, was[i], is[i])
		}
	}
}

// remarks is in each of them.
const remarks = "  text: \"edited: "

var (
	separator = regexp.MustCompile(`(?m)^--- # .*$`)
	comment   = regexp.MustCompile(`(?s)^# .*?\n`)
	// Not the same again: how long a message was, and that grpc-js sends a field
	// with nothing in it.
	lost = regexp.MustCompile(`(?m)^wire_size: \d+\n|^  response_nonce: ""\n`)
)

// files are the texts of a folder, without the hashes that say that they are as
// they were.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		if out[name] = comment.ReplaceAllString(string(text), ""); name == "session.yaml" {
			out[name] = strings.TrimSuffix(separator.ReplaceAllString(string(text), "---"), "# end of the session\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Without the hashes everything is encoded from its text, and says the same.
func TestEverythingEncodedAgain(t *testing.T) {
	for i, path := range recordings(t) {
		if slow && i%8 != 0 || strings.Contains(path, "version1") {
			continue // its entries are made up: numbers that no entry has
		}
		dir := export(t, path)
		before := files(t, dir)
		for name, text := range before {
			write(t, dir, name, text)
		}
		again, done := imported(t, dir)
		if done.Edited != done.Entries || len(done.Lossy) > 0 {
			t.Errorf("%s: %+v", path, done)
		}
		second := filepath.Join(t.TempDir(), "again")
		exportTo(t, again, second)
		after := files(t, second)
		// The remarks at the end are news.
		text := after["session.yaml"]
		if i := strings.Index(text, remarks); i >= 0 {
			text = text[:strings.LastIndex(text[:i], "---\n")]
		}
		after["session.yaml"] = text
		if diff := cmp.Diff(flat(before), flat(after)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

var reference = regexp.MustCompile(`"@file": (\S+)\n`)

// flat is the text of a session with its resources in it.
func flat(files map[string]string) string {
	return reference.ReplaceAllStringFunc(lost.ReplaceAllString(files["session.yaml"], ""), func(ref string) string {
		return ref[:9] + files[reference.FindStringSubmatch(ref)[1]]
	})
}
