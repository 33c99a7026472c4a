//go:build unix

package launch

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The directory is private, and the path of a socket in it is no longer than any
// system takes, wherever temporary files are.
func TestPrivateDir(t *testing.T) {
	short, err := os.MkdirTemp("/tmp", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	const longest = 70
	for length, want := range map[int]bool{longest - 1: true, longest: true, longest + 1: false, 150: false} {
		parent := filepath.Join(short, strings.Repeat("d", length-len(short)-1))
		if err := os.Mkdir(parent, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", parent)
		dir, err := PrivateDir()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		of, err := os.Stat(dir)
		if err != nil || !of.IsDir() || of.Mode().Perm() != 0o700 {
			t.Errorf("%s is not private: %v, %v", dir, of, err)
		}
		if in := filepath.Dir(dir); in == parent != want || !want && in != "/tmp" || len(dir) > 90 {
			t.Errorf("temporary files are in a path of %d bytes, and it is %s", length, dir)
		}
	}
	// The command may be run elsewhere.
	t.Chdir(short)
	t.Setenv("TMPDIR", ".")
	if dir, err := PrivateDir(); err != nil || !filepath.IsAbs(dir) || filepath.Base(filepath.Dir(dir)) != filepath.Base(short) {
		t.Errorf("%s, %v", dir, err)
	}
	t.Setenv("TMPDIR", filepath.Join(short, "none"))
	if dir, err := PrivateDir(); err == nil {
		t.Errorf("%s is made in a directory that is not there", dir)
	}
}

// A free port is one that systems do not give away by themselves, and that can be
// listened on.
func TestFreePort(t *testing.T) {
	for range 50 {
		addr, err := FreePort()
		if err != nil {
			t.Fatal(err)
		}
		host, text, err := net.SplitHostPort(addr)
		port, wrong := strconv.Atoi(text)
		if err != nil || wrong != nil || host != "127.0.0.1" || port < firstPort || port > lastPort {
			t.Fatalf("the free port is %s", addr)
		}
	}
}
