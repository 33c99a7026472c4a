package files

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/xdsproxy/xdsproxy/decode/file"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// log keeps entries, and what people are told.
type log struct {
	mu      sync.Mutex
	entries []session.Entry
	said    []string
	streams session.StreamID
}

func (l *log) append(e session.Entry) session.Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
	return session.Seq(len(l.entries))
}

func (l *log) next() session.StreamID {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams++
	return l.streams
}

// events are what happened to a file.
func (l *log) events(path string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if session.Get(e.Headers, xds.FilePath) == path {
			out = append(out, session.Get(e.Headers, xds.FileEvent))
		}
	}
	return out
}

// loaded says whether an entry has a text in its data.
func (l *log) loaded(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.entries, func(e session.Entry) bool {
		return e.Message != nil && bytes.Contains(e.Message.Data.Bytes(), []byte(text))
	})
}

func (l *log) texts() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.said, "\n")
}

func start(t *testing.T, dirs ...string) (*log, *Watcher) {
	t.Helper()
	l := &log{}
	w, err := Start(Options{Dirs: dirs, Append: l.append, NewStream: l.next, Slowly: 100 * time.Millisecond, Said: func(n *News) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.said = append(l.said, n.Text)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return l, w
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func (l *log) await(t *testing.T, path string, want ...string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		got := l.events(path)
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %q, want %q", path, got, want)
		}
	}
}

// What happened is told by what came of it.
func TestEvents(t *testing.T) {
	dir, away := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "cds.yaml")
	write(t, path, "version_info: '1'")
	l, _ := start(t, dir)
	want := []string{"read"}
	step := func(event string, do func()) {
		t.Helper()
		do()
		want = append(want, event)
		l.await(t, path, want...)
	}
	l.await(t, path, want...)
	step("rename", func() {
		write(t, path+".tmp", "version_info: '2'")
		rename(t, path+".tmp", path)
	})
	step("rename", func() {
		write(t, filepath.Join(away, "x"), "version_info: '3'")
		rename(t, filepath.Join(away, "x"), path)
	})
	step("write", func() { write(t, path, "version_info: '4'") })
	step("delete", func() { _ = os.Remove(path) })
	step("create", func() { write(t, path, "version_info: '5'") })
	step("delete", func() { rename(t, path, filepath.Join(away, "y")) })
	step("rename", func() { rename(t, filepath.Join(away, "y"), path) })
	step("rename", func() {
		_ = os.Symlink(filepath.Join(away, "z"), path+".tmp")
		write(t, filepath.Join(away, "z"), "version_info: '6'")
		rename(t, path+".tmp", path)
	})
	step("swap", func() { // the file that it links to
		write(t, filepath.Join(away, "tmp"), "version_info: '7'")
		rename(t, filepath.Join(away, "tmp"), filepath.Join(away, "z"))
	})
}

// A file that was moved there can be the one that was there before, as far as its
// number says: after two moves the number is free again. It was not written in place.
func TestMovesThatUseANumberAgain(t *testing.T) {
	dir, away := t.TempDir(), t.TempDir()
	path, kept := filepath.Join(dir, "cds.yaml"), filepath.Join(away, "kept")
	write(t, path, "version_info: '0'")
	l, _ := start(t, dir)
	l.await(t, path, "read")
	for i := range 10 {
		if err := os.Link(path, kept); err != nil {
			t.Skip(err)
		}
		write(t, path+".tmp", "version_info: 'between'")
		rename(t, path+".tmp", path)
		version := fmt.Sprintf("version-%d", i)
		write(t, kept, "version_info: "+version)
		rename(t, kept, path)
		for deadline := time.Now().Add(time.Minute); !l.loaded(version); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s did not come: %q", version, l.events(path))
			}
		}
	}
	for _, event := range l.events(path)[1:] {
		if event != xds.FileRenamed {
			t.Fatalf("%q", l.events(path))
		}
	}
}

