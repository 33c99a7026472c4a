package recorder

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// worn is a file of which one read fails.
type worn struct {
	file
	reads, bad int
}

var errWorn = errors.New("input/output error")

func (w *worn) ReadAt(p []byte, at int64) (int, error) {
	if w.reads++; w.reads == w.bad {
		return 0, errWorn
	}
	return w.file.ReadAt(p, at)
}

// Where a disk fails, what is read before it is right, and the failure is told, or
// what could not be read is found in another way.
func TestReadsThatFail(t *testing.T) {
	b, want, end := many(t, 21)
	middle := len(want) / 2
	for name, do := range map[string]func(r *Reader) (any, error){
		"all": func(r *Reader) (any, error) {
			all, err := drain(r)
			if len(all) > 0 && !reflect.DeepEqual(all, want[:len(all)]) {
				t.Error("what was read before the failure is not what was written")
			}
			return all, err
		},
		"a jump": func(r *Reader) (any, error) {
			if err := r.Seek(want[middle].Seq); err != nil {
				return nil, err
			}
			var some []session.Entry
			for range 20 {
				e, err := r.Next(context.Background())
				if err != nil {
					return nil, err
				}
				some = append(some, e)
			}
			return some, nil
		},
		"a jump in time": func(r *Reader) (any, error) {
			if err := r.SeekTime(want[middle].Time); err != nil {
				return nil, err
			}
			return r.Next(context.Background())
		},
		"facts": func(r *Reader) (any, error) {
			f, err := r.Inspect()
			f.Path = ""
			return f, err
		},
	} {
		for state, size := range map[string]int{"closed": len(b), "open": end} {
			open := func(bad int) (*worn, *Reader, error) {
				w := &worn{file: &counted{b: b[:size]}, bad: bad}
				r := newFileReader("worn", w, io.NopCloser(nil))
				return w, r, r.begin()
			}
			whole, r, err := open(0)
			if err != nil {
				t.Fatal(err)
			}
			good, err := do(r)
			_ = r.Close()
			if err != nil {
				t.Fatalf("%s, %s: %v", name, state, err)
			}
			told := 0
			for bad := 1; bad <= whole.reads; bad += 1 + whole.reads/30 {
				_, r, err := open(bad)
				var got any
				if err == nil {
					got, err = do(r)
				}
				_ = r.Close()
				switch {
				case err == nil && !reflect.DeepEqual(got, good):
					t.Errorf("%s, %s: read %d of %d fails, and something else is found", name, state, bad, whole.reads)
				case err != nil && !errors.Is(err, errWorn) && !(isDamage(err) && strings.Contains(err.Error(), errWorn.Error())):
					t.Errorf("%s, %s: read %d of %d fails: %v", name, state, bad, whole.reads, err)
				case err != nil:
					told++
				}
			}
			if told == 0 {
				t.Errorf("%s, %s: no failure of %d was told", name, state, whole.reads)
			}
		}
	}
}

// fedFrom reads all that a feed of the log gives, with one read that fails.
func fedFrom(l *Log, bad int) (all []byte, reads int, err error) {
	f, err := l.Feed(FeedOptions{})
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	w := &worn{file: f.file, bad: bad}
	f.file = w
	for p := make([]byte, 4<<10); ; {
		n, err := f.Read(context.Background(), p)
		all = append(all, p[:n]...)
		if errors.Is(err, io.EOF) {
			return all, w.reads, nil
		}
		if err != nil {
			return all, w.reads, err
		}
	}
}

// A feed tells what it cannot read, and gives what is before it.
func TestFeedOfWhatFails(t *testing.T) {
	l := create(t, Options{NoTicks: true})
	for i, all := 0, pushes(t, 20); i < 20; i++ {
		hasten(t, l, pushAt(all, i))
	}
	closeLog(t, l)
	good, reads, err := fedFrom(l, 0)
	if err != nil || reads < 10 {
		t.Fatalf("%d reads, %v", reads, err)
	}
	for bad := 1; bad <= reads; bad++ {
		got, _, err := fedFrom(l, bad)
		if !errors.Is(err, errWorn) || !strings.HasPrefix(err.Error(), "cannot read the recording: ") || !bytes.HasPrefix(good, got) {
			t.Errorf("read %d of %d fails: %d bytes, %v", bad, reads, len(got), err)
		}
	}
	file, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	// Where the frames are.
	var blocks []int
	end := 0
	for at := 0; at < len(file); {
		magic, n := binary.LittleEndian.Uint32(file[at:]), int(binary.LittleEndian.Uint32(file[at+4:]))
		switch magic {
		case format.MagicBlock:
			blocks = append(blocks, at)
			var h format.BlockHeader
			if err := h.Parse(file[at+format.FrameHeadSize:][:n]); err != nil {
				t.Fatal(err)
			}
			n += int(h.Compressed)
		case format.MagicEnd:
			end = at
		}
		at += format.FrameHeadSize + n
	}
	at := blocks[len(blocks)/2]
	for name, c := range map[string]struct {
		spoil func(b []byte) []byte
		where int
		want  string // a part of the error; "": there is none, and so many bytes
		bytes int
	}{
		"no frame":          {func(b []byte) []byte { b[at+3] ^= 1; return b }, at, "there is no frame where one must be", at},
		"a long header":     {func(b []byte) []byte { b[at+6] = 1; return b }, at, "there is no frame where one must be", at},
		"a header":          {func(b []byte) []byte { b[at+20] ^= 1; return b }, at, "checksum", at},
		"the end":           {func(b []byte) []byte { b[end+10] ^= 1; return b }, end, "checksum", end},
		"another frame":     {func(b []byte) []byte { binary.LittleEndian.PutUint32(b[end:], format.MagicSkippable); return b }, 0, "", 0},
		"cut in a header":   {func(b []byte) []byte { return b[:at+20] }, 0, "", at},
		"cut in a head":     {func(b []byte) []byte { return b[:at+7] }, 0, "", at},
		"cut in a block":    {func(b []byte) []byte { return b[:blocks[len(blocks)/2+1]-1] }, 0, "", at},
		"cut between them":  {func(b []byte) []byte { return b[:at] }, 0, "", at},
		"cut in its end":    {func(b []byte) []byte { return b[:len(b)-1] }, 0, "", 0},
		"cut before it all": {func(b []byte) []byte { return b[:blocks[0]] }, 0, "", blocks[0]},
	} {
		if err := os.WriteFile(l.Path(), c.spoil(bytes.Clone(file)), 0o600); err != nil {
			t.Fatal(err)
		}
		got, _, err := fedFrom(l, 0)
		var d *DamageError
		if c.want == "" && (err != nil || c.bytes > 0 && len(got) != c.bytes) || c.want != "" && (!errors.As(err, &d) || d.Offset != int64(c.where) || !strings.Contains(d.Reason, c.want) || d.Path != l.Path()) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if c.bytes > 0 && !bytes.Equal(got, file[:len(got)]) {
			t.Errorf("%s: other bytes", name)
		}
	}
}

