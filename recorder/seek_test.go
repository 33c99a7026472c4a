package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// counted is a file in memory that counts what is read of it.
type counted struct {
	b    []byte
	read atomic.Int64
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	n, err := bytes.NewReader(c.b).ReadAt(p, at)
	c.read.Add(int64(n))
	return n, err
}

func (c *counted) size() (int64, error) { return int64(len(c.b)), nil }
func (c *counted) waits() bool          { return false }

func readerOf(t testing.TB, c *counted) *Reader {
	t.Helper()
	r := brieflyOf(t, c)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// brieflyOf is readerOf where there are many, each of which its user closes.
func brieflyOf(t testing.TB, c *counted) *Reader {
	t.Helper()
	r := newFileReader("counted", c, io.NopCloser(nil))
	if err := r.begin(); err != nil {
		t.Fatal(err)
	}
	return r
}

// many is a recording of many blocks, some of them large, in several epochs,
// and the end of its last block.
func many(t testing.TB, count int) (file []byte, want []session.Entry, end int) {
	t.Helper()
	m := new(memory)
	f, err := blocks.New(m, &format.FileHeader{Created: time.Unix(1e9, 0)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Free()
	rng := rand.New(rand.NewPCG(1, 2))
	all, large := pushes(t, 50), noise(100_000)
	for i := range count {
		if i%(count/3) == count/3-1 {
			f.Known.Full = true
		}
		for range rng.IntN(3) + 1 {
			e := response(session.Chunks{fmt.Appendf(nil, "message %d", len(want))})
			switch rng.IntN(10) {
			case 0:
				e = response(session.Chunks{append(fmt.Append(nil, len(want)), large...)})
			case 1, 2:
				e = response(all[rng.IntN(len(all))])
			case 3:
				e = session.Entry{Kind: session.KindGap, Gap: &session.Gap{First: 1, Last: 1, Entries: 1}}
			}
			e.Conn, e.Stream = session.ConnID(rng.IntN(9)+1), session.StreamID(rng.IntN(99)+1)
			// Numbers have holes, and several entries may have one time.
			e.Seq = session.Seq(3*len(want) + 5)
			e.Time = time.Unix(1e9+int64(len(want)/2)*10, 0).UTC()
			put(t, f, e)
			if e.Message != nil {
				m := *e.Message
				m.Data = session.Chunks{m.Data.Bytes()}
				e.Message = &m
			}
			want = append(want, e)
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		if i == count/2 {
			if err := f.WriteIndex(); err != nil { // as after many more blocks
				t.Fatal(err)
			}
		}
	}
	end = len(m.b)
	if err := f.Finish(want[len(want)-1].Seq); err != nil {
		t.Fatal(err)
	}
	return m.b, want, end
}

func TestSeek(t *testing.T) {
	file, want, end := many(t, 200)
	damaged := bytes.Clone(file)
	damaged[len(file)-format.EndSize-20] ^= 1 // in the index
	for name, b := range map[string][]byte{"with an index": file, "cut": file[:end], "index damaged": damaged} {
		r := readerOf(t, &counted{b: b})
		check := func(what string, from int) {
			t.Helper()
			for i := from; i < min(from+5, len(want)+1); i++ {
				e, err := r.Next(context.Background())
				switch {
				case i == len(want):
					if !errors.Is(err, io.EOF) || r.Facts().Complete != (name != "cut") {
						t.Fatalf("%s, %s: at the end %v, %+v", name, what, err, r.Facts())
					}
				case err != nil:
					t.Fatalf("%s, %s: %v", name, what, err)
				case !reflect.DeepEqual(e, want[i]):
					t.Fatalf("%s, %s: got entry %d, not what was written as %d", name, what, e.Seq, want[i].Seq)
				}
			}
		}
		for _, i := range rand.Perm(len(want) + 1) {
			seq, at := session.Seq(1<<62), time.Unix(1e15, 0)
			if i < len(want) {
				seq, at = want[i].Seq, want[i].Time
			}
			if err := r.Seek(seq); err != nil {
				t.Fatal(err)
			}
			check(fmt.Sprint("seq ", seq), i)
			if i%3 == 0 {
				if err := r.Seek(seq - 1); err != nil {
					t.Fatal(err)
				}
				check(fmt.Sprint("seq before ", seq), i)
			}
			first := i
			if i < len(want) {
				first = i / 2 * 2 // two have the same time
			}
			if err := r.SeekTime(at); err != nil {
				t.Fatal(err)
			}
			check("time "+at.String(), first)
		}
		if err := r.Seek(0); err != nil {
			t.Fatal(err)
		}
		all, err := drain(r)
		if err != nil || !reflect.DeepEqual(all, want) {
			t.Errorf("%s: from the beginning %d entries, %v", name, len(all), err)
		}
	}
}

// To go to an entry and to inspect read little, however large the recording.
func TestSeekReadsLittle(t *testing.T) {
	file, want, end := many(t, 2000)
	for name, b := range map[string][]byte{"index": file, "cut": file[:end]} {
		// The index, or what is read at once for each block.
		limit := int64(2000*40 + 20<<10)
		if name == "cut" {
			limit = 2000 * hopSize
		}
		for _, i := range []int{0, len(want) / 2, len(want) - 1} {
			c := &counted{b: b}
			r := readerOf(t, c)
			if err := r.Seek(want[i].Seq); err != nil {
				t.Fatal(err)
			}
			if n := c.read.Load(); n > limit || n > int64(len(file))/2 {
				t.Errorf("%s: to seek in %d bytes, %d were read", name, len(file), n)
			}
			before := c.read.Load()
			if e, err := r.Next(context.Background()); err != nil || !reflect.DeepEqual(e, want[i]) {
				t.Errorf("%s: entry %d: %v", name, e.Seq, err)
			}
			if n := c.read.Load() - before; n > 1<<20 {
				t.Errorf("%s: to read an entry in %d bytes, %d were read", name, len(file), n)
			}
		}
	}
	if len(file) < 20<<20 {
		t.Fatalf("the recording has only %d bytes", len(file))
	}
}

func TestInspect(t *testing.T) {
	file, _, end := many(t, 60)
	dir := t.TempDir()
	for name, b := range map[string][]byte{"whole": file, "cut": file[:end], "torn": file[:end-7]} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, want := readAll(t, path)
		got, err := Inspect(path)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", name, err, got, want)
		}
	}
	bad := bytes.Clone(file[:end])
	h := bytes.LastIndex(bad, []byte{0x59, 0x2A, 0x4D, 0x18})
	bad[h+20] ^= 1
	path := filepath.Join(dir, "damaged")
	if err := os.WriteFile(path, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	facts, err := Inspect(path)
	if d, ok := errors.AsType[*DamageError](err); !ok || d.Offset != int64(h) || !facts.Damaged || facts.Entries == 0 {
		t.Errorf("damaged: %v, %+v", err, facts)
	}
	r := open(t, path)
	if err := r.Seek(facts.LastSeq); err != nil {
		t.Errorf("before the damage: %v", err)
	}
	if e, err := r.Next(context.Background()); err != nil || e.Seq != facts.LastSeq {
		t.Errorf("before the damage: %d, %v", e.Seq, err)
	}
	if err := r.Seek(facts.LastSeq + 1); !isDamage(err) {
		t.Errorf("after the damage: %v", err)
	}
	if _, err := Inspect(filepath.Join(dir, "none")); err == nil {
		t.Error("what is not there was inspected")
	}
	if err := NewReader(bytes.NewReader(file)).Seek(1); err == nil {
		t.Error("a pipe was sought in")
	}
}

// A reader that has gone somewhere goes on when the file grows.
func TestSeekWhileItGrows(t *testing.T) {
	l := create(t, Options{NoTicks: true})
	r := open(t, l.Path())
	shared := resources(1)[0]
	for i := range session.Seq(20) {
		if err := r.Seek(i + 1); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(context.Background()); !errors.Is(err, io.EOF) {
			t.Errorf("entry %d is there before it is written: %v", i+1, err)
		}
		l.Append(response(session.Chunks{fmt.Append(nil, i), shared}))
		until(t, "it is written", func() bool { return l.Stats().Queued == 0 })
		for _, seq := range []session.Seq{i + 1, i/2 + 1} {
			if err := r.Seek(seq); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprint(seq-1) + string(shared)
			if e, err := r.Next(context.Background()); err != nil || string(e.Message.Data.Bytes()) != want {
				t.Errorf("entry %d: %v", seq, err)
			}
		}
	}
}

// Blocks that are not wanted are not read, and what later ones refer to is
// still found.
func TestWant(t *testing.T) {
	file, want, _ := many(t, 200)
	const stream = 7
	wanted := func(b *Block) bool {
		return b.ManyStreams || slices.Contains(b.Streams, stream)
	}
	var expect []session.Entry
	for _, e := range want {
		if e.Stream == stream {
			expect = append(expect, e)
		}
	}
	c := &counted{b: file}
	for how, r := range map[string]*Reader{"file": readerOf(t, c), "pipe": NewReader(bytes.NewReader(file))} {
		r.Want(wanted)
		all, err := drain(r)
		var got []session.Entry
		for _, e := range all {
			if e.Stream == stream {
				got = append(got, e)
			}
		}
		if err != nil || !r.Facts().Complete || !reflect.DeepEqual(got, expect) || len(all) > len(want)/4 && how == "file" {
			t.Errorf("%s: %d entries of %d, %v", how, len(got), len(expect), err)
		}
		_ = r.Close()
	}
	if n := c.read.Load(); n > int64(len(file))/2 {
		t.Errorf("%d bytes of %d were read", n, len(file))
	}
}
