package mcp

import (
	"bytes"
	"encoding/base64"
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
	for _, far := range []cursor{{line: maxAt + 1}, {position: position{at: maxAt + 1}}, {position: position{at: 1, in: maxAt + 1}}} {
		if _, err := parseCursor(far.String()); err == nil {
			t.Errorf("%+v is taken", far)
		}
	}
	for _, near := range []cursor{{line: maxAt}, {position: position{at: maxAt}}, {position: position{at: 1, in: maxAt}}} {
		if got, err := parseCursor(near.String()); err != nil || got != near {
			t.Errorf("%+v is read as %+v, %v", near, got, err)
		}
	}
	if markOf([]byte("a"), []byte("bc")) == markOf([]byte("ab"), []byte("c")) {
		t.Error("where a part ends does not count")
	}
}

// A cursor has three numbers, and nothing behind them, whoever has made its sum.
func TestCursorHasThreeNumbers(t *testing.T) {
	for _, c := range []struct {
		numbers []byte
		taken   bool
	}{
		{[]byte{1, 2, 3}, true},
		{[]byte{0xac, 2, 2, 3}, true},
		{[]byte{0xac, 2, 2}, false},                     // one is missing
		{[]byte{1, 2, 0x80}, false},                     // one has no end
		{[]byte{1, 2, 3, 0}, false},                     // one more
		{bytes.Repeat([]byte{0xff}, 11), false},         // one that is too long
		{append([]byte{1, 2}, 0xff, 0xff, 0xff), false}, // the same, without an end
	} {
		b := append(make([]byte, marks), c.numbers...)
		sum := markOf(cursorDomain, b)
		text := base64.RawURLEncoding.EncodeToString(append(b, sum[:cursorSum]...))
		if got, err := parseCursor(text); (err == nil) != c.taken {
			t.Errorf("% x is read as %+v, %v", c.numbers, got, err)
		}
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
