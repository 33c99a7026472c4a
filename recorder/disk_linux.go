package recorder

import (
	"os"
	"syscall"
)

// disk is the file of a recording. Its length and its bytes are what is synced;
// when it was changed is not worth another write.
type disk struct{ *os.File }

func (d disk) Sync() error {
	conn, err := d.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for {
			if failed = syscall.Fdatasync(int(fd)); failed != syscall.EINTR {
				return
			}
		}
	})
	if err == nil && failed != nil {
		err = os.NewSyscallError("fdatasync", failed)
	}
	return err
}
