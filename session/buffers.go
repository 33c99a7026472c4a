package session

import (
	"math/bits"
	"sync"
	"unsafe"
)

const (
	// BufferSize is the length of the largest buffer, in bytes.
	BufferSize = 256 << 10
	// leastBuffer is that of the least: shorter messages are cheap.
	leastBuffer = 2 << 10
)

// Buffers is memory for the chunks of messages, which is used again when nobody
// refers to a message any more, instead of being cleared and collected each time.
// What is not used for a while is collected after all. Nil keeps nothing. Its
// methods may be called from any goroutine.
type Buffers struct {
	pools [32]sync.Pool // by length, of *byte, where a buffer begins
}

// Get returns an empty slice with room for size bytes, or for a quarter more.
func (b *Buffers) Get(size int64) []byte {
	if b == nil || size < leastBuffer || size > BufferSize {
		return make([]byte, 0, size)
	}
	pool, length := poolOf(int(size))
	if v := b.pools[pool].Get(); v != nil {
		return unsafe.Slice(v.(*byte), length)[:0]
	}
	return make([]byte, 0, length)
}

// Put takes the memory of a message to which nobody refers any more, nor to any
// part of it.
func (b *Buffers) Put(c Chunks) {
	if b == nil {
		return
	}
	for _, chunk := range c {
		if n := cap(chunk); n >= leastBuffer && n <= BufferSize {
			if pool, length := poolOf(n); length == n {
				b.pools[pool].Put(unsafe.SliceData(chunk))
			}
		}
	}
}

// poolOf says which buffers have room for size bytes, and how long these are:
// five, six, seven or eight parts of a power of two.
func poolOf(size int) (pool, length int) {
	shift := bits.Len(uint(size-1)) - 3
	parts := (size-1)>>shift + 1
	return 4*(shift-8) + parts - 5, parts << shift
}
