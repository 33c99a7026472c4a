package serve

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestLocalSockets(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", home)
	if got := Local(); got != nil {
		t.Errorf("%q, before there is any", got)
	}
	first, path, err := ListenLocal()
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, other, err := ListenLocal() // as from another container
	if err != nil || other == path {
		t.Fatal(other, err)
	}
	defer second.Close()
	if pid := strconv.Itoa(os.Getpid()); filepath.Base(path) != pid+".sock" || filepath.Base(other) != pid+"-1.sock" {
		t.Errorf("the sockets of process %s are %s and %s", pid, path, other)
	}
	for at, want := range map[string]os.FileMode{path: 0o600 | os.ModeSocket, LocalDir(): 0o700 | os.ModeDir} {
		if info, err := os.Lstat(at); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", at, info.Mode(), err)
		}
	}
	if err := os.Chtimes(path, time.Now(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	// What a killed proxy leaves behind, and what is none of ours.
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(LocalDir(), "1.sock"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	for _, name := range []string{"notes.sock", "7.txt", "8.sock"} {
		if err := os.WriteFile(filepath.Join(LocalDir(), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := Local(); !slices.Equal(got, []string{other, path}) {
		t.Errorf("%q, not %q", got, []string{other, path})
	}
	var left []string
	files, _ := os.ReadDir(LocalDir())
	for _, f := range files {
		left = append(left, f.Name())
	}
	if len(left) != 5 || slices.Contains(left, "1.sock") {
		t.Errorf("%q", left)
	}
	_ = second.Close()
	if _, err := os.Lstat(other); err == nil {
		t.Error("a closed socket is still there")
	}

	// A directory that is open to others is not used.
	if err := os.Chmod(LocalDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ListenLocal(); err == nil || !strings.Contains(err.Error(), "its mode is 0755, not 0700") {
		t.Error(err)
	}
	if got := Local(); got != nil {
		t.Errorf("%q", got)
	}
	// Nor one that is a link, to wherever.
	_ = first.Close()
	if err := os.Rename(LocalDir(), LocalDir()+"-2"); err != nil {
		t.Fatal(err)
	}
	_ = os.Chmod(LocalDir()+"-2", 0o700)
	if err := os.Symlink(LocalDir()+"-2", LocalDir()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ListenLocal(); err == nil || !strings.Contains(err.Error(), "is no directory") {
		t.Error(err)
	}
	// One of somebody else's neither; who may give files away is root.
	if os.Getuid() == 0 {
		_ = os.Remove(LocalDir())
		if err := os.Mkdir(LocalDir(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(LocalDir(), 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ListenLocal(); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
			t.Error(err)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", home)
	if got := LocalDir(); !strings.HasPrefix(got, filepath.Join(home, "xdsproxy-")) {
		t.Error(got)
	}
}

func TestListenUnixTakesNothingAway(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenUnix(text); err == nil || !strings.Contains(err.Error(), "something else is there") {
		t.Error(err)
	}
	taken := filepath.Join(dir, "taken")
	l, err := ListenUnix(taken)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := ListenUnix(taken); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Error(err)
	}
	if _, err := ListenUnix(filepath.Join(dir, strings.Repeat("x", 200))); err == nil {
		t.Error("a path that is too long was taken")
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("%d files are left", len(files))
	}
}
