package recorder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// A copy has the entries that were added, as they were, and is as large as the
// recording that they come from if it has all of them.
func TestCopy(t *testing.T) {
	file, want, _ := many(t, 100)
	dir := t.TempDir()
	source := filepath.Join(dir, "source.xdsp")
	if err := os.WriteFile(source, file, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, keep := range map[string]func(session.Seq) bool{
		"all":   func(session.Seq) bool { return true },
		"some":  func(n session.Seq) bool { return n%3 == 0 },
		"late":  func(n session.Seq) bool { return int(n) > len(want)/2 },
		"never": func(session.Seq) bool { return false },
	} {
		r, err := Open(source)
		if err != nil {
			t.Fatal(err)
		}
		r.Pieces()
		path := filepath.Join(dir, name+".xdsp")
		c, err := NewCopy(path, r.Facts(), Options{Labels: func(*session.Entry) []string { return []string{"x"} }})
		if err != nil {
			t.Fatal(err)
		}
		for {
			e, err := r.Next(context.Background())
			if err != nil {
				break
			}
			if keep(e.Seq) {
				if err := c.Add(&e); err != nil {
					t.Fatal(err)
				}
			}
		}
		size, err := c.Close()
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		out, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		all, err := drain(out)
		if err != nil {
			t.Fatal(err)
		}
		var some []session.Entry
		for _, e := range want {
			if keep(e.Seq) {
				some = append(some, e)
			}
		}
		if !slices.EqualFunc(all, some, func(a, b session.Entry) bool { return reflect.DeepEqual(a, b) }) {
			t.Errorf("%s: %d entries, not %d, or others", name, len(all), len(some))
		}
		if f := out.Facts(); !f.Complete || f.Bytes != size || size > int64(len(file))+1000 {
			t.Errorf("%s: %+v of %d bytes, from %d", name, f, size, len(file))
		}
		_ = out.Close()
	}
	if _, err := NewCopy(filepath.Join(dir, "all.xdsp"), Facts{}, Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file is overwritten: %v", err)
	}
}

// What a copy cannot take leaves no file behind, and a payload that cannot be
// masked is left out.
func TestCopyOfWhatIsWrong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "copy.xdsp")
	c, err := NewCopy(path, Facts{}, Options{Transform: func(e *session.Entry) {
		if e.Seq == 1 {
			panic("cannot")
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	e := message(1, "a secret that cannot be masked")
	e.Seq = 1
	if err := c.Add(&e); err != nil || len(e.Message.Data) == 0 {
		t.Fatalf("%v, %+v", err, e)
	}
	e.Seq = 2
	if err := c.Add(&e); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, err := drain(r)
	if err != nil || len(all) != 2 || all[0].Message.Data.Len() != 0 || !all[0].Message.Truncated || len(all[0].Problems) != 1 || all[1].Message.Data.Len() == 0 {
		t.Errorf("%+v, %v", all, err)
	}

	path = filepath.Join(t.TempDir(), "copy.xdsp")
	if c, err = NewCopy(path, Facts{}, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Add(&e), c.Add(&e)); err == nil {
		t.Error("an entry follows itself")
	}
	if _, err := c.Close(); err == nil {
		t.Error("what went wrong is closed")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is left: %v", err)
	}
}

// What was left out on purpose is no loss, to whoever reads entries or headers.
func TestGapsByChoice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "copy.xdsp")
	c, err := NewCopy(path, Facts{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, cause := range []session.GapCause{session.Cut, session.CutBare, session.Lost} {
		seq := session.Seq(10 * (i + 1))
		e := session.Entry{Seq: seq, Kind: session.KindGap, Gap: &session.Gap{First: seq - 4, Last: seq, Entries: 5, Cause: cause}}
		if err := c.Add(&e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, err := drain(r)
	if err != nil || len(all) != 3 || all[0].Gap.Cause != session.Cut || all[1].Gap.Cause != session.CutBare {
		t.Fatalf("%+v, %v", all, err)
	}
	headers, err := Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []Facts{r.Facts(), headers} {
		if f.Gaps != 1 || f.Lost != 5 || f.Entries != 3 {
			t.Errorf("%+v", f)
		}
	}
}
