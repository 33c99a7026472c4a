package mutant

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
)

// maxSize is how long a mutant gets by what is doubled.
const maxSize = 8 << 20

// Raw returns b with one to four changes that know nothing of checksums. It
// works on any file. b stays as it is.
func Raw(b []byte, r *rand.Rand) []byte {
	b = bytes.Clone(b)
	for range 1 + r.IntN(4) {
		b = rawOnce(b, r)
	}
	return b
}

func rawOnce(b []byte, r *rand.Rand) []byte {
	if len(b) == 0 {
		return append(b, hostile(r)...)
	}
	from, to := stretch(b, r)
	at := r.IntN(len(b))
	switch r.IntN(11) {
	case 0, 1:
		for range 1 + r.IntN(16) {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
	case 2:
		b[at] = byte(r.Uint32())
	case 3:
		b = b[:at]
	case 4:
		b = slices.Delete(b, from, to)
	case 5:
		if len(b)+to-from < maxSize {
			b = slices.Insert(b, to, bytes.Clone(b[from:to])...)
		}
	case 6: // two stretches change places
		other, end := stretch(b, r)
		if other < from {
			from, to, other, end = other, end, from, to
		}
		if to <= other {
			b = slices.Concat(b[:from], b[other:end], b[to:other], b[from:to], b[end:])
		}
	case 7: // a length, perhaps
		if starts := frames(b); len(starts) > 0 && r.IntN(2) == 0 {
			at = starts[r.IntN(len(starts))] + 4
		}
		if at+4 <= len(b) {
			binary.LittleEndian.PutUint32(b[at:], []uint32{0, 1, math.MaxInt32, math.MaxUint32, 1 << 30, r.Uint32()}[r.IntN(6)])
		}
	case 8:
		fill := []byte{0, 0xff}[r.IntN(2)]
		for i := range b[from:to] {
			b[from+i] = fill
		}
	case 9:
		b = slices.Insert(b, at, []byte(hostile(r))...)
	case 10:
		b = slices.Insert(b, at, endless()...)
	}
	return b
}

// stretch is a part of b: whole frames, if there are some, or any bytes.
func stretch(b []byte, r *rand.Rand) (from, to int) {
	if starts := frames(b); len(starts) > 1 && r.IntN(2) == 0 {
		i := r.IntN(len(starts))
		if i == len(starts)-1 {
			return starts[i], len(b)
		}
		return starts[i], starts[i+1]
	}
	from = r.IntN(len(b))
	return from, from + r.IntN(min(len(b)-from, 1<<r.IntN(16))+1)
}

// frames is where the skippable frames of a recording begin, each with what
// follows it. There are none in other files.
func frames(b []byte) []int {
	var starts []int
	for at := 0; ; at += 4 {
		i := bytes.Index(b[at:], []byte{0x2A, 0x4D, 0x18})
		if i < 0 {
			return starts
		}
		if at += i - 1; at >= 0 && b[at] >= 0x58 && b[at] <= 0x5B {
			starts = append(starts, at)
		}
	}
}

// hostile is a text that a terminal, a spreadsheet, a page or a format could
// take for something else.
func hostile(r *rand.Rand) string {
	texts := []string{
		"\x1b]0;x\x07", "\x1b[2J", "\u009b31m", "\u0085", "\u202e", "\u2028", "\u2029", "\u2066", "\u200b", "\ufeff",
		"\U000e0041", "\x00", "\x7f", "\r", "\b", "\t", "\n- a: b\n", "\xff\xfe", "\xed\xa0\x80", "\xf4\x90\x80\x80",
		"=1+1", `"'\`, "]]>", "<b>&", "```", "|", "%s%n", "../../x", "${A}", "#", ": ", "*", "xdstp://a/b?c=d#e,f",
	}
	text := texts[r.IntN(len(texts))]
	if r.IntN(8) == 0 {
		for range r.IntN(2000) {
			text += texts[r.IntN(len(texts))]
		}
	}
	return text
}

// endless is a varint that does not end where it must.
func endless() []byte { return bytes.Repeat([]byte{0xff}, 11) }
