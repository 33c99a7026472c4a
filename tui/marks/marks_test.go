package marks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
)

func keeper(t *testing.T, recording string) *Keeper {
	t.Helper()
	return New(index.New(), nil, notes.NewFile(recording, time.Time{}))
}

// What one screen kept, the next one shows; and what is taken away stays away.
func TestKept(t *testing.T) {
	recording := filepath.Join(t.TempDir(), "a.xdsp")
	k := keeper(t, recording)
	if says := k.Load(); says != "" {
		t.Error(says)
	}
	for _, n := range []session.Note{
		{Code: session.NoteMark, About: 3},
		{Code: session.NoteRemark, About: 3, Text: "why?"},
		{Code: session.NoteMark, About: 4},
		{Code: session.NoteUnmark, About: 4},
	} {
		if !k.Keep(n) {
			t.Errorf("%v is not kept", n)
		}
	}
	if k.Aside() != "" {
		t.Error("it says that marks go with the screen")
	}
	if err := k.Save(); err != nil {
		t.Fatal(err)
	}
	if n, why := k.Alone(); n != 0 {
		t.Errorf("%d are kept nowhere: %s", n, why)
	}
	k = keeper(t, recording)
	if says := k.Load(); says != "" || !k.index.Marked(3) || k.index.Remark(3) != "why?" || k.index.Marked(4) {
		t.Errorf("%q; %v", says, k.index.Marks())
	}
}

// Where they cannot be written, that is said once; they stay on the screen, and
// are written as soon as that can be done.
func TestNowhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not yet")
	k := keeper(t, filepath.Join(dir, "a.xdsp"))
	_ = k.Load()
	k.Keep(session.Note{Code: session.NoteMark, About: 3})
	if err := k.Save(); err == nil || !strings.HasPrefix(err.Error(), "marks and notes stay on this screen: a.xdsp.notes cannot be written") {
		t.Errorf("%v", err)
	}
	k.Keep(session.Note{Code: session.NoteMark, About: 4})
	if err := k.Save(); err != nil || k.Aside() != "" {
		t.Errorf("it is said again: %v", err)
	}
	if n, why := k.Alone(); n != 2 || !strings.Contains(why, "cannot be written") || !k.index.Marked(3) {
		t.Errorf("%d, %s", n, why)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := k.Save(); err != nil {
		t.Error(err)
	}
	if n, _ := k.Alone(); n != 0 {
		t.Errorf("%d are kept nowhere", n)
	}
}

// A file that is not ours is said to be left alone, and is.
func TestForeign(t *testing.T) {
	recording := filepath.Join(t.TempDir(), "a.xdsp")
	if err := os.WriteFile(notes.PathOf(recording), []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := keeper(t, recording)
	if says := k.Load(); !strings.HasPrefix(says, "a.xdsp.notes is left alone") {
		t.Error(says)
	}
	if k.Keep(session.Note{Code: session.NoteMark, About: 1}); k.Aside() == "" || k.Aside() != "" {
		t.Error("it is not said once that a mark goes with the screen")
	}
	if err := k.Save(); err != nil {
		t.Error(err)
	}
	if n, why := k.Alone(); n != 1 || !strings.Contains(why, "first line") {
		t.Errorf("%d, %s", n, why)
	}
	if text, _ := os.ReadFile(notes.PathOf(recording)); string(text) != "mine\n" {
		t.Errorf("it was written: %q", text)
	}
}

// Without a file the screen keeps them; in a log of ours, the log does.
func TestWithoutAFile(t *testing.T) {
	k := New(index.New(), nil, nil)
	k.Keep(session.Note{Code: session.NoteMark, About: 1})
	if n, why := k.Alone(); k.Save() != nil || n != 1 || why == "" || k.Aside() == "" {
		t.Errorf("%d, %q", n, why)
	}
	var log []session.Note
	k = New(index.New(), func(n session.Note) { log = append(log, n) }, nil)
	k.Keep(session.Note{Code: session.NoteMark, About: 1})
	if n, _ := k.Alone(); n != 0 || len(log) != 1 || k.Aside() != "" {
		t.Errorf("%d, %v", n, log)
	}
}
