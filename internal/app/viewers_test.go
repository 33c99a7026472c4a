package app

import "testing"

// What may be reached from elsewhere is never taken for loopback: a name that is
// not known, and an address that means all of them, least of all.
func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:9902": true, "127.1.2.3:0": true, "[::1]:9902": true, "localhost:9902": true,
		":9902": false, "0.0.0.0:9902": false, "[::]:9902": false, "10.0.0.1:9902": false,
		"gateway:9902": false, "localhost.example:9902": false, "127.0.0.1": false, "": false,
	} {
		if got := Loopback(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}
