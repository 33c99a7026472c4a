//go:build unix

package serve

import (
	"io/fs"
	"syscall"
)

// ownerOf is the user that a file belongs to, where that can be said.
func ownerOf(info fs.FileInfo) (uid int, known bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
