package input

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/console"
)

// What comes through a pipe is in a file of its own, for this user alone, which
// can be read to and fro and goes away again.
func TestSpool(t *testing.T) {
	recording, err := os.ReadFile(filepath.Join("..", "..", "check", "testdata", "sessions", "demo.xdsp"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, ending string }{
		"a recording": {string(recording), ".xdsp"},
		"a script":    {"C> type=CDS V= N= R=[] node=n1\n", ".xds"},
		"nothing":     {"", ".xdsp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			o := spooling(t, strings.NewReader(c.text))
			path, remove, err := o.Spool(int64(len(c.text)))
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			info, missing := os.Stat(path)
			if err != nil || missing != nil || string(got) != c.text || filepath.Ext(path) != c.ending || info.Mode().Perm() != 0o600 {
				t.Errorf("%d bytes in %s with mode %v: %v", len(got), path, info.Mode(), err)
			}
			remove()
			empty(t)
		})
	}
}

// One that does not end is given up, and nothing stays of it.
func TestSpoolIsBounded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	_, _, err := spooling(t, endless{}).Spool(1 << 20)
	if err == nil || !strings.Contains(err.Error(), "longer than 1 MiB") {
		t.Errorf("%v", err)
	}
	empty(t)
	ctx, stop := context.WithCancel(t.Context())
	o := spooling(t, silent{})
	o.Ctx = ctx
	stop()
	if _, _, err := o.Spool(1 << 20); err == nil {
		t.Error("it waits for a pipe that nobody waits for any longer")
	}
	empty(t)
}

func empty(t *testing.T) {
	t.Helper()
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

func spooling(t *testing.T, from io.Reader) *Opener {
	return &Opener{Console: &console.Console{Ctx: t.Context(), Stdin: from, Stdout: io.Discard, Stderr: &bytes.Buffer{}}}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

type silent struct{}

func (silent) Read([]byte) (int, error) { select {} }
