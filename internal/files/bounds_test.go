package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsnotify/fsnotify"

	"github.com/xdsproxy/xdsproxy/decode/file"
	"github.com/xdsproxy/xdsproxy/session"
)

// unstarted is a Watcher of a directory that has not looked yet.
func unstarted(t *testing.T) (*log, *Watcher, *directory) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	l := &log{}
	w := &Watcher{
		o:    Options{Append: l.append, NewStream: l.next, Said: func(n *News) { l.said = append(l.said, n.Text) }},
		dirs: []*directory{d}, files: map[string]*watched{}, named: map[string]file.Source{}, hears: map[string]os.FileInfo{},
		marks: map[string]mark{}, keep: map[string]bool{}, said: map[string]bool{},
	}
	return l, w, d
}

// fill makes a map have so many keys.
func fill[V any](m map[string]V, n int, value V) {
	for i := 0; len(m) < n; i++ {
		m[fmt.Sprint(i)] = value
	}
}

// With one more file than there is room for people are told.
func TestWatchedFilesAreBounded(t *testing.T) {
	l, w, d := unstarted(t)
	fill(w.files, maxFiles-1, &watched{})
	d.names = []string{"last.yaml", "one-more.yaml"}
	for _, name := range d.names {
		write(t, filepath.Join(d.path, name), "version_info: '1'")
	}
	w.look()
	last, more := filepath.Join(d.path, d.names[0]), filepath.Join(d.path, d.names[1])
	want := fmt.Sprintf("%d files are watched, and no more can be; %s is left out, as are others", maxFiles, more)
	if w.files[last] == nil || len(w.files) != maxFiles || l.texts() != want {
		t.Errorf("%d files, said %q", len(w.files), l.texts())
	}
}

