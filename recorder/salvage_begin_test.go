package recorder

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// timed is a recording of four blocks of one entry each, and where each ends; the
// first is the end of the header.
func timed(t *testing.T) (file []byte, ends []int) {
	t.Helper()
	m := new(memory)
	f, err := blocks.New(m, &format.FileHeader{Program: "test", Masked: true, Created: time.Unix(1e9, 0)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Free()
	ends = append(ends, len(m.b))
	for seq := session.Seq(1); seq <= 4; seq++ {
		e := message(1, "payload")
		e.Seq, e.Time = seq, time.Unix(1e9+int64(seq), 0).UTC()
		put(t, f, e)
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, len(m.b))
	}
	if err := f.Finish(4); err != nil {
		t.Fatal(err)
	}
	return m.b, ends
}

// Whatever becomes of the header, all entries are rescued, and nothing is said that
// only the header knew. Who opens such a file is told what it looks like.
func TestSalvageWithoutHeader(t *testing.T) {
	file, ends := timed(t)
	want, err := drain(NewReader(bytes.NewReader(file)))
	if err != nil {
		t.Fatal(err)
	}
	zeros := bytes.Clone(file)
	clear(zeros[:ends[0]])
	bad := map[string][]byte{"no header": file[ends[0]:], "zeros": zeros}
	for at := range ends[0] {
		for _, flip := range []byte{0x01, 0x55, 0x80, 0xff} {
			b := bytes.Clone(file)
			b[at] ^= flip
			bad[fmt.Sprintf("byte %d, %#x", at, flip)] = b
		}
	}
	for name, b := range bad {
		all, facts, done, err := rescue(t, b)
		if err != nil || !reflect.DeepEqual(all, want) || done != (Rescued{Entries: 4, Damages: 1, Bytes: int64(len(b) - len(file) + ends[0]), Headless: true}) {
			t.Errorf("%s: %d entries, %+v, %v", name, len(all), done, err)
		}
		if !facts.Created.Equal(want[0].Time) || facts.Masked || facts.Program != "" {
			t.Errorf("%s: %+v", name, facts)
		}
	}
	path := filepath.Join(t.TempDir(), "bad")
	for _, name := range []string{"byte 20, 0xff", "zeros"} {
		if err := os.WriteFile(path, bad[name], 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if f, is := errors.AsType[*FormatError](err); !is || !f.Damaged {
			t.Errorf("%s: %v", name, err)
		}
		to := filepath.Join(t.TempDir(), "to")
		if done, err := Salvage(t.Context(), path, to, nil); err != nil || done.Entries != 4 || !done.Headless {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
	}
}

// Where the first blocks are damaged, too, it is said that something is missing, and
// that nobody knows how much.
func TestSalvageWithoutABeginning(t *testing.T) {
	file, ends := timed(t)
	clear(file[:ends[1]+30])
	all, _, done, err := rescue(t, file)
	if err != nil || len(all) != 3 || done.Entries != 2 || done.Lost != 2 || done.Damages != 1 || done.Bytes != int64(ends[2]) {
		t.Fatalf("%d entries, %+v, %v", len(all), done, err)
	}
	gap := all[0]
	if gap.Gap == nil || gap.Gap.First != 1 || gap.Gap.Last != 2 || !slices.Contains(gap.Problems, problemUncounted) || !gap.Time.Equal(time.Unix(1e9+3, 0)) {
		t.Errorf("%+v", gap)
	}
}

// A segment begins with entries that it repeats: what is not among them is not lost.
func TestSalvageOfASegmentWithoutHeader(t *testing.T) {
	l, write := rotating(t, Options{})
	for range 40 {
		write()
	}
	closeLog(t, l)
	for i, path := range segmentsOf(t, l.Path())[1:] {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, facts, _, err := rescue(t, file)
		if err != nil || facts.Gaps != 0 {
			t.Fatalf("%+v, %v", facts, err)
		}
		file[20] ^= 0xff
		got, facts, done, err := rescue(t, file)
		if err != nil || !reflect.DeepEqual(got, want) || facts.Gaps != 0 || done.Damages != 1 || done.Lost != 0 {
			t.Errorf("segment %d: %d entries of %d, %+v, %v", i+2, len(got), len(want), done, err)
		}
	}
}

// A header that is right is believed, though the descriptors behind it never end.
func TestSalvageBehindDescriptors(t *testing.T) {
	l := create(t, Options{Descriptors: []byte("some"), Program: "test"})
	l.Append(message(1, "payload"))
	closeLog(t, l)
	file, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	at := format.FrameHeadSize + int(binary.LittleEndian.Uint32(file[4:]))
	binary.LittleEndian.PutUint32(file[at+4:], format.MaxSkippable)
	all, facts, done, err := rescue(t, file)
	if err != nil || len(all) == 0 || done.Headless || done.Damages != 1 || done.Lost != 0 || facts.Program != "test" {
		t.Errorf("%d entries, %+v, %+v, %v", len(all), done, facts, err)
	}
}

// zipped is an archive with a file that is stored as it is.
func zipped(t *testing.T, file []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "session.xdsp", Method: zip.Store})
	if err == nil {
		_, err = w.Write(file)
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is something else is refused as it is by Open, recordings that it may hold
// notwithstanding, and so is one of another version.
func TestSalvageOfSomethingElse(t *testing.T) {
	file, ends := timed(t)
	capture := append([]byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0}, make([]byte, 1000)...)
	later := binary.LittleEndian.AppendUint32([]byte(format.Magic), 7)
	for name, b := range map[string][]byte{
		"text": bytes.Repeat([]byte("no recording "), 10_000), "a capture": capture, "an archive": zipped(t, file), "zeros": make([]byte, 5000),
		"nothing": nil, "a header alone": file[:ends[0]-1], "a header with nothing behind": append(file[:ends[0]-1:ends[0]-1], 0, 1, 2),
		"another version": append(format.AppendSkippable(nil, format.MagicHeader, later), file[ends[0]:]...),
	} {
		dir := t.TempDir()
		from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
		if err := os.WriteFile(from, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, want := Open(from)
		if f, is := errors.AsType[*FormatError](want); is && f.Damaged {
			t.Errorf("%s looks damaged", name)
		}
		done, err := Salvage(t.Context(), from, to, nil)
		if want == nil || err == nil || err.Error() != want.Error() || done != (Rescued{}) {
			t.Errorf("%s: %+v, %v; to open it says %v", name, done, err, want)
		}
		if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the copy: %v", name, err)
		}
	}
}

// blank is a file of zeros, of any size.
type blank struct{ length, read int64 }

func (f *blank) ReadAt(p []byte, at int64) (int, error) {
	n := min(int64(len(p)), max(f.length-at, 0))
	clear(p[:n])
	if f.read += n; n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

func (f *blank) size() (int64, error) { return f.length, nil }
func (f *blank) waits() bool          { return false }

// However large something else is, not all of it is read; and who gives up is heard.
func TestSalvageOfSomethingLarge(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := &blank{length: 1 << 40}
	r := newFileReader("blank", f, io.NopCloser(nil))
	defer r.Close()
	err := newSalvage(r, r.src.(*fileSource), nil).begin(ctx)
	if _, is := errors.AsType[*FormatError](err); !is || f.read < mostForeign || f.read > mostForeign+2*mostLook {
		t.Errorf("%d bytes are read: %v", f.read, err)
	}
	f.read = 0
	err = newSalvage(r, r.src.(*fileSource), func(read int64, _ uint64) {
		if read > 10*mostLook {
			cancel()
		}
	}).begin(ctx)
	if !errors.Is(err, context.Canceled) || f.read > 13*mostLook {
		t.Errorf("%d bytes are read: %v", f.read, err)
	}
}
