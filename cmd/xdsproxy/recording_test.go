package main

import (
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// What config and version say of recordings is what package recorder does.
func TestWhatIsSaidOfRecordings(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	a, _ := tree(t)
	rec, err := a.hostOf(zap.NewNop()).Record("")
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	if dir := filepath.Dir(rec.Path()); dir != a.paths().Recordings {
		t.Errorf("recordings go to %s, not to %s", dir, a.paths().Recordings)
	}
	if err := recorder.MarkLast(rec.Path()); err != nil {
		t.Fatal(err)
	}
	if last := a.paths().LastRecording; last != rec.Path() {
		t.Errorf("the last recording is %q", last)
	}
	r, err := recorder.Open(rec.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if v := r.Facts().Version; v != build.RecordingFormat {
		t.Errorf("format version %d is written, not %d", v, build.RecordingFormat)
	}
}

func TestRecordingCounts(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	a, _ := tree(t)
	rec, err := a.hostOf(zap.NewNop()).Record("")
	if err != nil {
		t.Fatal(err)
	}
	rec.Append(session.Entry{Time: time.Now(), Kind: session.KindConnect, Conn: 1})
	rec.Append(session.Entry{Kind: session.KindConnect, Conn: 2})
	last := rec.Append(session.Entry{Kind: session.KindDisconnect, Conn: 2})
	if got := rec.Stats().Last; got != last {
		t.Errorf("the last is %d, not %d", got, last)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if rec.Conns != 2 {
		t.Errorf("%d connections", rec.Conns)
	}
}