// A copy that cannot be written is no copy: its file is gone.
func TestCopyThatFails(t *testing.T) {
	dir := t.TempDir()
	if _, err := NewCopy(filepath.Join(dir, "no", "copy.xdsp"), Facts{}, Options{}); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "cannot write the recording: ") {
		t.Errorf("in no directory: %v", err)
	}
	if _, err := NewCopy(filepath.Join(dir, "large.xdsp"), Facts{}, Options{Descriptors: make([]byte, format.MaxDescriptors+1)}); err == nil || !strings.HasPrefix(err.Error(), "cannot write the recording: ") {
		t.Errorf("descriptors that are too large: %v", err)
	}
	entry := func(seq session.Seq) *session.Entry {
		e := message(1, "text")
		e.Seq = seq
		return &e
	}
	for name, c := range map[string]struct {
		do   func(c *Copy) error
		want string
	}{
		"twice":          {func(c *Copy) error { c.Add(entry(2)); return c.Add(entry(2)) }, "entry 2 cannot follow entry 2"},
		"backwards":      {func(c *Copy) error { c.Add(entry(2)); return c.Add(entry(1)) }, "entry 1 cannot follow entry 2"},
		"after that":     {func(c *Copy) error { c.Add(entry(2)); c.Add(entry(2)); return c.Add(entry(9)) }, "entry 2 cannot follow entry 2"},
		"number 0":       {func(c *Copy) error { return c.Add(entry(0)) }, "entry 0 cannot follow entry 0"},
		"without a file": {func(c *Copy) error { c.Add(entry(1)); c.f.Close(); return nil }, ""},
		"a block in no file": {func(c *Copy) error {
			c.f.Close()
			var err error
			for seq := session.Seq(1); seq < 9 && err == nil; seq++ {
				e := entry(seq)
				e.Message.Data = session.Chunks{noise(300 << 10)}
				e.Message.Data[0][0] ^= byte(seq)
				err = c.Add(e)
			}
			return err
		}, "cannot write "},
	} {
		path := filepath.Join(dir, name)
		copying, err := NewCopy(path, Facts{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = c.do(copying)
		if c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) || c.want == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if size, err := copying.Close(); err == nil || size != 0 || !strings.HasPrefix(err.Error(), "cannot write "+path+": ") {
			t.Errorf("%s: %d bytes, %v", name, size, err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: its file is there, %v", name, err)
		}
	}
}

// A segment takes the place of another, or all stays as it was.
func TestReplace(t *testing.T) {
	for name, c := range map[string]struct{ files, want, err string }{
		"well":              {"path=a next=b", "older=a path=b", ""},
		"one is there":      {"path=a next=b older=c", "next=b older=c path=a", "is there already"},
		"there is no next":  {"path=a", "path=a", "no such file"},
		"there is no older": {"next=b", "next=b", "no such file"},
	} {
		dir := t.TempDir()
		for _, f := range strings.Fields(c.files) {
			file, text, _ := strings.Cut(f, "=")
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := replace(filepath.Join(dir, "path"), filepath.Join(dir, "older"), filepath.Join(dir, "next"))
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", name, err)
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, f.Name()+"="+string(text))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// Where the state directory cannot be used, that is said in one sentence.
func TestStateDirThatIsNone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	said := func(want string, err error) {
		t.Helper()
		if err == nil || !strings.HasPrefix(err.Error(), want+": ") {
			t.Errorf("%v, not %s", err, want)
		}
	}
	t.Setenv("XDG_STATE_HOME", file)
	_, err := DefaultPath(time.Unix(0, 0))
	said("cannot make the directory for recordings", err)
	said("cannot note the last recording", MarkLast("x.xdsp"))
	_, err = Last()
	said("cannot find the last recording", err)

	t.Setenv("XDG_STATE_HOME", dir)
	if err := os.MkdirAll(filepath.Join(dir, "xdsproxy", "last"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = Last()
	said("cannot find the last recording", err)
	said("cannot note the last recording", MarkLast("x.xdsp"))

	t.Setenv("XDG_STATE_HOME", "relative")
	t.Setenv("HOME", "")
	_, err = StateDir()
	said("cannot find the state directory", err)
	_, err = DefaultPath(time.Unix(0, 0))
	said("cannot find the state directory", err)
	_, err = Last()
	said("cannot find the state directory", err)
	said("cannot note the last recording: cannot find the state directory", MarkLast("x.xdsp"))
}
