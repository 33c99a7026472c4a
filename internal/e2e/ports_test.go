package e2e

import (
	"sync"
	"testing"
)

// handed are the addresses that freeAddr has returned: one test that has not bound its
// own yet cannot be seen by another.
var handed sync.Map

// freeAddr is an address at which nobody listens, and which nobody else is given: what
// a client still dials after its proxy has gone is nobody's.
func freeAddr(t *testing.T) string {
	t.Helper()
	for {
		addr, err := reserve(t)
		if err != nil {
			t.Fatal(err)
		}
		if _, before := handed.LoadOrStore(addr, true); !before {
			return addr
		}
	}
}
