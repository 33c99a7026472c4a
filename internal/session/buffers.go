package session

import (
	"math/bits"
	"sync"
	"unsafe"
)

const (
	// BufferSize is the length of the largest buffer, in bytes.
	BufferSize = 256 << 10
	// leastBuffer is that of the smallest: less is not worth it.
	leastBuffer = 16 << 10
	bufferSizes = 5 // each twice the one before
)

// Buffers is memory for the chunks of large messages, which is used again when
// nobody refers to a message any more, instead of being cleared and collected
// each time. What is not used for a while is collected after all. Nil keeps
// nothing. Its methods may be called from any goroutine.
type Buffers struct{ pools [bufferSizes]sync.Pool }

// Get returns an empty slice with room for size bytes, or for up to twice as many.
func (b *Buffers) Get(size int64) []byte {
	if b == nil || size <= leastBuffer/2 || size > BufferSize {
		return make([]byte, 0, size)
	}
	i := bits.Len64(uint64(size-1) / leastBuffer)
	if v := b.pools[i].Get(); v != nil {
		return unsafe.Slice(v.(*byte), leastBuffer<<i)[:0]
	}
	return make([]byte, 0, leastBuffer<<i)
}

// Put takes the memory of a message to which nobody refers any more, nor to any
// part of it.
func (b *Buffers) Put(c Chunks) {
	if b == nil {
		return
	}
	for _, chunk := range c {
		if n := cap(chunk); n >= leastBuffer && n <= BufferSize && n&(n-1) == 0 {
			b.pools[bits.Len64(uint64(n/leastBuffer))-1].Put(unsafe.SliceData(chunk))
		}
	}
}
