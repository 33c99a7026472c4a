package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// docs/format.md is enough to read a recording: the reader in Python, which has
// nothing in common with ours, finds the same entries and the same bytes.
func TestPythonReadsRecordings(t *testing.T) {
	t.Parallel()
	module := filepath.Dir(tool(t, "zstandard", "zstandard"))
	for name, path := range map[string]string{
		"golden": "../../recorder/testdata/version1.xdsp", "repeating": repeating(t),
	} {
		cmd := exec.Command("python3", "../../docs/read_xdsp.py", path)
		cmd.Env = append(cmd.Environ(), "PYTHONPATH="+module)
		cmd.Stderr = t.Output()
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := listing(t, path); string(out) != want {
			t.Errorf("%s: Python reads\n%sinstead of\n%s", name, out, want)
		}
	}
}

// repeating is a recording of many blocks whose messages repeat each other in
// part, cut off within its last block.
func repeating(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "repeating.xdsp")
	l, err := recorder.Create(path, recorder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l.Append(session.Entry{Stream: 1, Kind: session.KindOpen, Side: session.Client, Method: "/a.B/C"})
	for i := range 2000 {
		var data session.Chunks
		for k := range 100 {
			data = append(data, []byte(strings.Repeat(fmt.Sprint(k+i*(k%7)/6, " resource "), 20)))
		}
		l.Append(session.Entry{
			Stream: 1, Kind: session.KindMessage, Side: session.Server,
			Message: &session.Message{Data: append(data, []byte("end")), Size: data.Len() + 3},
		})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// listing is what docs/read_xdsp.py prints, as our own reader has it.
func listing(t *testing.T, path string) string {
	t.Helper()
	r, err := recorder.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	methods := make(map[session.StreamID]string)
	var b strings.Builder
	for e, err := range r.Entries(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		method, known := methods[e.Stream]
		if !known {
			if method = e.Method; method == "" {
				method = "-"
			}
			methods[e.Stream] = method
		}
		fmt.Fprintf(&b, "%d %d %s %s %s", e.Seq, e.Time.UnixNano(), e.Kind, e.Side, method)
		if m := e.Message; m != nil {
			data := m.Data.Bytes()
			fmt.Fprintf(&b, " %d %x", len(data), sha256.Sum256(data))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
