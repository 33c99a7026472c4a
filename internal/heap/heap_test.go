package heap

import (
	"sync"
	"testing"
)

// What lies in a pool goes, even if two ask at the same time.
func TestGiveBack(t *testing.T) {
	var pool sync.Pool
	for range 8 {
		pool.Put(new([1 << 20]byte))
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(GiveBack)
	}
	both.Wait()
	if v := pool.Get(); v != nil {
		t.Errorf("the pool still has a buffer of %d bytes", len(v.(*[1 << 20]byte)))
	}
}
