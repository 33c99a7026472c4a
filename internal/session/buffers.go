package session

import "sync"

// BufferSize is the length of a buffer, in bytes.
const BufferSize = 256 << 10

// Buffers is memory for the chunks of large messages, which is used again when
// nobody refers to a message any more, instead of being cleared and collected
// each time. What is not used for a while is collected after all. Nil keeps
// nothing. Its methods may be called from any goroutine.
type Buffers struct{ pool sync.Pool }

// Get returns an empty slice with room for size bytes, or for BufferSize if it is
// not much more.
func (b *Buffers) Get(size int64) []byte {
	if b != nil && size >= BufferSize/4 && size <= BufferSize {
		if v := b.pool.Get(); v != nil {
			return v.(*[BufferSize]byte)[:0]
		}
	}
	return make([]byte, 0, size)
}

// Put takes the memory of a message to which nobody refers any more, nor to any
// part of it.
func (b *Buffers) Put(c Chunks) {
	for _, chunk := range c {
		if b != nil && cap(chunk) == BufferSize {
			b.pool.Put((*[BufferSize]byte)(chunk[:BufferSize]))
		}
	}
}
