package session

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

// A buffer has the room that was asked for, at most twice that, and nobody else
// has it until it comes back.
func TestBuffers(t *testing.T) {
	b, held := &Buffers{}, map[*byte]Chunks{}
	again := 0
	was := map[*byte]bool{}
	for range 5000 {
		size := 1 + rand.Int64N(2*BufferSize)>>rand.IntN(8)
		c := b.Get(size)
		if n := int64(cap(c)); len(c) != 0 || n < size || n > 2*size {
			t.Fatalf("%d bytes: length %d, room %d", size, len(c), n)
		}
		at := unsafe.SliceData(c)
		if held[at] != nil {
			t.Fatal("a buffer is given twice")
		}
		if was[at] {
			again++
		}
		was[at], held[at] = true, Chunks{append(c, 1)}
		for at, c := range held {
			if len(held) > 20 {
				b.Put(c)
				delete(held, at)
			}
		}
	}
	if again == 0 {
		t.Error("no buffer is used again")
	}
	var none *Buffers
	if c := none.Get(BufferSize); cap(c) != BufferSize {
		t.Error("nil gives no memory")
	}
	none.Put(Chunks{make([]byte, BufferSize)})
}
