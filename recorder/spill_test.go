package recorder

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// watched is a file that is read after each write to it.
type watched struct {
	memory
	look func(b []byte)
}

func (w *watched) WriteAt(p []byte, at int64) (int, error) {
	n, err := w.memory.WriteAt(p, at)
	w.look(w.b)
	return n, err
}

// A block that goes to the file in parts is there when its last part is, and
// at no time before does the file look damaged, wherever it is cut.
func TestSpilledBlockIsThereAtOnce(t *testing.T) {
	committed, writes := 0, 0
	w := &watched{look: func(b []byte) {
		writes++
		for _, cut := range []int{len(b), len(b) - 1, len(b) - len(b)/4} {
			all, err := drain(NewReader(bytes.NewReader(b[:cut])))
			if _, format := errors.AsType[*FormatError](err); format && writes == 1 {
				continue
			}
			if err != nil || len(all) < min(committed, 2) || len(all) > committed+1 {
				t.Errorf("write %d, %d bytes of %d: %d entries of %d, %v", writes, cut, len(b), len(all), committed, err)
			}
		}
	}}
	f, err := blocks.New(w, &format.FileHeader{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Free()
	big := noise(3*blocks.SpillSize + 100)
	for i, payload := range [][]byte{[]byte("a"), []byte("b"), big, []byte("c"), big[:blocks.SpillSize]} {
		e := message(1, "")
		e.Seq, e.Message.Data = session.Seq(i+1), chunked(payload)
		put(t, f, e)
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		committed++
	}
	if writes < 10 {
		t.Errorf("%d writes: nothing was spilled", writes)
	}
	all, err := drain(NewReader(bytes.NewReader(w.b)))
	if err != nil || len(all) != 5 || !bytes.Equal(all[2].Message.Data.Bytes(), big) {
		t.Errorf("%d entries, %v", len(all), err)
	}
}

func TestDiskFullWhileSpilling(t *testing.T) {
	for name, truncate := range map[string]error{"cut off at once": nil, "cut off later": syscall.EIO} {
		t.Run(name, func(t *testing.T) {
			f := newFlaky(t)
			l := startOn(t, f, Options{NoTicks: true})
			big := noise(3 * blocks.SpillSize)
			write := func(payload []byte) {
				l.Append(message(1, string(payload)))
				until(t, "the queue is empty", func() bool { return l.Stats().Queued == 0 })
			}
			write([]byte("before"))
			f.set(f.size(t)+2*blocks.SpillSize, truncate)
			write(big)
			if all, facts := readAll(t, f.Name()); len(all) != 1 || facts.Damaged {
				t.Errorf("while full: %d entries, %+v", len(all), facts)
			}
			f.set(plenty, nil)
			write([]byte("after"))
			write(big)
			closeLog(t, l)
			all, facts := readAll(t, f.Name())
			if gaps := explained(t, all); len(gaps) != 1 || facts.Lost != 1 || facts.Messages != 3 || !facts.Complete {
				t.Errorf("%d gaps, %+v", len(gaps), facts)
			}
		})
	}
}
