package folder_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/convert/folder"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// TestLedger: the folder of a conversation with entries of every kind, and what is made
// of it when its documents were moved, copied, taken away, and edited.
func TestLedger(t *testing.T) {
	text, err := os.ReadFile("../../render/testdata/told/beside.xds")
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse("beside.xds", text)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "made.xdsp")
	log, err := recorder.Create(path, recorder.Options{NoTicks: true})
	if err != nil {
		t.Fatal(err)
	}
	for e := range s.Entries() {
		log.Append(e)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	dir := export(t, path)
	var b strings.Builder
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, ".xdsp") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		fmt.Fprintf(&b, "== %s\n%s\n", name, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "session.yaml")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const between = "\n---"
	docs := strings.Split(string(whole), between)
	replaced := func(old, with string) []string {
		return strings.Split(strings.ReplaceAll(string(whole), old, with), between)
	}
	n := len(docs)
	for _, c := range []struct {
		name string
		docs []string
	}{
		{"as it was", docs},
		{"without the third and the fifth", slices.Delete(slices.Delete(slices.Clone(docs), 4, 5), 2, 3)},
		{"the last first", slices.Concat(docs[:1], docs[n-1:], docs[1:n-1])},
		{"one twice", slices.Concat(docs[:4], docs[3:])},
		{"two change places", slices.Concat(docs[:5], docs[6:7], docs[5:6], docs[7:])},
		{"another side", replaced("side: client", "side: server")},
		{"another kind", replaced("kind: half-close", "kind: no-such-kind")},
		{"no numbers", replaced("seq: ", "seq: x")},
		{"numbers that are not there", replaced("seq: 1", "seq: 9000")},
		{"other streams", replaced("stream: 1\n", "stream: 77\n")},
		{"a field that nobody knows", replaced("kind: ", "knd: ")},
		{"nothing", nil},
		{"only what is empty", []string{"", "  ", ""}},
	} {
		if err := os.WriteFile(file, []byte(strings.Join(c.docs, between)), 0o600); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "new.xdsp")
		var bytes int64
		var of uint64
		done, err := folder.Import(context.Background(), dir, to, folder.Options{Progress: func(n int64, entries uint64) { bytes, of = n, entries }})
		done.Bytes = 0
		words := strings.ReplaceAll(fmt.Sprint(err), dir, "DIR")
		fmt.Fprintf(&b, "==== %s: %+v, %d bytes and %d entries read\n%s\n", c.name, done, bytes, of, words)
		if err != nil {
			continue
		}
		all, facts := read(t, to)
		fmt.Fprintf(&b, "masked %t\n", facts.Masked)
		for i := range all {
			e := &all[i]
			fmt.Fprintf(&b, "  %d %s %d %d %s %s %s", e.Seq, e.Time.UTC().Format("05.000000"), e.Conn, e.Stream, e.Side, e.Kind, e.Method)
			if e.Message != nil {
				fmt.Fprintf(&b, " %d bytes", e.Message.Data.Len())
			}
			if e.Note != nil {
				fmt.Fprintf(&b, " %s %d %s", e.Note.Code, e.Note.About, e.Note.Text)
			}
			b.WriteString("\n")
		}
	}
	golden.Is(t, "testdata/ledger.txt", b.String())
}
