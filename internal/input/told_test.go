package input

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/session"
)

// What is to be said goes to who asked for it, else it is a warning.
func TestWhoIsTold(t *testing.T) {
	o, said := opening(t, nil)
	o.warn("first %d", 1)
	var told []string
	o.Tells = func(format string, _ ...any) { told = append(told, format) }
	o.warn("second %d", 2)
	if !strings.Contains(said.String(), "first 1") || strings.Contains(said.String(), "second") || len(told) != 1 || told[0] != "second %d" {
		t.Errorf("said %q, told %q", said.String(), told)
	}
}

// Notes that cannot be used are said to be left alone, once.
func TestNotesThatCannotBeUsed(t *testing.T) {
	text, err := os.ReadFile(demo)
	if err != nil {
		t.Fatal(err)
	}
	for beside, want := range map[string]int{"": 0, "no notes": 1} {
		path := filepath.Join(t.TempDir(), "a.xdsp")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if beside != "" {
			if err := os.WriteFile(notes.PathOf(path), []byte(beside), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		o, _ := opening(t, nil)
		told := 0
		o.Tells = func(string, ...any) { told++ }
		src, err := o.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if n := src.Notes(); n == nil || len(n.Entries) != 0 {
				t.Errorf("%q beside it are %+v", beside, n)
			}
		}
		if told != want {
			t.Errorf("of %q beside it, %d things are told", beside, told)
		}
		src.tell, src.notes = nil, nil // nobody listens
		src.Notes()
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}

// broken is a pipe that gives nothing but an error.
type broken struct{}

var errBroken = errors.New("the pipe is broken")

func (broken) Read([]byte) (int, error) { return 0, errBroken }

// A pipe that cannot be read is named as it was given.
func TestPipesThatCannotBeRead(t *testing.T) {
	o, _ := opening(t, broken{})
	if _, err := o.Open("-"); !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "standard input: ") {
		t.Errorf("standard input: %v", err)
	}
	if _, err := o.openPipe("fifo", broken{}); !errors.Is(err, errBroken) || strings.Contains(err.Error(), "standard input") {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := o.openPipe("fifo", &namedPipe{name: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a pipe that is gone: %v", err)
	}
	p := &namedPipe{name: demo}
	b := make([]byte, 4)
	first, err := p.Read(b)
	again := make([]byte, 4)
	second, err2 := p.Read(again)
	if first != 4 || second != 4 || err != nil || err2 != nil || string(b) == string(again) {
		t.Errorf("it reads %q, then %q, %v, %v", b, again, err, err2)
	}
	if err := p.file.Close(); err != nil {
		t.Error(err)
	}
}

// jumps counts where something may have been passed over.
type jumps struct {
	Stepper
	n int
}

func (j *jumps) Step(e *session.Entry) check.Change {
	if e.Kind == session.KindGap {
		j.n++
	}
	return j.Stepper.Step(e)
}

// A walk passes over nothing where the entries that lead in to a span are the next ones.
func TestWalkGoesOnWhereItIs(t *testing.T) {
	path := longStream(t, 100, 10)
	for first, want := range map[session.Seq]int{1: 0, leadIn + 1: 0, leadIn + 2: 0, leadIn + 3: 1} {
		src, err := testOpener(t).Open(path)
		if err != nil {
			t.Fatal(err)
		}
		step := &jumps{Stepper: check.NewTracker(nil)}
		seen := false
		err = Walk(t.Context(), src, []filter.Span{{First: first, Last: first}}, nil, step, func(e *session.Entry, _ *check.Change) error {
			seen = seen || e.Seq == first
			return nil
		})
		if err != nil || !seen || step.n != want {
			t.Errorf("to %d it jumps %d times, not %d; it was seen: %v, %v", first, step.n, want, seen, err)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}
