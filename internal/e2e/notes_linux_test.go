package e2e

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// sitting is a person at a screen of the program.
type sitting struct {
	t      *testing.T
	tty    *terminal
	cmd    *exec.Cmd
	exited chan struct{}
	err    error
}

// sit starts the program on a terminal of its own. Without stdin the keys come
// from where everything else does.
func sit(t *testing.T, stdin io.Reader, args ...string) *sitting {
	t.Helper()
	return sitIn(t, t.TempDir(), stdin, args...)
}

// sitIn is the same with a directory for temporary files.
func sitIn(t *testing.T, temp string, stdin io.Reader, args ...string) *sitting {
	t.Helper()
	s := &sitting{t: t, tty: newTerminal(t, 100, 30), exited: make(chan struct{})}
	s.cmd = exec.Command(program(t), args...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.tty.inside, s.tty.inside, s.tty.inside
	if stdin != nil {
		s.cmd.Stdin = stdin
	}
	s.cmd.Env = append(quietEnv(t), "TERM=xterm-256color", "TMPDIR="+temp)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1} // so that there is a /dev/tty
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.tty.inside.Close()
	go func() {
		s.err = s.cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.exited
	})
	return s
}

// sees waits until a word came out, since the screen was opened.
func (s *sitting) sees(word string) {
	s.t.Helper()
	eventually(s.t, "on the screen: "+word, func() bool { return strings.Contains(s.tty.shown.String(), word) })
}

// leaves presses q and waits until the program has ended.
func (s *sitting) leaves(keys ...string) {
	s.t.Helper()
	s.tty.press(s.t, keys...)
	select {
	case <-s.exited:
	case <-time.After(patience):
		s.t.Fatalf("it does not leave:\n%q", s.tty.shown.String())
	}
	if s.err != nil {
		s.t.Errorf("it ended with %v", s.err)
	}
}

// notesOf are those beside a recording, if that can be read.
func notesOf(t *testing.T, path string) map[session.Seq]notes.Note {
	t.Helper()
	facts, err := recorder.Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := notes.Read(path, facts.Created)
	if err != nil {
		t.Fatal(err)
	}
	return n.Entries
}

// What a person marks in an opened file and writes about it is there when it is
// opened again, and in what is exported; while another process writes the file in
// segments, too. Where nothing can be written, leaving asks.
func TestNotesSurvive(t *testing.T) {
	t.Parallel()
	demo, err := os.ReadFile(filepath.Join("..", "..", "check", "testdata", "sessions", "demo.xdsp"))
	if err != nil {
		t.Fatal(err)
	}
	copied := func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "demo.xdsp")
		if err := os.WriteFile(path, demo, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}

	t.Run("closed and opened again", func(t *testing.T) {
		t.Parallel()
		path := copied(t)
		s := sit(t, nil, "open", path)
		s.sees("CONN")
		s.tty.press(t, "g", "m", ";", "thisone", "\r")
		eventually(t, "in the file", func() bool { return notesOf(t, path)[1] == notes.Note{Marked: true, Text: "thisone"} })
		s.leaves("q")
		s = sit(t, nil, "open", path)
		s.sees("thisone")
		s.tty.press(t, "g", "m")
		eventually(t, "without the mark", func() bool { return notesOf(t, path)[1] == notes.Note{Text: "thisone"} })
		s.leaves("q")
		report := string(runProgram(t, "export", path, "-o", "md"))
		if !strings.Contains(report, "- entry 1: `thisone`\n") {
			t.Errorf("the report does not tell it:\n%.2000s", report)
		}
	})

	t.Run("while it is written", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "live.xdsp")
		log, err := recorder.Create(path, recorder.Options{MaxSize: 4 << 10, Keep: 2, NoTicks: true})
		if err != nil {
			t.Fatal(err)
		}
		add := func(n int) {
			for i := range n {
				log.Append(session.Entry{
					Conn: 1, Stream: session.StreamID(i + 1), Side: session.Client, Kind: session.KindOpen,
					Method: "/odd/" + strings.Repeat("x", i%97), Headers: []session.Field{{Name: "content-type", Value: time.Unix(int64(i)*7919*7919, int64(i)).String()}},
				})
			}
		}
		add(3)
		eventually(t, "three entries", func() bool { return log.Facts().LastSeq >= 3 })
		s := sit(t, nil, "open", path)
		s.tty.press(t, "2")
		s.sees("OPEN")
		s.tty.press(t, ":", "3", "\r", "m")
		eventually(t, "a mark", func() bool { return notesOf(t, path)[3].Marked })
		for range 10 { // what is written at once is in one segment
			add(200)
			eventually(t, "it is written", func() bool { return log.Stats().Queued == 0 })
		}
		segments, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "live.*.xdsp"))
		if len(segments) == 0 {
			t.Fatal("there is one segment")
		}
		s.tty.press(t, ":", "2000", "\r", ";", "later", "\r")
		eventually(t, "a note", func() bool { return notesOf(t, path)[2000].Text == "later" })
		s.leaves("q")
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if got := notesOf(t, path); !got[3].Marked || got[2000].Text != "later" {
			t.Errorf("%v", got)
		}
		s = sit(t, nil, "open", path)
		s.sees("OPEN")
		s.tty.press(t, ":", "2000", "\r")
		s.sees("later")
		s.leaves("q")
	})

	t.Run("nowhere to write", func(t *testing.T) {
		t.Parallel()
		path := copied(t)
		foreign := []byte("what I have to buy\n")
		if err := os.WriteFile(notes.PathOf(path), foreign, 0o600); err != nil {
			t.Fatal(err)
		}
		s := sit(t, nil, "open", path)
		s.sees("CONN")
		s.tty.press(t, "g", "m", "q")
		s.sees("kept nowhere else")
		s.leaves("y")
		if text, err := os.ReadFile(notes.PathOf(path)); err != nil || !bytes.Equal(text, foreign) {
			t.Errorf("it was written over: %q, %v", text, err)
		}
	})

	t.Run("through a pipe", func(t *testing.T) {
		t.Parallel()
		// Into a directory of its own: what was spooled is gone afterwards.
		dir := t.TempDir()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = w.Write(demo)
			w.Close()
		}()
		s := sitIn(t, dir, r, "open", "-", "--filter", "kind:nack")
		r.Close()
		s.sees("standard")
		s.sees("kind:nack")
		s.sees("NACK")
		s.leaves("q")
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%v are left", left)
		}
	})
}
