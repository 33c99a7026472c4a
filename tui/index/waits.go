package index

import (
	"math/bits"
	"time"
)

// Waits counts durations in buckets that are each a quarter longer than the one
// before, or less, so that a quantile is known to a quarter.
type Waits struct {
	buckets [waitBuckets]uint32
	count   uint64
	max     uint32 // microseconds
}

const waitBuckets = 32 * 4

// bucketOf is the bucket of a number of microseconds: four for each power of two.
func bucketOf(us uint32) int {
	if us < 4 {
		return int(us)
	}
	high := bits.Len32(us) - 1
	return (high-1)*4 + int(us>>(high-2)&3)
}

// ceiling is the longest duration of a bucket, in microseconds.
func ceiling(b int) uint64 {
	if b < 4 {
		return uint64(b)
	}
	high, quarter := b/4+1, uint64(b%4)
	return (4+quarter+1)<<(high-2) - 1
}

func (w *Waits) add(us uint32) {
	if n := &w.buckets[bucketOf(us)]; *n != 1<<32-1 {
		*n++
	}
	w.count++
	w.max = max(w.max, us)
}

// Count is how many there were.
func (w *Waits) Count() uint64 { return w.count }

// Max is the longest.
func (w *Waits) Max() time.Duration { return time.Duration(w.max) * time.Microsecond }

// Quantile is what a share of them, from 0 to 1, did not exceed; 0 if there were
// none. It is at most a quarter too long.
func (w *Waits) Quantile(share float64) time.Duration {
	want := uint64(share*float64(w.count) + 0.5)
	seen := uint64(0)
	for b, n := range w.buckets {
		if seen += uint64(n); n > 0 && seen >= max(want, 1) {
			return time.Duration(min(ceiling(b), uint64(w.max))) * time.Microsecond
		}
	}
	return w.Max()
}

// Buckets are the counts from the shortest wait to the longest, one for each
// power of two, and the first of these powers, in microseconds.
func (w *Waits) Buckets() (counts []uint64, from time.Duration) {
	first := -1
	for b := 0; b < waitBuckets; b += 4 {
		n := uint64(0)
		for _, c := range w.buckets[b : b+4] {
			n += uint64(c)
		}
		if n > 0 && first < 0 {
			first = b
		}
		if first >= 0 {
			counts = append(counts, n)
		}
	}
	for len(counts) > 0 && counts[len(counts)-1] == 0 {
		counts = counts[:len(counts)-1]
	}
	if first < 4 {
		return counts, time.Microsecond
	}
	return counts, time.Duration(1) << (first/4 + 1) * time.Microsecond
}
