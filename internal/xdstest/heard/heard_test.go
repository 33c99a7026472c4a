package heard

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// What several write at a time is there whole, and can be read meanwhile.
func TestBuffer(t *testing.T) {
	var b Buffer
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 100 {
				if n, err := fmt.Fprintf(&b, "line of %d\n", i); n != 10 || err != nil {
					t.Error(n, err)
				}
				if !strings.Contains(b.String(), fmt.Sprintf("line of %d\n", i)) {
					t.Error("what was written is not there")
				}
			}
		})
	}
	all.Wait()
	for i := range 4 {
		if n := strings.Count("\n"+b.String(), fmt.Sprintf("\nline of %d\n", i)); n < 1 || strings.Count(b.String(), "\n") != 400 {
			t.Error(i, n)
		}
	}
}
