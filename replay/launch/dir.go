package launch

import (
	"os"
	"path/filepath"
)

// PrivateDir makes a directory that only this user can look into, with a name
// that leaves room for that of a socket.
func PrivateDir() (string, error) {
	const room = 90                           // of the 104 bytes that every system has
	parent, err := filepath.Abs(os.TempDir()) // the command may go elsewhere
	if err != nil {
		return "", err
	}
	if len(parent) > room-len("/xdsproxy-0123456789") {
		parent = "/tmp"
	}
	return os.MkdirTemp(parent, "xdsproxy-")
}
