package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	socketSuffix = ".sock"
	// knockTime is how long a socket may take to accept.
	knockTime = time.Second
	// maxSocketPath is how long the path of a socket may be everywhere.
	maxSocketPath = 103
)

// LocalDir is where the sockets of this user's proxies are: in the runtime
// directory of the XDG specification, else in one of our own below that for
// temporary files.
func LocalDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "xdsproxy")
	}
	return filepath.Join(os.TempDir(), "xdsproxy-"+strconv.Itoa(os.Getuid()))
}

// ListenLocal listens on a socket in LocalDir that is called after this process,
// and returns its path. Nobody but this user can connect to it.
func ListenLocal() (net.Listener, string, error) {
	dir := LocalDir()
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = ours(dir)
	}
	if err != nil {
		return nil, "", fmt.Errorf("cannot make a socket for viewers: %w", err)
	}
	for n := range 100 {
		name := strconv.Itoa(os.Getpid())
		if n > 0 { // another container has the same numbers
			name += "-" + strconv.Itoa(n)
		}
		path := filepath.Join(dir, name+socketSuffix)
		l, err := ListenUnix(path)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, path, err
		}
	}
	return nil, "", fmt.Errorf("cannot make a socket for viewers in %s: too many are there", dir)
}

// ours says whether dir is a directory of this user that is nobody else's to look
// into.
func ours(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, known := ownerOf(info)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", dir)
	case !known:
		return fmt.Errorf("this system does not tell whether others may look into %s", dir)
	case owner != os.Getuid():
		return fmt.Errorf("%s belongs to another user", dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s is open to other users: its mode is %#o, not 0700", dir, info.Mode().Perm())
	}
	return nil
}

// ListenUnix listens on a socket at path, of mode 0600 from its first moment on.
// One that nobody listens on any more is replaced.
func ListenUnix(path string) (net.Listener, error) {
	fail := func(err error) (net.Listener, error) {
		if op, is := errors.AsType[*net.OpError](err); is {
			err = op.Err // which names another path
		}
		return nil, fmt.Errorf("cannot listen on unix:%s: %w", path, err)
	}
	if len(path) > maxSocketPath {
		return fail(fmt.Errorf("the path is longer than %d bytes", maxSocketPath))
	}
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fail(err)
	case info.Mode()&os.ModeSocket == 0:
		return fail(errors.New("something else is there"))
	case !abandoned(path):
		return fail(syscall.EADDRINUSE)
	}
	// Made where nobody else gets, and put into place when it is ready: who
	// looks for sockets finds none that would refuse.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".v")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return fail(err)
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(made, 0o600); err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		_ = l.Close()
		return fail(err)
	}
	was, err := os.Lstat(path)
	if err != nil {
		_ = l.Close()
		return fail(err)
	}
	return &socket{l, path, was}, nil
}

// socket removes its file when it is closed, if that is still its own.
type socket struct {
	*net.UnixListener
	path string
	made os.FileInfo
}

func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

func (s *socket) Close() error {
	err := s.UnixListener.Close()
	if now, gone := os.Lstat(s.path); err == nil && gone == nil && os.SameFile(s.made, now) && now.ModTime().Equal(s.made.ModTime()) {
		_ = os.Remove(s.path)
	}
	return err
}

// abandoned says whether nobody listens on the socket at path.
func abandoned(path string) bool {
	conn, err := net.DialTimeout("unix", path, knockTime)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}

// Local are the sockets of this user's running proxies, the newest first. Those
// that dead ones have left behind are removed.
func Local() []string {
	dir := LocalDir()
	if ours(dir) != nil {
		return nil // not there, or not to be believed
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	type found struct {
		path string
		made time.Time
	}
	var all []found
	for _, file := range files {
		name, is := strings.CutSuffix(file.Name(), socketSuffix)
		info, err := file.Info()
		if !is || name == "" || strings.Trim(name, "0123456789-") != "" || err != nil || info.Mode()&os.ModeSocket == 0 {
			continue
		}
		path := filepath.Join(dir, file.Name())
		if abandoned(path) {
			_ = os.Remove(path)
			continue
		}
		all = append(all, found{path, info.ModTime()})
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(b.made.Compare(a.made), cmp.Compare(a.path, b.path))
	})
	paths := make([]string, len(all))
	for i := range all {
		paths[i] = all[i].path
	}
	return paths
}
