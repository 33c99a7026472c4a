//go:build unix

package proxy

import "syscall"

// openFiles is how many files this process may have open; 0 if nobody knows.
func openFiles() int64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return max(int64(l.Cur), 0) // which is negative where there is no limit
}
