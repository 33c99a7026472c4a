//go:build !unix

package proxy

// openFiles is how many files this process may have open; 0 if nobody knows.
func openFiles() int64 { return 0 }
