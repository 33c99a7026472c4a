package rewrite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// fileSource sets the header name from a file, and returns what it is told.
func fileSource(t *testing.T, name, path string) (value func() string, news func() []string) {
	t.Helper()
	var said []string
	s, err := Load(&Rules{Headers: []Header{{Name: name, File: path}}}, func(name, path string, err error) {
		said = append(said, fmt.Sprint(name, " ", filepath.Base(path), ": ", err))
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() string { return s.now().fields[0].Value }, func() []string { defer func() { said = nil }(); return said }
}

// Each request takes what the file holds then. A file that is broken changes
// nothing, and is told of once.
func TestFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	write(t, path, "one\r\n")
	value, news := fileSource(t, "x-token", path)
	step := func(want string, told ...string) {
		t.Helper()
		for range 3 {
			if got := value(); got != want {
				t.Fatalf("%q, want %q", got, want)
			}
		}
		if got := news(); !slices.Equal(got, told) {
			t.Fatalf("told %q, want %q", got, told)
		}
	}
	step("one")
	write(t, path, "two") // as long as before, at about the same time
	step("two")
	os.Remove(path)
	step("two", "x-token token: no such file or directory")
	write(t, path, "")
	step("two")
	write(t, path, "a\nb")
	step("two")
	write(t, path, "three\n")
	step("three", "x-token token: <nil>")
	write(t, path, "a\x00b")
	step("three", `x-token token: its value has the control character 0x00 at byte 2`)
	write(t, path, strings.Repeat("x", maxValue+5))
	step("three")
	os.Remove(path)
	if err := mkfifo(path); err != nil {
		t.Fatal(err)
	}
	step("three")
	os.Remove(path)
	os.Mkdir(path, 0o700)
	step("three")
	os.Remove(path)
	write(t, path, strings.Repeat("x", maxValue))
	step(strings.Repeat("x", maxValue), "x-token token: <nil>")
}

// Kubernetes puts new files in place by a link, which has been there before.
func TestLinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	past := time.Now().Add(-time.Hour)
	for _, name := range []string{"a", "b"} {
		write(t, filepath.Join(dir, name), "in "+name)
		os.Chtimes(filepath.Join(dir, name), past, past)
	}
	link := filepath.Join(dir, "token")
	os.Symlink("a", link)
	value, news := fileSource(t, "x-token", link)
	if got := value(); got != "in a" {
		t.Fatal(got)
	}
	os.Symlink("b", link+"2")
	os.Rename(link+"2", link)
	if got := value(); got != "in b" || news() != nil {
		t.Fatal(got)
	}
}

// A file that has not changed for a while is not read, which shows by what can
// be done to it then.
func TestSettledFileIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	past := time.Now().Add(-time.Hour)
	write(t, path, "old")
	os.Chtimes(path, past, past)
	value, _ := fileSource(t, "x-token", path)
	write(t, path, "new")
	os.Chtimes(path, past, past)
	if got := value(); got != "old" {
		t.Errorf("%q: it was read though nothing shows that it changed", got)
	}
}

// A token alone is a bearer token.
func TestBearer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	for text, want := range map[string]string{"abc.def\n": "Bearer abc.def", "Bearer abc\n": "Bearer abc", "Basic eDp5": "Basic eDp5"} {
		write(t, path, text)
		if value, _ := fileSource(t, "authorization", path); value() != want {
			t.Errorf("%q: %q, want %q", text, value(), want)
		}
	}
	write(t, path, "abc")
	if value, _ := fileSource(t, "x-token", path); value() != "abc" {
		t.Errorf("%q", value())
	}
}

func TestLoadFails(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "bad"), "secret\x01")
	write(t, filepath.Join(dir, "nobin"), "secret!")
	for name, h := range map[string]Header{
		"no such file":   {Name: "x", File: filepath.Join(dir, "none")},
		"not a regular":  {Name: "x", File: dir},
		"control":        {Name: "x", File: filepath.Join(dir, "bad")},
		"not base64":     {Name: "x-bin", File: filepath.Join(dir, "nobin")},
		"pseudo-header":  {Name: ":path", Value: "x"},
		"value and a fi": {Name: "x", Value: "x", File: dir},
	} {
		_, err := Load(&Rules{Headers: []Header{h}}, nil)
		if e := (*Error)(nil); !errors.As(err, &e) || !strings.Contains(e.Text, name) || strings.Contains(e.Text, "secret") {
			t.Errorf("%v; want %q", err, name)
		}
	}
}

// Connections that notice a change at the same time do not disturb each other.
func TestFileAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	write(t, path, "v0")
	var told sync.Map
	s, err := Load(&Rules{Headers: []Header{{Name: "x", File: path}}}, func(_, _ string, err error) { told.Store(fmt.Sprint(err), true) })
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 500 {
				if v := s.now().fields[0].Value; !strings.HasPrefix(v, "v") {
					t.Errorf("%q", v)
				}
			}
		})
	}
	for i := range 200 {
		write(t, path+".new", fmt.Sprint("v", i))
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	if got := s.now().fields[0].Value; got != "v199" {
		t.Errorf("%q in the end", got)
	}
	told.Range(func(k, _ any) bool { t.Errorf("told of %v", k); return true })
}