// Files that are gone give way to new ones, those first that have been gone for longest,
// and their streams end. Those that are there stay.
func TestFilesThatAreGoneGiveWay(t *testing.T) {
	l, w, d := unstarted(t)
	in := func(name string) string { return filepath.Join(d.path, name) }
	for _, name := range []string{"a", "b", "c"} {
		write(t, in(name+".yaml"), "version_info: '1'")
	}
	fill(w.files, maxFiles-3, &watched{})
	w.look()
	if w.begun = true; len(w.files) != maxFiles {
		t.Fatalf("%d files", len(w.files))
	}
	stream := map[string]session.StreamID{}
	for key, f := range w.files {
		stream[key] = f.stream
	}
	for _, name := range []string{"b.yaml", "a.yaml"} {
		if err := os.Remove(in(name)); err != nil {
			t.Fatal(err)
		}
		w.look()
	}
	if len(w.files) != maxFiles || w.files[in("b.yaml")] == nil {
		t.Fatal("nothing needs the room of a file that is gone")
	}
	// One gives way that was gone before, and one that is found to be gone only now.
	before := len(l.entries)
	if err := os.Remove(in("c.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"d", "e", "f"} {
		write(t, in(name+".yaml"), "version_info: '1'")
	}
	w.look()
	var ended []session.StreamID
	opened := 0
	for _, e := range l.entries[before:] {
		switch e.Kind {
		case session.KindTrailer:
			ended = append(ended, e.Stream)
		case session.KindOpen:
			opened++
		}
	}
	want := []session.StreamID{stream[in("b.yaml")], stream[in("a.yaml")], stream[in("c.yaml")]}
	if !slices.Equal(ended, want) || opened != 3 || len(w.files) != maxFiles || w.Stats().Files != maxFiles || l.texts() != "" {
		t.Errorf("%d ended, not %d; %d opened, %d files; said %q", ended, want, opened, len(w.files), l.texts())
	}
	// All that is there is watched, so there is no room.
	write(t, in("g.yaml"), "version_info: '1'")
	if w.look(); w.files[in("g.yaml")] != nil || !strings.Contains(l.texts(), in("g.yaml")+" is left out") {
		t.Errorf("said %q", l.texts())
	}
	// One that comes back is watched again, on another stream.
	l.said = nil
	if err := os.Remove(in("d.yaml")); err != nil {
		t.Fatal(err)
	}
	if w.look(); w.files[in("g.yaml")] == nil || w.files[in("d.yaml")] != nil {
		t.Error("the file that was left out has no room yet")
	}
	if err := os.Remove(in("g.yaml")); err != nil {
		t.Fatal(err)
	}
	write(t, in("d.yaml"), "version_info: '1'")
	if w.look(); w.files[in("d.yaml")] == nil || w.files[in("d.yaml")].stream <= stream[in("c.yaml")] {
		t.Error("a file that is back is not watched")
	}
}

// What is remembered besides the files is bounded by their number, too.
func TestWhatIsKnownOfFilesIsBounded(t *testing.T) {
	l, w, d := unstarted(t)
	w.o.Known = true
	fill(w.named, 10*maxFiles-1, file.Source{})
	fill(d.skip, 10*maxFiles-1, nil)
	fill(w.marks, 4*maxFiles-1, mark{})
	fill(w.said, 10*maxFiles, true) // of what is told of one path; that some are left out is told nevertheless
	for _, v := range []struct {
		name string
		kept bool
	}{{"last.yaml", true}, {"one-more.yaml", false}} {
		path := filepath.Join(d.path, v.name)
		w.know([]file.Source{{Path: path}})
		if _, kept := w.named[path]; kept != v.kept {
			t.Errorf("%s is known to be subscribed to: %v", v.name, kept)
		}
		if told := strings.Contains(l.texts(), path+" is left out"); told == v.kept {
			t.Errorf("%s is said to be left out: %v", v.name, told)
		}
		delete(w.named, path)
		fill(w.named, 10*maxFiles, file.Source{})
		write(t, path, "x")
		d.names = []string{v.name}
		w.enter(d)
		if kept := d.skip[v.name] != nil; kept != v.kept {
			t.Errorf("%s is known to be left out: %v", v.name, kept)
		}
		w.note(fsnotify.Event{Name: path, Op: fsnotify.Write})
		if kept := w.marks[path].written; kept != v.kept || w.missed == v.kept {
			t.Errorf("an event of %s is known: %v; missed some: %v", v.name, kept, w.missed)
		}
	}
	l.said = nil
	clear(w.said)
	fill(w.said, 10*maxFiles-1, true)
	for _, text := range []string{"last", "one more"} {
		w.tell("of a path\x00"+text, &News{Text: text})
	}
	if l.texts() != "last" {
		t.Errorf("said %q", l.texts())
	}
}

// As many links are followed as Linux follows, and a path has an end.
func TestFollowIsBounded(t *testing.T) {
	_, _, d := unstarted(t)
	in := func(name string) string { return filepath.Join(d.path, name) }
	write(t, in("0"), "")
	for i := range maxLinks + 1 {
		if err := os.Symlink(fmt.Sprint(i), in(fmt.Sprint(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	before, err := follow(d.path)
	if err != nil {
		t.Fatal(err)
	}
	up := "/../" + filepath.Base(d.path)
	steps := maxSteps - len(before.steps)
	for path, want := range map[string]error{
		fmt.Sprint("/", maxLinks): nil, fmt.Sprint("/", maxLinks+1): errLinks, strings.Repeat(up, steps): nil, strings.Repeat(up, steps+1): errLinks,
	} {
		if _, err := follow(d.path + path); !errors.Is(err, want) {
			t.Errorf("%.9s of %d bytes: %v, want %v", path, len(path), err, want)
		}
	}
}

func TestDirectoriesThatTheSystemTellsOfAreBounded(t *testing.T) {
	_, w, d := unstarted(t)
	var err error
	if w.system, err = fsnotify.NewWatcher(); err != nil {
		t.Fatal(err)
	}
	defer w.system.Close()
	w.dirs = nil
	for _, link := range []string{"a", "b"} {
		if err := os.Symlink(".", filepath.Join(d.path, link)); err != nil {
			t.Fatal(err)
		}
	}
	f, last := &watched{}, ""
	for i := range maxWatches + 1 { // one directory by many names
		dir := filepath.Join(d.path, strings.NewReplacer("0", "a/", "1", "b/").Replace(fmt.Sprintf("%010b", i)))
		w.hears[dir] = d.info
		f.trail.steps = append(f.trail.steps, step{at: filepath.Join(dir, "link"), target: "x"})
		if i < maxWatches {
			last = dir
		}
	}
	w.files["x"] = f
	w.listen()
	if len(w.hears) != maxWatches || w.hears[last] == nil {
		t.Errorf("%d directories are heard of", len(w.hears))
	}
}
