package known

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"runtime"
	"testing"
)

func hashOf(i int) (h Hash) {
	return sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i)))
}

// What was added is there and nothing else, wherever it is kept.
func TestSet(t *testing.T) {
	dir := t.TempDir()
	s := New(dir, 100*entryBytes)
	defer s.Close()
	for i := range 5000 {
		if is, err := s.Has(hashOf(i)); is || err != nil {
			t.Fatalf("%d is there before it was added: %v", i, err)
		}
		if err := s.Add(hashOf(i)); err != nil {
			t.Fatal(err)
		}
		if is, err := s.Has(hashOf(i)); !is || err != nil {
			t.Fatalf("%d is not there: %v", i, err)
		}
	}
	for i := range 10000 {
		if is, err := s.Has(hashOf(i)); is != (i < 5000) || err != nil {
			t.Fatalf("%d: %t %v", i, is, err)
		}
	}
	if len(s.runs) >= maxRuns || s.made < 50 {
		t.Errorf("%d files, %d were made", len(s.runs), s.made)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%d files would stay", len(left))
	}
}

// A million hashes take the budget and a few bytes for each.
func TestMemory(t *testing.T) {
	const budget = 4 << 20
	s := New(t.TempDir(), budget)
	defer s.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const n = 1_000_000
	for i := range n {
		if err := s.Add(hashOf(i)); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if got := int64(after.HeapAlloc) - int64(before.HeapAlloc); got > 2*budget+4*n {
		t.Errorf("%d bytes for %d hashes", got, n)
	}
	for i := 0; i < n; i += 9973 {
		if is, err := s.Has(hashOf(i)); !is || err != nil {
			t.Fatalf("%d: %t %v", i, is, err)
		}
	}
}
