package mcp

import (
	"errors"
	"testing"
)

func TestCursor(t *testing.T) {
	c := cursor{asked: markOf([]byte("a")), recording: markOf([]byte("b")), answer: markOf([]byte("c")), line: 1 << 39, position: position{70000, 3}}
	got, err := parseCursor(c.String())
	if err != nil || got != c {
		t.Errorf("%+v is read as %+v, %v", c, got, err)
	}
	text := c.String()
	for i := range text {
		b := []byte(text)
		if b[i]++; b[i] == '`' {
			b[i] = 'z'
		}
		if _, err := parseCursor(string(b)); !errors.Is(err, errNoCursor) {
			t.Errorf("%s is taken, with %q at %d", text, b[i], i)
		}
		if _, err := parseCursor(text[:i]); !errors.Is(err, errNoCursor) {
			t.Errorf("%s is taken", text[:i])
		}
	}
	for _, far := range []cursor{{line: maxAt + 1}, {position: position{at: maxAt + 1}}} {
		if _, err := parseCursor(far.String()); err == nil {
			t.Errorf("%+v is taken", far)
		}
	}
	if markOf([]byte("a"), []byte("bc")) == markOf([]byte("ab"), []byte("c")) {
		t.Error("where a part ends does not count")
	}
}

// A cursor is what was given, or none.
func FuzzCursor(f *testing.F) {
	f.Add((&cursor{}).String())
	f.Add((&cursor{asked: mark{1}, line: 9, position: position{1 << 20, 1 << 10}}).String())
	f.Add("")
	f.Add("AAAA====")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCursor(text)
		if err == nil && c.String() != text {
			t.Errorf("%q is taken for %+v", text, c)
		}
	})
}