// A directory that is removed and made again may have the number that it had. Moves into
// it are heard of as before, and an Envoy that was started before is told to be blind.
func TestDirectoryThatIsMadeAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	path := filepath.Join(dir, "cds.yaml")
	moved := func(version int) {
		t.Helper()
		write(t, path+".tmp", fmt.Sprintf("version_info: version-%d", version))
		rename(t, path+".tmp", path)
	}
	again := func() os.FileInfo {
		t.Helper()
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	was := again()
	write(t, path, "version_info: '0'")
	l, _ := start(t, dir)
	moved(1)
	l.await(t, path, "read", "rename")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(was, again()) { // at once, before anybody looks
		t.Log("it has another number here")
	}
	moved(2)
	for deadline := time.Now().Add(time.Minute); !l.loaded("version-2"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is not seen any more")
		}
	}
	want := l.events(path) // how it came there was perhaps not heard
	for version := range 3 {
		moved(3 + version)
		want = append(want, "rename")
		l.await(t, path, want...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range slices.Backward(l.entries) {
		if session.Get(e.Headers, xds.FilePath) == path {
			if session.Get(e.Headers, xds.FileReplaced) != dir {
				t.Errorf("%+v", e.Headers)
			}
			return
		}
	}
}

// A look that comes before the system has told of a change is followed by another one.
func TestLookBeforeItsEvents(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "cds.yaml")
	write(t, path, "version_info: '0'")
	l, w := start(t, dir)
	w.cancel()
	w.run.Wait()
	w.last = false
	var err error
	if w.system, err = fsnotify.NewWatcher(); err != nil {
		t.Skip(err)
	}
	defer w.system.Close()
	write(t, path+".tmp", "version_info: '1'")
	rename(t, path+".tmp", path)
	w.look()
	if !w.again || len(l.events(path)) != 1 {
		t.Fatalf("%v, %q", w.again, l.events(path))
	}
	w.note(fsnotify.Event{Name: path, Op: fsnotify.Create})
	w.look()
	if want := []string{"read", "rename"}; w.again || !slices.Equal(l.events(path), want) {
		t.Fatalf("%v, %q", w.again, l.events(path))
	}
	write(t, path, "version_info: 'two'") // of this nothing is told
	w.look()
	w.look()
	w.look()
	if want := []string{"read", "rename", "change"}; !slices.Equal(l.events(path), want) {
		t.Fatalf("%q", l.events(path))
	}
}

// Where it is known what a client subscribes to, other files are left out, which is said.
func TestOthersAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	named := filepath.Join(dir, "eds.yaml")
	write(t, named, "version_info: '1'")
	l := &log{}
	w, err := Start(Options{Dirs: []string{dir}, Known: true, Append: l.append, NewStream: l.next, Said: func(n *News) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.said = append(l.said, n.Text)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if got := l.events(named); len(got) != 0 || !strings.Contains(l.texts(), "does not subscribe to them: eds.yaml") {
		t.Fatalf("%q, %q", got, l.texts())
	}
}

// What cannot be watched yet is said: a file that is subscribed to and not there, and
// links that lead nowhere.
func TestAbsentFiles(t *testing.T) {
	dir := t.TempDir()
	named, loop := filepath.Join(dir, "eds.yaml"), filepath.Join(dir, "loop.yaml")
	if err := os.Symlink(loop, loop); err != nil {
		t.Skip(err)
	}
	l := &log{}
	w, err := Start(Options{Dirs: []string{dir}, Sources: []file.Source{{Path: named}}, Append: l.append, NewStream: l.next, Said: func(n *News) { l.said = append(l.said, n.Text) }})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	for _, want := range []string{named + " is subscribed to and cannot be read", loop + " cannot be read"} {
		if strings.Count(l.texts(), want) != 1 {
			t.Errorf("%q is not said once in %q", want, l.said)
		}
	}
}

// There is a bound to how many files are watched, and it is said.
func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	d, err := newDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxFiles + 1 {
		write(t, filepath.Join(dir, fmt.Sprintf("%05d.yaml", i)), "version_info: '1'")
		if i < maxFiles-1 {
			continue
		}
		if names, more, err := d.list(); err != nil || len(names) != maxFiles || more != (i == maxFiles) {
			t.Errorf("of %d files %d are listed, more: %v, %v", i+1, len(names), more, err)
		}
	}
	l, w := start(t, dir)
	if n := w.Stats().Files; n != maxFiles || !strings.Contains(l.texts(), "has more files than the 1000 that are watched") {
		t.Errorf("%d files, %s", n, l.texts())
	}
}

// A directory of --files has to be there when the watching begins.
func TestStartRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), "")
	for _, name := range []string{filepath.Join(dir, "b"), filepath.Join(dir, "a.yaml")} {
		if _, err := Start(Options{Dirs: []string{name}}); err == nil {
			t.Errorf("%s is watched", name)
		}
	}
}
