package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/internal/xdstest/heard"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// silent is a host with the default settings.
func silent() *Host {
	return &Host{Console: &console.Console{Ctx: context.Background(), Stdout: io.Discard, Stderr: io.Discard}, Settings: settings.New(), Logger: zap.NewNop()}
}

// lines are what was written, by timers.
func lines(b *heard.Buffer) []string {
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// A disk that fails is told of until it works again.
func TestTroubleLasts(t *testing.T) {
	out := new(heard.Buffer)
	tr := &trouble{con: &console.Console{Stderr: out}, every: time.Millisecond, lost: func() uint64 { return 7 }}
	tr.report(nil)
	tr.report(errors.New("no space left on device"))
	for len(lines(out)) < 3 {
		time.Sleep(time.Millisecond)
	}
	tr.report(nil)
	lines := lines(out)
	for i, want := range map[int]string{
		0:              "xdsproxy: warning: no space left on device; forwarding is not affected",
		1:              "xdsproxy: warning: the recording cannot be written as it should, for ",
		len(lines) - 1: "xdsproxy: warning: the recording is written again, after ",
	} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %q, not %q", i, lines[i], want)
		}
	}
	if last := lines[len(lines)-1]; !strings.HasSuffix(last, ": 7 entries") {
		t.Errorf("%q does not say how many are missing", last)
	}
}

// Where the whole directory is gone for a while, what was written only to the
// lost file is told of, and no gap entry that is not there.
func TestRecordingWithoutDirectory(t *testing.T) {
	for name, away := range map[string]func(dir string) error{
		"removed": os.RemoveAll,
		"renamed": func(dir string) error { return os.Rename(dir, dir+".moved") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			out := new(heard.Buffer)
			h := silent()
			h.Stderr = out
			dir := filepath.Join(t.TempDir(), "dir")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			rec, err := h.Record(filepath.Join(dir, "s.xdsp"))
			if err != nil {
				t.Fatal(err)
			}
			warned := func(text string) {
				t.Helper()
				for range 6000 {
					if strings.Contains(strings.Join(lines(out), "\n"), text) {
						return
					}
					time.Sleep(10 * time.Millisecond)
				}
				t.Fatalf("no %q in %q", text, lines(out))
			}
			rec.Append(session.Entry{Kind: session.KindConnect, Conn: 1})
			for rec.Stats().Entries == 0 {
				time.Sleep(time.Millisecond)
			}
			if err := away(dir); err != nil {
				t.Fatal(err)
			}
			warned("what passes is kept only if that file was renamed")
			before := rec.Append(session.Entry{Kind: session.KindConnect, Conn: 2})
			for rec.Stats().Entries < uint64(before) {
				time.Sleep(time.Millisecond)
			}
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			warned("the recording is written again, after ")
			rec.Append(session.Entry{Kind: session.KindConnect, Conn: 3})
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
			rec.Account(h.Console)
			said := strings.Join(lines(out), "\n")
			for _, want := range []string{"s.xdsp was removed or renamed, with ", "; nothing was dropped\n", "lost " + filepath.Join(dir, "s.xdsp") + ": "} {
				if !strings.Contains(said, want) {
					t.Errorf("no %q in\n%s", want, said)
				}
			}
			facts, err := recorder.Inspect(rec.Path())
			told := fmt.Sprintf("with %s that no other file has", render.Count(facts.Lost, "entry", "entries"))
			if err != nil || facts.Lost < uint64(before) || strings.Count(said, told) != 2 || strings.Contains(said, "gap entry") {
				t.Errorf("%+v, %v, and it says\n%s", facts, err, said)
			}
			if moved, err := recorder.Inspect(filepath.Join(dir+".moved", "s.xdsp")); name == "renamed" && (err != nil || moved.Entries != facts.Lost) {
				t.Errorf("in the file that was renamed: %+v, %v", moved, err)
			}
		})
	}
}
