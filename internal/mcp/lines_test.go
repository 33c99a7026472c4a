package mcp

import (
	"errors"
	"testing"
)

// Who writes lines is told that no more are wanted.
func TestLineWriter(t *testing.T) {
	var got []string
	w := lineWriter(func(line []byte) error {
		if len(got) == 2 {
			return errEnough
		}
		got = append(got, string(line))
		return nil
	})
	for _, line := range []string{"one\n", "two"} {
		if n, err := w.Write([]byte(line)); n != len(line) || err != nil {
			t.Errorf("of %q %d are taken, %v", line, n, err)
		}
	}
	if n, err := w.Write([]byte("three\n")); n != 0 || !errors.Is(err, errEnough) {
		t.Errorf("of one more %d are taken, %v", n, err)
	}
	if len(got) != 2 || got[0] != "one" || got[1] != "two" {
		t.Errorf("%q", got)
	}
}
