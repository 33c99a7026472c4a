package recorder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// TestFiles: the files of a recording, each alone, add up to all of it; the newest is
// being written, and no other is.
func TestFiles(t *testing.T) {
	l, write := rotating(t, Options{})
	for range 30 {
		write()
	}
	files, err := Files(l.Path())
	if err != nil || len(files) < 3 || files[len(files)-1] != l.Path() {
		t.Fatalf("%q, %v", files, err)
	}
	if want := segmentsOf(t, l.Path()); !slices.Equal(files, want) {
		t.Errorf("%q, not %q", files, want)
	}
	var entries, messages uint64
	next := session.Seq(1)
	for i, file := range files {
		f, err := InspectFile(file)
		last := i == len(files)-1
		if err != nil || f.Number != uint64(i+1) || f.Writing != last || f.Facts.Complete == last || f.First != next || !f.Began.Equal(l.Facts().Created) {
			t.Errorf("%s: %+v, %v", file, f, err)
		}
		if info, err := os.Stat(file); err != nil || f.Size != info.Size() {
			t.Errorf("%s has %d bytes, not %d", file, info.Size(), f.Size)
		}
		entries, messages = entries+f.Facts.Entries, messages+f.Facts.Messages
		if f.Facts.LastSeq > 0 {
			next = f.Facts.LastSeq + 1
		}
	}
	// Repeated entries are in no segment's own facts.
	if s := l.Stats(); entries != s.Entries || messages != s.Messages {
		t.Errorf("%d entries and %d messages in all, and the log has %+v", entries, messages, s)
	}
	closeLog(t, l)
	if f, err := InspectFile(l.Path()); err != nil || f.Writing || !f.Facts.Complete {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := InspectFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if files, err := Files(filepath.Join(t.TempDir(), "none.xdsp")); err != nil || len(files) != 0 {
		t.Errorf("%q, %v", files, err)
	}
}

// TestSpare keeps of what Keep would delete what somebody still needs, for as long.
func TestSpare(t *testing.T) {
	needed := true
	var asked [][]Old
	l, write := rotating(t, Options{Keep: 1, Spare: func(old []Old) (stay []uint64) {
		asked = append(asked, slices.Clone(old))
		for _, o := range old {
			if info, err := os.Stat(o.Path); err != nil || info.Size() != o.Size {
				t.Errorf("%+v: %v", o, err)
			}
			if needed && o.Number%2 == 1 {
				stay = append(stay, o.Number)
			}
		}
		return stay
	}})
	until := func(n int) {
		for len(segmentsOf(t, l.Path())) == 0 || l.Facts().Bytes == 0 || segmentNumber(t, l.Path()) < uint64(n) {
			write()
		}
	}
	until(7)
	closeNumbers := func() (numbers []uint64) {
		for _, file := range segmentsOf(t, l.Path()) {
			numbers = append(numbers, segmentNumber(t, file))
		}
		return numbers
	}
	if got := closeNumbers(); !slices.Equal(got, []uint64{1, 3, 5, 6, 7}) {
		t.Errorf("segments %v", got)
	}
	needed = false
	until(8)
	closeLog(t, l)
	if got := closeNumbers(); !slices.Equal(got, []uint64{7, 8}) {
		t.Errorf("segments %v", got)
	}
	if len(asked) == 0 || len(asked[0]) == 0 {
		t.Errorf("asked %v", asked)
	}
}

func segmentNumber(t *testing.T, path string) uint64 {
	t.Helper()
	f, err := InspectFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return f.Number
}
