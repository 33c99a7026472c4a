package dump

import (
	"archive/zip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/trigger"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// ringOf is a log in memory in which so many connections have begun, a minute apart.
func ringOf(t *testing.T, n int) *recorder.Log {
	t.Helper()
	l, err := recorder.NewRing(recorder.Options{NoTicks: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		l.Append(session.Entry{Kind: session.KindConnect, Side: session.Client, Conn: session.ConnID(i + 1), Time: time.Unix(1e9+60*int64(i), 0)})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l
}

type told struct {
	path string
	err  error
}

func keeperOf(t *testing.T, o Options) (*Keeper, *[]told) {
	t.Helper()
	var all []told
	k, err := New(o, func(_ *trigger.Moment, path string, _ int64, err error) { all = append(all, told{path, err}) })
	if err != nil {
		t.Fatal(err)
	}
	return k, &all
}

// A dump has the minutes before the moment, and what the moment is about.
func TestDump(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "dumps")
	k, all := keeperOf(t, Options{Log: ringOf(t, 10), Dir: dir, Before: 2 * time.Minute})
	k.Add(trigger.Moment{What: "kind:connect", Seq: 8, At: time.Unix(1e9+60*7, 0), Seqs: []session.Seq{2, 8}})
	k.Close(t.Context(), time.Hour)
	if len(*all) != 1 || (*all)[0].err != nil || k.Stats() != (Stats{Written: 1}) {
		t.Fatalf("%+v, %+v", *all, k.Stats())
	}
	r, err := recorder.Open((*all)[0].path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	have := map[session.ConnID]bool{}
	for e, err := range r.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Gap == nil {
			have[e.Conn] = true
		}
	}
	for conn, want := range map[session.ConnID]bool{1: false, 2: true, 3: false, 5: false, 6: true, 7: true, 8: true, 9: false} {
		if have[conn] != want {
			t.Errorf("connection %d is in it: %v", conn, have[conn])
		}
	}
	if info, err := os.Stat((*all)[0].path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	k.Add(trigger.Moment{}) // of who looks on when all is over
	if k.Stats().Skipped != 1 {
		t.Errorf("%+v", k.Stats())
	}
}

// A report is a zip with a page and a recording in it.
func TestReport(t *testing.T) {
	k, all := keeperOf(t, Options{Log: ringOf(t, 5), Dir: t.TempDir(), Before: time.Minute, Report: true})
	k.Add(trigger.Moment{What: "kind:connect", Seq: 4, At: time.Unix(1e9+60*3, 0), Seqs: []session.Seq{4}})
	k.Close(t.Context(), time.Hour)
	if len(*all) != 1 || (*all)[0].err != nil {
		t.Fatalf("%+v", *all)
	}
	z, err := zip.OpenReader((*all)[0].path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, name := range []string{"session.xdsp", "report.md", "report.html"} {
		if !slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == name }) {
			t.Errorf("there is no %s in it", name)
		}
	}
}

// Whoever clears the dumps away, and their directory with them, gets the next one.
func TestDirectoryIsMadeAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dumps")
	k, all := keeperOf(t, Options{Log: ringOf(t, 3), Dir: dir})
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	k.Add(trigger.Moment{What: "x", Seq: 2, Seqs: []session.Seq{2}, At: time.Unix(1e9+60, 0)})
	k.Close(t.Context(), time.Hour)
	if len(*all) != 1 || (*all)[0].err != nil || len(there(t, dir)) != 1 {
		t.Errorf("%+v", *all)
	}
}

// A file in the place of the directory, or a log that has forgotten, is a failure
// that is told, and leaves nothing behind.
func TestDumpFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dumps")
	k, all := keeperOf(t, Options{Log: ringOf(t, 3), Dir: dir})
	if err := errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	k.Add(trigger.Moment{What: "x", Seq: 2, Seqs: []session.Seq{2}, At: time.Unix(1e9+60, 0)})
	k.Close(t.Context(), time.Hour)
	if len(*all) != 1 || (*all)[0].err == nil || k.Stats() != (Stats{Failed: 1}) {
		t.Errorf("%+v, %+v", *all, k.Stats())
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	k, all = keeperOf(t, Options{Log: ringOf(t, 0), Dir: dir})
	k.Add(trigger.Moment{What: "x", Seq: 2, Seqs: []session.Seq{2}})
	k.Close(t.Context(), time.Hour)
	if len(*all) != 1 || (*all)[0].err == nil || len(there(t, dir)) != 0 {
		t.Errorf("%+v, and there is %q", *all, there(t, dir))
	}
	if _, err := New(Options{Dir: "/dev/null/dumps"}, nil); err == nil {
		t.Error("a directory that cannot be made is no error")
	}
}

// Who is impatient waits for no dump.
func TestImpatient(t *testing.T) {
	dir := t.TempDir()
	k, all := keeperOf(t, Options{Log: ringOf(t, 3), Dir: dir})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 3 * waiting {
		k.Add(trigger.Moment{What: "x", Seq: 2, Seqs: []session.Seq{2}, At: time.Unix(1e9+60, 0)})
	}
	k.Close(ctx, time.Hour)
	if s := k.Stats(); s.Written+s.Failed+s.Skipped != 3*waiting || int(s.Written) != len(there(t, dir)) || int(s.Written+s.Failed) != len(*all) {
		t.Errorf("%+v, %d told, %d files", s, len(*all), len(there(t, dir)))
	}
}
