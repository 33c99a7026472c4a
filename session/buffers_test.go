package session

import "testing"

// A buffer has room for what was asked for and not much more, and comes back with
// the length that it had.
func TestBuffersComeBack(t *testing.T) {
	var b Buffers
	again := 0
	for size := int64(1); size <= BufferSize+1; size += 1 + size/7 {
		got := b.Get(size)
		if len(got) != 0 || int64(cap(got)) < size || int64(cap(got)) > size+size/4+1 {
			t.Fatalf("of %d bytes %d are given, with room for %d", size, len(got), cap(got))
		}
		got = append(got, 'x')
		b.Put(Chunks{got})
		next := b.Get(size)
		if cap(next) != cap(got) {
			t.Fatalf("of %d bytes there is room for %d, then for %d", size, cap(got), cap(next))
		}
		if &next[:1][0] == &got[0] {
			again++
		}
	}
	if again == 0 {
		t.Error("none was used again")
	}
	b.Put(Chunks{nil, {}})
	// What has another length than the pool's buffers is not given as one of them: it
	// would reach into what lies behind it.
	odd := make(Chunks, 64)
	strange := make(map[*byte]bool)
	for i := range odd {
		odd[i] = make([]byte, 5, 3000)
		strange[&odd[i][0]] = true
	}
	b.Put(odd)
	for range odd {
		if got := b.Get(3000); strange[&got[:1][0]] {
			t.Fatalf("a buffer of 3000 bytes is given as one of %d", cap(got))
		}
	}
	(*Buffers)(nil).Put(Chunks{make([]byte, 0, BufferSize)})
	if c := (*Buffers)(nil).Get(5000); cap(c) != 5000 {
		t.Errorf("nobody gives room for %d bytes", cap(c))
	}
}
