//go:build unix

package console

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// A reader that went away is no failure, be it a program or a pager; a disk that is
// full is one.
func TestPipeTellsClosedFromBroken(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	pr, pw := io.Pipe()
	pr.Close()
	for name, to := range map[string]io.Writer{"of the system": w, "of ours": pw} {
		if _, err := (Pipe{to}).Write([]byte("x")); err != ErrClosedPipe {
			t.Errorf("a pipe %s: %v", name, err)
		}
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return
	} else if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if _, err := (Pipe{full}).Write([]byte("x")); err == nil || errors.Is(err, ErrClosedPipe) {
		t.Errorf("a full disk: %v", err)
	}
}

// While a screen is drawn, what is written becomes lines on it, and blank ones none.
func TestStderr(t *testing.T) {
	var out strings.Builder
	var drawn []string
	c := &Stderr{W: &out}
	for _, to := range []func(string){nil, func(line string) { drawn = append(drawn, line) }, nil} {
		c.Draw(to)
		if n, err := c.Write([]byte("one\n\ntwo\n")); n != 9 || err != nil {
			t.Error(n, err)
		}
	}
	if out.String() != "one\n\ntwo\none\n\ntwo\n" || !slices.Equal(drawn, []string{"one", "two"}) {
		t.Errorf("%q is written, %q drawn", out.String(), drawn)
	}
}
