package recorder

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"syscall"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// tight is a log on a file system that is really full when fill says so, where
// the machine lets us mount one; elsewhere the limit is our own.
type tight struct {
	l          *Log
	ours       bool // the limit
	fill, free func()
}

func newTight(t *testing.T, size int, o Options) tight {
	t.Helper()
	dir := t.TempDir()
	filler := filepath.Join(dir, "filler")
	err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size))
	if err != nil {
		t.Logf("cannot mount a tmpfs (%v): limiting a file instead", err)
		f := newFlaky(t)
		return tight{
			l: startOn(t, f, o), ours: true,
			fill: func() { f.set(f.size(t)+rand.Int64N(3000), nil) },
			free: func() { f.set(plenty, nil) },
		}
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	l, err := Create(filepath.Join(dir, "full.xdsp"), o)
	if err != nil {
		t.Fatal(err)
	}
	return tight{
		l: l,
		fill: func() { // but for some pages
			_ = os.WriteFile(filler, make([]byte, size), 0o600)
			if info, err := os.Stat(filler); err == nil {
				_ = os.Truncate(filler, max(info.Size()-rand.Int64N(4)<<12, 0))
			}
		},
		free: func() { _ = os.Remove(filler) },
	}
}

// A disk fills up and is emptied again, over and over: what was lost is told of,
// the rest is there, and a reader of the same process, who was there all the
// time, has read the same.
func TestFullFileSystem(t *testing.T) {
	for name, maxSize := range map[string]int64{"in one file": 0, "in segments": 100 << 10} {
		t.Run(name, func(t *testing.T) {
			// Some 40 KB a round, and room for what is repeated and lost.
			d := newTight(t, 256<<10+*rounds*(64<<10), Options{NoTicks: true, MaxSize: maxSize})
			l := d.l
			if d.ours && maxSize > 0 {
				t.Skip("needs a file system of its own")
			}
			live := readerFrom(t, l)
			live.Follow(true)
			var seen []session.Entry
			var reader sync.WaitGroup
			reader.Go(func() {
				var err error
				if seen, err = drain(live); err != nil {
					t.Error(err)
				}
			})
			appended, rng := uint64(0), rand.NewChaCha8([32]byte{byte(rand.Uint32())})
			append100 := func() {
				for i := range 100 {
					unheard := make([]byte, 100)
					_, _ = rng.Read(unheard)
					l.Append(message(session.StreamID(i+1), string(unheard)))
					appended++
				}
				hasten(t, l, message(1, "and one"))
				appended++
			}
			for range *rounds {
				append100()
				d.fill()
				lost := l.Stats().Lost
				for !l.Stats().Failing {
					append100()
				}
				append100()
				// It may be able to write again: what remains of a page has room
				// for a small block.
				if s := l.Stats(); s.Lost <= lost {
					t.Errorf("while full: %+v", s)
				}
				d.free()
				append100()
				if s := l.Stats(); s.Failing {
					t.Errorf("when emptied: %+v", s)
				}
			}
			lost := l.Stats().Lost
			closeLog(t, l)
			reader.Wait()
			all, facts := readAll(t, l.Path())
			gaps := explained(t, all)
			if !facts.Complete || facts.Lost != lost || facts.Entries+lost != uint64(facts.LastSeq) || facts.Messages+lost < appended || len(gaps) < *rounds {
				t.Errorf("%d appended, %d lost, %d gaps, %+v", appended, lost, len(gaps), facts)
			}
			if !reflect.DeepEqual(seen, all) {
				t.Errorf("the reader that was there saw %d entries, of %d", len(seen), len(all))
			}
			t.Logf("%d rounds: %d appended, %d recorded, %d lost in %d gaps; %d bytes", *rounds, appended, facts.Messages, lost, len(gaps), facts.Bytes)
		})
	}
}
