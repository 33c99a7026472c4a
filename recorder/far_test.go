package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// distant are bytes that count how they are used.
type distant struct {
	b        []byte
	reads    int
	parked   int
	expected int64
	closed   bool
}

func (d *distant) ReadAt(p []byte, at int64) (int, error) {
	if d.closed {
		return 0, fs.ErrClosed
	}
	d.reads++
	return bytes.NewReader(d.b).ReadAt(p, at)
}
func (d *distant) Close() error       { d.closed = true; return nil }
func (d *distant) Size() int64        { return int64(len(d.b)) }
func (d *distant) Park()              { d.parked++ }
func (d *distant) Expect(at, n int64) { d.expected += n }
func part(name string, n uint64, b []byte) Part {
	return Part{Name: name, Segment: n, Open: func() (Bytes, error) { return &distant{b: b}, nil }}
}

func drainFar(t *testing.T, r *Reader, each func()) (out []session.Entry, err error) {
	t.Helper()
	for e, err := range r.Entries(t.Context()) {
		if err != nil {
			return out, err
		}
		if e.Message != nil {
			e.Message.Data = session.Chunks{e.Message.Data.Bytes()}
		}
		out = append(out, e)
		if each != nil {
			each()
		}
	}
	return out, nil
}

// What lies elsewhere gives the same entries and facts as a file does, however
// often it was parked, and by whatever is wanted of it.
func TestFarIsTheSame(t *testing.T) {
	file, want, _ := many(t, 60)
	for name, b := range map[string][]byte{"whole": file, "without end": file[:len(file)-20]} {
		for _, every := range []int{0, 1, 3, 1000} {
			d := &distant{b: b}
			r, err := OpenAt("far", d)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			got, err := drainFar(t, r, func() {
				if n++; every > 0 && n%every == 0 {
					if err := r.Park(); err != nil {
						t.Fatal(err)
					}
				}
			})
			if err != nil || len(got) != len(want) {
				t.Fatalf("%s, parked every %d: %d entries, not %d, and %v", name, every, len(got), len(want), err)
			}
			plain := brieflyOf(t, &counted{b: b})
			all, _ := drainFar(t, plain, nil)
			if !reflect.DeepEqual(got, all) {
				t.Fatalf("%s, parked every %d: not the same entries", name, every)
			}
			a, c := r.Facts(), plain.Facts()
			if a.Path, c.Path = "", ""; !reflect.DeepEqual(a, c) {
				t.Fatalf("%s, parked every %d: %+v, not %+v", name, every, a, c)
			}
			if every == 1 && d.parked < len(want) {
				t.Fatalf("its bytes were parked %d times, not %d", d.parked, len(want))
			}
			_ = r.Close()
			_ = plain.Close()
		}
	}
}

// What is not wanted is passed over by the index: no header is read, and the same
// entries come as by the headers.
func TestFarLeapsByItsIndex(t *testing.T) {
	file, _, _ := many(t, 600)
	for _, every := range []uint64{1, 2, 7, 50, 1 << 40} {
		asked := 0
		want := func(b *Block) bool { asked++; return uint64(b.First)%every == 0 }
		plain := brieflyOf(t, &counted{b: file})
		plain.Want(want)
		all, err := drainFar(t, plain, nil)
		if err != nil {
			t.Fatal(err)
		}
		once := asked
		asked = 0
		d := &distant{b: file}
		r, err := OpenAt("far", d)
		if err != nil {
			t.Fatal(err)
		}
		r.Want(want)
		got, err := drainFar(t, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, all) {
			t.Fatalf("of every %d: %d entries, not the same %d", every, len(got), len(all))
		}
		if asked != once {
			t.Errorf("of every %d: asked %d times, not once for each of %d blocks", every, asked, once)
		}
		if every == 1<<40 && d.reads > 20 {
			t.Errorf("%d reads where nothing is wanted of %d blocks", d.reads, once)
		}
		a, c := r.Facts(), plain.Facts()
		if a.Path, c.Path = "", ""; !reflect.DeepEqual(a, c) {
			t.Errorf("of every %d: %+v, not %+v", every, a, c)
		}
		_ = r.Close()
		_ = plain.Close()
	}
}

