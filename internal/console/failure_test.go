package console

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What peers wrote is printed harmless and bounded, and hints that say nothing are
// none.
func TestFailurePrint(t *testing.T) {
	var b strings.Builder
	Failed("%s", "a\x1b[31m"+strings.Repeat("x", 2*MaxSentence)).Hint("%s", "").Hint("see %s", "\x07").Print(&b)
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "xdsproxy: error: a") || !strings.HasSuffix(lines[0], "…") ||
		!strings.HasPrefix(lines[1], "xdsproxy: hint: see ") || strings.ContainsAny(b.String(), "\x1b\x07") || b.Len() > MaxSentence+200 {
		t.Errorf("%.200q, %d bytes", b.String(), b.Len())
	}
	b.Reset()
	ErrDifferences.(*Failure).Print(&b)
	if b.Len() > 0 {
		t.Errorf("%q", b.String())
	}
}

// Commands that cannot be run have the exit codes of a shell.
func TestRunnable(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for command, code := range map[string]int{"sh": 0, plain: exitCannotRun, filepath.Join(dir, "none"): exitNoCommand, "no-such-command-here": exitNoCommand} {
		err := Runnable(command)
		f, is := errors.AsType[*Failure](err)
		if is != (code != 0) || is && (f.Code != code || !strings.Contains(f.Error(), command)) {
			t.Errorf("%s: %v", command, err)
		}
	}
	late := exec.Command(filepath.Join(dir, "none")).Run()
	if f := NotRunnable("none", late); f.Code != exitNoCommand || strings.Count(f.Error(), dir) != 0 {
		t.Errorf("%d, %v", f.Code, f)
	}
}

// What is there already is never overwritten, and that is said.
func TestOverwriting(t *testing.T) {
	there := fmt.Errorf("it: %w", fs.ErrExist)
	if f, _ := errors.AsType[*Failure](Overwriting("cannot write", there)); f == nil || len(f.Hints) != 1 || !Said(f) || Said(there) {
		t.Errorf("%+v", f)
	}
	if f, _ := errors.AsType[*Failure](Overwriting("cannot write", fs.ErrPermission)); f == nil || len(f.Hints) != 0 {
		t.Errorf("%+v", f)
	}
}
