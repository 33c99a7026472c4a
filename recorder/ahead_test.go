package recorder

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/mutant"
	"github.com/xdsproxy/xdsproxy/session"
)

// reading is all that one who reads to the end gets.
type reading struct {
	entries []session.Entry
	err     string
	facts   Facts
}

// read reads a file to its end or to an error, and once more after that.
func read(t *testing.T, path string, set func(*Reader)) (out reading) {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		out.err = err.Error()
		return out
	}
	defer r.Close()
	set(r)
	for {
		e, err := r.Next(t.Context())
		if err != nil {
			_, again := r.Next(t.Context())
			out.err, out.facts = fmt.Sprint(err, again), r.Facts()
			return out
		}
		if e.Message != nil { // a list of chunks is valid until the next call
			m := *e.Message
			m.Data = session.Chunks{m.Data.Bytes()}
			e.Message = &m
		}
		out.entries = append(out.entries, e)
	}
}

// What was read ahead is what is read without: the entries, the error after
// them, the facts, of whole recordings and of damaged ones.
func TestAhead(t *testing.T) {
	files, err := filepath.Glob("../check/testdata/*/*.xdsp")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings: ", err)
	}
	dir := t.TempDir()
	write := func(name string, b []byte) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	blocks, _, _ := many(t, 300)
	write("many.xdsp", blocks)
	write("short.xdsp", blocks[:2*len(blocks)/3])
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 14))
		of := blocks
		if seed%2 == 1 {
			if of, err = os.ReadFile(files[rng.IntN(len(files)/2)]); err != nil {
				t.Fatal(err)
			}
		}
		b := mutant.Raw(of, rng)
		if seed%4 > 1 {
			if b, err = mutant.Sound(of, rng); err != nil {
				continue
			}
		}
		write(fmt.Sprintf("mutant-%d.xdsp", seed), b)
	}
	l, push := rotating(t, Options{})
	for range 60 {
		push()
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files = append(files, l.Path())
	damaged, entries := 0, 0
	for _, path := range files {
		for how, set := range map[string]func(*Reader){"whole": func(*Reader) {}, "in pieces": (*Reader).Pieces} {
			want := read(t, path, set)
			got := read(t, path, func(r *Reader) {
				set(r)
				r.Ahead()
			})
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s: %d entries, %s, %+v\nwithout %d entries, %s, %+v", filepath.Base(path), how,
					len(got.entries), got.err, got.facts, len(want.entries), want.err, want.facts)
			}
			entries += len(want.entries)
			if want.facts.Damaged {
				damaged++
			}
		}
	}
	if damaged < 10 || entries < 5000 {
		t.Errorf("%d damaged files and %d entries are too few to tell", damaged, entries)
	}
}

// What changes what is to be read has its effect on what comes after it, and
// nothing is lost or given twice.
func TestAheadTurns(t *testing.T) {
	file, want, _ := many(t, 300)
	path := filepath.Join(t.TempDir(), "many.xdsp")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 15))
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		r.Ahead()
		for at, turns := 0, 0; turns < 40; turns++ {
			switch rng.IntN(5) {
			case 0:
				at = rng.IntN(len(want))
				if err := r.Seek(want[at].Seq); err != nil {
					t.Fatal(err)
				}
			case 1:
				r.Want(func(*Block) bool { return true })
			case 2:
				r.Follow(false)
			case 3:
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := r.Next(ctx); err == nil {
					t.Fatal("an entry came although its context had ended")
				}
			}
			for range rng.IntN(400) {
				if at == len(want) {
					break
				}
				e, err := r.Next(t.Context())
				if err != nil {
					t.Fatalf("seed %d, entry %d: %v", seed, want[at].Seq, err)
				}
				if w := &want[at]; e.Seq != w.Seq || e.Message != nil && !bytes.Equal(e.Message.Data.Bytes(), w.Message.Data.Bytes()) {
					t.Fatalf("seed %d: entry %d came, and not %d", seed, e.Seq, w.Seq)
				}
				at++
			}
		}
		if err := r.Close(); err != nil { // the goroutine is gone then: see TestMain
			t.Fatal(err)
		}
		if _, err := r.Next(t.Context()); err == nil {
			t.Fatal("an entry came after Close")
		}
	}
}

// Of large entries, only one is in memory: nothing is read before it comes back.
func TestAheadOfLarge(t *testing.T) {
	l := create(t, Options{NoTicks: true})
	for i := range 3 {
		l.Append(response(session.Chunks{fmt.Append(nil, i), noise(batchBytes)}))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a := &ahead{full: make(chan *batch, 2), free: make(chan *batch, 2)}
	a.free <- new(batch)
	a.free <- new(batch)
	goesOn := make(chan bool)
	go func() { goesOn <- a.batch(t.Context(), r) }()
	p := <-a.full
	if len(p.entries) != 1 {
		t.Fatalf("%d large entries are read at once", len(p.entries))
	}
	for deadline := time.Now().Add(time.Minute); len(a.free) > 0; { // it looks whether the other one is p
		if time.Sleep(time.Millisecond); time.Now().After(deadline) {
			t.Fatal("nobody waits for the large entry to come back")
		}
	}
	select {
	case <-goesOn:
		t.Fatal("more is read while a large entry is in use")
	default:
	}
	a.free <- p
	if !<-goesOn || len(a.free) != 2 {
		t.Fatal("it does not go on when the large entry is back")
	}
}