func TestFarParts(t *testing.T) {
	l, write := rotating(t, Options{})
	var want []session.Entry
	for range 60 {
		want = append(want, write())
	}
	closeLog(t, l)
	var files [][]byte
	for _, name := range segmentsOf(t, l.Path()) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, b)
	}
	if len(files) < 5 {
		t.Fatalf("%d segments are too few for this", len(files))
	}
	parts := func() (out []Part) {
		for i, b := range files {
			out = append(out, part(fmt.Sprintf("part %d", i+1), uint64(i+1), b))
		}
		out[len(out)-1].Segment = 0 // the newest
		return out
	}
	whole, err := Open(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	all, _ := drainFar(t, whole, nil)
	_ = whole.Close()

	t.Run("all", func(t *testing.T) {
		for _, every := range []int{0, 1, 4} {
			r, err := OpenParts(parts(), func(name string, err error) { t.Errorf("%s: %v", name, err) })
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			n := 0
			got, err := drainFar(t, r, func() {
				if n++; every > 0 && n%every == 0 {
					_ = r.Park()
				}
			})
			if err != nil || !reflect.DeepEqual(got, all) {
				t.Fatalf("%d entries, not the same %d, and %v", len(got), len(all), err)
			}
			sameMessages(t, got, want)
			if f := r.Facts(); !f.Complete || f.Lost != 0 {
				t.Fatalf("%+v", f)
			}
			seek, err := OpenParts(parts(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer seek.Close()
			if err := seek.Seek(40); err != nil {
				t.Fatal(err)
			}
			if got, err := drainFar(t, seek, nil); err != nil || len(got) == 0 || got[0].Seq != 40 {
				t.Fatalf("after a jump to 40: %d entries, %v", len(got), err)
			}
		}
	})
	t.Run("inspected", func(t *testing.T) {
		r, err := OpenParts(parts(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		got, err := r.Inspect()
		if err != nil {
			t.Fatal(err)
		}
		has, err := Inspect(l.Path())
		if got.Path, has.Path = "", ""; err != nil || !reflect.DeepEqual(got, has) {
			t.Fatalf("%+v, not %+v, %v", got, has, err)
		}
	})
	for name, spoil := range map[string]func(p []Part) []Part{
		"one is not there":       func(p []Part) []Part { p[2].Open = func() (Bytes, error) { return nil, fs.ErrNotExist }; return p },
		"one is something else":  func(p []Part) []Part { p[2] = part("part 3", 3, []byte("PK\x03\x04 something else")); return p },
		"one is empty":           func(p []Part) []Part { p[2] = part("part 3", 3, nil); return p },
		"one has another number": func(p []Part) []Part { p[2] = part("part 3", 3, files[0]); return p },
		"the first is not there": func(p []Part) []Part { p[0].Open = func() (Bytes, error) { return nil, fs.ErrNotExist }; return p },
		"one is of another version": func(p []Part) []Part {
			b := bytes.Clone(files[2])
			b[12] = 9
			p[2] = part("part 3", 3, b)
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			r, err := OpenParts(spoil(parts()), func(name string, err error) { told = append(told, fmt.Sprint(name, ": ", err)) })
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got, err := drainFar(t, r, nil)
			if err != nil || len(got) >= len(all) || got[len(got)-1].Seq != all[len(all)-1].Seq {
				t.Fatalf("%d of %d entries, %v", len(got), len(all), err)
			}
			if len(told) != 1 {
				t.Errorf("told %q, not one thing", told)
			}
			if f := r.Facts(); int(f.Lost) < len(all)-len(got) { // what was lost may be repeated by the next
				t.Errorf("%d lost, and %d came of %d", f.Lost, len(got), len(all))
			}
		})
	}
	t.Run("half of one is there", func(t *testing.T) {
		p := parts()
		p[2] = part("part 3", 3, files[2][:len(files[2])-len(files[2])/3])
		r, err := OpenParts(p, func(name string, err error) { t.Errorf("%s: %v", name, err) })
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		got, err := drainFar(t, r, nil)
		if f := r.Facts(); err != nil || f.Complete || int(f.Lost) < len(all)-len(got) {
			t.Fatalf("%d of %d entries, %+v, %v", len(got), len(all), f, err)
		}
	})
	t.Run("the store does not answer", func(t *testing.T) {
		p := parts()
		p[2].Open = func() (Bytes, error) { return nil, errors.New("no route to it") }
		r, err := OpenParts(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := drainFar(t, r, nil); err == nil || !strings.Contains(err.Error(), "no route") {
			t.Fatalf("%v", err)
		}
	})
	t.Run("none", func(t *testing.T) {
		if _, err := OpenParts(nil, nil); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		_, err := OpenParts([]Part{part("x", 0, []byte("something else"))}, nil)
		if _, is := errors.AsType[*FormatError](err); !is {
			t.Fatal(err)
		}
	})
}

func FuzzOpenAt(f *testing.F) {
	file, _, _ := many(f, 9)
	f.Add(file, uint8(1))
	f.Add(file[:len(file)/2], uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, every uint8) {
		r, err := OpenAt("far", &distant{b: b})
		if err != nil {
			return
		}
		defer r.Close()
		n := 0
		r.Want(func(b *Block) bool { n++; return n%(int(every)+1) == 0 })
		var last session.Seq
		for {
			e, err := r.Next(context.Background())
			if err != nil {
				break
			}
			if e.Seq <= last {
				t.Fatalf("entry %d after %d", e.Seq, last)
			}
			if last = e.Seq; every%2 == 0 {
				if err := r.Park(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
