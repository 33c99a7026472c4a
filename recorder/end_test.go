package recorder

import (
	"os"
	"testing"
)

// What is said of the end of a recording is what is known: while it is written that
// it is, and of a segment that was ended nothing of what comes after it.
func TestWhatIsKnownOfTheEnd(t *testing.T) {
	l, write := rotating(t, Options{})
	for len(segmentsOf(t, l.Path())) < 3 {
		write()
	}
	files := segmentsOf(t, l.Path())
	is := func(what string, f Facts, err error, complete, writing bool, upTo uint64) {
		t.Helper()
		if err != nil || f.Complete != complete || f.Writing != writing || f.UpTo != upTo {
			t.Errorf("%s: complete %v, written %v, up to %d: %v", what, f.Complete, f.Writing, f.UpTo, err)
		}
	}
	here := func(what, path string, complete, writing bool, upTo uint64) {
		t.Helper()
		f, err := Inspect(path)
		is(what, f, err, complete, writing, upTo)
	}
	far := func(what string, n int, complete bool, upTo uint64) {
		t.Helper()
		var parts []Part
		for i, path := range files[:n] {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, part(path, uint64(i+1), b))
		}
		r, err := OpenParts(parts, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		f, err := r.Inspect()
		is(what, f, err, complete, false, upTo)
	}
	here("all of it", l.Path(), false, CanFollow, 0)
	here("its first segment", files[0], true, false, 1)
	far("what was uploaded", 2, true, 2)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	here("all of it, closed", l.Path(), true, false, 0)
	here("its first segment", files[0], true, false, 1)
	far("all but the last", 2, true, 2)

	// A writer that was killed leaves no end, and neither does a copy made too early.
	b, err := os.ReadFile(l.Path())
	if err == nil {
		err = os.WriteFile(l.Path(), b[:len(b)-1], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	here("without its end", l.Path(), false, false, 0)
}
