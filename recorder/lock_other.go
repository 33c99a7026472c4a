//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package recorder

import "os"

// CanFollow says whether this system tells that a recording is still being written,
// so that a Reader can wait at its end.
const CanFollow = false

// lock does nothing where there is no flock: a recording can be written and
// read, but not followed.
func lock(*os.File) error { return nil }

// writerGone is always true where it cannot be known.
func writerGone(*os.File) bool { return true }
