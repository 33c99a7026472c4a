// Package known is a set of hashes of any size in bounded memory: what came last is
// in a map, and what was there before in sorted files, which a filter guards. It
// knows nothing of what the hashes are of.
package known

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
)

// Hash is a SHA-256.
type Hash [32]byte

const (
	// entryBytes is what a hash takes in the map, about.
	entryBytes = 80
	// filterBits is how many bits of its filter a hash of a file has: one of a
	// hundred that are not there is looked for in the file.
	filterBits = 10
	probes     = 5
	// blockHashes is how many hashes are read at once; of each such block the first
	// is in memory.
	blockHashes = 128
	// maxRuns is after how many files they become one.
	maxRuns = 8
)

// Set is the set. It is not safe for concurrent use.
type Set struct {
	dir    string
	limit  int
	recent map[Hash]struct{}
	runs   []*run
	made   int
	block  [blockHashes * len(Hash{})]byte
}

// run is a sorted file, without repetition.
type run struct {
	f      *os.File
	count  int64
	filter []uint64
	first  []Hash // of each block
}

// New returns an empty set, whose files are in a directory that is there, and whose map
// takes so many bytes. A filter and an index take another two bytes for each hash that
// is in a file.
func New(dir string, budget int64) *Set {
	return &Set{dir: dir, limit: int(max(budget/entryBytes, 1)), recent: make(map[Hash]struct{})}
}

// Has says whether a hash is in it.
func (s *Set) Has(h Hash) (bool, error) {
	if _, is := s.recent[h]; is {
		return true, nil
	}
	for _, r := range s.runs {
		if is, err := r.has(h, s.block[:]); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// Add adds a hash that is not in it yet.
func (s *Set) Add(h Hash) error {
	s.recent[h] = struct{}{}
	if len(s.recent) < s.limit {
		return nil
	}
	return s.spill()
}

// spill writes what is in memory to a file.
func (s *Set) spill() error {
	list := make([]Hash, 0, len(s.recent))
	for h := range s.recent {
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b Hash) int { return bytes.Compare(a[:], b[:]) })
	r, err := s.write(int64(len(list)), func(put func(Hash) error) error {
		for _, h := range list {
			if err := put(h); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.runs = append(s.runs, r)
	clear(s.recent)
	if len(s.runs) < maxRuns {
		return nil
	}
	return s.merge()
}

// merge makes one file of all.
func (s *Set) merge() error {
	var total int64
	heads := make([]*bufio.Reader, len(s.runs))
	now, left := make([]Hash, len(s.runs)), make([]int64, len(s.runs))
	for i, r := range s.runs {
		heads[i], left[i] = bufio.NewReaderSize(io.NewSectionReader(r.f, 0, r.count*int64(len(Hash{}))), 64<<10), r.count
		total += r.count
		if _, err := io.ReadFull(heads[i], now[i][:]); err != nil {
			return err
		}
	}
	merged, err := s.write(total, func(put func(Hash) error) error {
		for {
			least := -1
			for i := range now {
				if left[i] > 0 && (least < 0 || bytes.Compare(now[i][:], now[least][:]) < 0) {
					least = i
				}
			}
			if least < 0 {
				return nil
			}
			if err := put(now[least]); err != nil {
				return err
			}
			if left[least]--; left[least] > 0 {
				if _, err := io.ReadFull(heads[least], now[least][:]); err != nil {
					return err
				}
			}
		}
	})
	if err != nil {
		return err
	}
	for _, r := range s.runs {
		r.f.Close()
	}
	s.runs = append(s.runs[:0], merged)
	return nil
}

// write makes a file of sorted hashes, which vanishes when it is closed.
func (s *Set) write(count int64, each func(put func(Hash) error) error) (*run, error) {
	s.made++
	f, err := os.CreateTemp(s.dir, fmt.Sprintf("known-%d-*", s.made))
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	r := &run{f: f, filter: make([]uint64, (count*filterBits+63)/64)}
	w := bufio.NewWriterSize(f, 64<<10)
	err = each(func(h Hash) error {
		if r.count%blockHashes == 0 {
			r.first = append(r.first, h)
		}
		r.count++
		for i := range probes {
			bit := r.bit(h, i)
			r.filter[bit/64] |= 1 << (bit % 64)
		}
		_, err := w.Write(h[:])
		return err
	})
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// bit is one of the bits of a hash in the filter. The hash is cryptographic: its parts
// are as good as hashes of their own.
func (r *run) bit(h Hash, i int) uint64 {
	var v uint64
	for _, b := range h[6*i : 6*i+6] {
		v = v<<8 | uint64(b)
	}
	return v % uint64(64*len(r.filter))
}

func (r *run) has(h Hash, block []byte) (bool, error) {
	for i := range probes {
		if bit := r.bit(h, i); r.filter[bit/64]&(1<<(bit%64)) == 0 {
			return false, nil
		}
	}
	at, found := slices.BinarySearchFunc(r.first, h, func(a, b Hash) int { return bytes.Compare(a[:], b[:]) })
	if found {
		return true, nil
	}
	if at == 0 {
		return false, nil
	}
	from := int64(at-1) * blockHashes
	n := min(blockHashes, r.count-from) * int64(len(h))
	if _, err := r.f.ReadAt(block[:n], from*int64(len(h))); err != nil {
		return false, err
	}
	lo, hi := 0, int(n)/len(h)
	for lo < hi {
		mid := (lo + hi) / 2
		switch bytes.Compare(block[mid*len(h):(mid+1)*len(h)], h[:]) {
		case 0:
			return true, nil
		case -1:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return false, nil
}

// Close lets go of the files.
func (s *Set) Close() {
	for _, r := range s.runs {
		r.f.Close()
	}
	s.runs = nil
}
