package files

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// mark is what the system told of a name.
type mark struct {
	created, written, removed bool
	from                      string // from where it was moved, if the system told that
}

// note remembers what the system tells of a file that is watched.
func (w *Watcher) note(e fsnotify.Event) {
	if w.hears[e.Name] != nil && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
		w.unheard(e.Name, e.Has(fsnotify.Remove))
	}
	if len(w.marks) >= 4*maxFiles {
		w.missed = true
		return
	}
	m := w.marks[e.Name]
	m.created = m.created || e.Has(fsnotify.Create)
	m.written = m.written || e.Has(fsnotify.Write)
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) { // what comes after it is another file
		m = mark{removed: true}
	}
	if e.Has(fsnotify.Create) {
		m.from = origin(e)
	}
	w.marks[e.Name] = m
}

// unheard is of a directory of which the system tells nothing more, as it was removed or
// moved. One that is made in the place of one that was removed may have its number, and
// looks like the same; who looked there is blind all the same.
func (w *Watcher) unheard(dir string, removed bool) {
	delete(w.hears, dir)
	if !removed {
		return
	}
	for _, f := range w.files {
		if looks, err := filepath.Abs(f.dir()); err == nil && looks == dir {
			f.blind = true
		}
	}
}

// listen lets the system tell of the directories that matter now, and of no others.
// One that took the place of another is listened to anew.
func (w *Watcher) listen() {
	if w.system == nil {
		return
	}
	wanted := map[string]os.FileInfo{}
	want := func(dir string) {
		if _, known := wanted[dir]; known || len(wanted) >= maxWatches {
			return
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			wanted[dir] = info
		}
	}
	for _, d := range w.dirs {
		if t, err := follow(d.path); err == nil {
			want(t.real)
			t.directories(want)
		}
	}
	for _, f := range w.files {
		f.trail.directories(want)
	}
	for dir, was := range w.hears {
		if info := wanted[dir]; info == nil || !os.SameFile(was, info) {
			_ = w.system.Remove(dir) // the system may have done that already
			delete(w.hears, dir)
		}
	}
	for dir, info := range wanted {
		if w.hears[dir] != nil {
			continue
		}
		if err := w.system.Add(dir); err != nil {
			w.tell("unheard", &News{Wrong: true, Text: fmt.Sprintf("the system does not tell of changes in %s (%v): it is looked at every %s, and how files changed is not always known", dir, err, cmp.Or(w.o.Slowly, slowly))})
			continue
		}
		w.hears[dir] = info
	}
}

// origin is from where something was moved, which an event says in its text only.
func origin(e fsnotify.Event) string {
	_, quoted, _ := strings.Cut(e.String(), " \u2190 ")
	from, err := strconv.Unquote(quoted)
	if err != nil {
		return ""
	}
	return from
}
