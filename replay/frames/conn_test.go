package frames

import (
	"slices"
	"testing"
)

// However the bytes are cut, the streams that are opened and where a frame may be
// put are the same, and nothing is kept of what passed.
func FuzzBorder(f *testing.F) {
	headers := []byte{0, 0, 2, typeHeaders, 0, 0, 0, 0, 5, 'a', 'b'}
	rest := []byte{0, 0, 1, typeContinuation, flagEndHeaders, 0, 0, 0, 5, 'c'}
	f.Add(slices.Concat([]byte(preface), []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}, headers, rest, reset(5, 8)), 3)
	f.Add([]byte("PRI * HT"), 1)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		cut = max(1, cut)
		follow := func(step int) (b border, opened []uint32, clear bool) {
			b.skip = len(preface)
			for rest := data; len(rest) > 0; {
				n := min(step, len(rest))
				b.pass(rest[:n], func(_ byte, stream uint32) { opened = append(opened, stream) })
				rest = rest[n:]
				if len(b.header) >= frameHeader {
					t.Fatalf("it keeps %d bytes", len(b.header))
				}
			}
			return b, opened, b.clear()
		}
		_, one, clear := follow(max(1, len(data)))
		_, many, again := follow(cut)
		if !slices.Equal(one, many) || clear != again {
			t.Errorf("%v and %v, %v and %v", one, many, clear, again)
		}
	})
}

// A header block is not taken apart.
func TestBorder(t *testing.T) {
	b := border{skip: len(preface)}
	pass := func(clear bool, data ...byte) {
		t.Helper()
		if b.pass(data, nil); b.clear() != clear {
			t.Errorf("after %v it is %v", data, b.clear())
		}
	}
	pass(true, []byte(preface)...)
	pass(false, 0, 0, 2, typeHeaders)
	pass(false, 0, 0, 0, 0, 5)
	pass(false, 'a', 'b')
	pass(true, 0, 0, 0, typeContinuation, flagEndHeaders, 0, 0, 0, 5)
	pass(false, 0, 0, 9, 0, 0, 0, 0, 0, 5)
}
