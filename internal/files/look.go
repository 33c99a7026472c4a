package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/file"
)

// directory is one whose files are watched.
type directory struct {
	path string // absolute
	gone bool
	skip map[string]signature // files that are left out, as they were when that was decided
}

// signature tells whether a file may have changed.
type signature struct {
	info  os.FileInfo
	named bool
}

func (s signature) same(info os.FileInfo) bool {
	return s.info != nil && os.SameFile(s.info, info) && s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime())
}

func newDirectory(name string) (*directory, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, &fs.PathError{Op: "watch", Path: name, Err: errors.New("not a directory")}
	}
	return &directory{path: path, skip: map[string]signature{}}, nil
}

// names are those of the files in it that may be of subscriptions, by their endings.
func (d *directory) names() (names []string, more bool, err error) {
	f, err := os.Open(d.path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	for seen := 0; ; {
		some, err := f.Readdirnames(1000)
		for _, name := range some {
			if file.Is(name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if len(names) > maxFiles {
			names, more = names[:maxFiles], true
		}
		if seen += len(some); err == io.EOF || seen >= maxSeen {
			return names, more || err == nil, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
}

// know takes files that a client subscribes to.
func (w *Watcher) know(sources []file.Source) {
	for _, s := range sources {
		key, found := w.keyOf(s.Path)
		if !found {
			w.tell("elsewhere\x00"+s.Path, &News{Text: fmt.Sprintf("%s is subscribed to and not watched: it is in no directory of --files", s.Path)})
			continue
		}
		if was, known := w.named[key]; known && was == s || len(w.named) >= 10*maxFiles {
			continue
		}
		w.named[key] = s
		if f := w.files[key]; f != nil && f.source == nil {
			f.subscribe(s)
		}
	}
}

// keyOf finds the watched directory in which a path lies.
func (w *Watcher) keyOf(path string) (key string, found bool) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	dir, name := filepath.Split(abs)
	dir = filepath.Clean(dir)
	there, err := os.Stat(dir)
	for _, d := range w.dirs {
		if d.path == dir {
			return filepath.Join(d.path, name), true
		}
		if info, gone := os.Stat(d.path); err == nil && gone == nil && os.SameFile(there, info) {
			return filepath.Join(d.path, name), true
		}
	}
	return "", false
}

// look looks at all directories and files once.
func (w *Watcher) look() {
	for _, d := range w.dirs {
		names, more, err := d.names()
		if err != nil {
			if !d.gone {
				d.gone = true
				w.say(&News{Wrong: true, Text: fmt.Sprintf("%s cannot be read any more (%v); its files are watched again when it is back", d.path, cause(err))})
			}
		} else if d.gone {
			d.gone = false
			w.say(&News{Text: fmt.Sprintf("%s is back; an Envoy that was started before does not see what happens in it", d.path)})
		}
		if more {
			w.tell("more\x00"+d.path, &News{Wrong: true, Text: fmt.Sprintf("%s has more files than the %d that are watched; the others are left out", d.path, maxFiles)})
		}
		w.enter(d, names)
	}
	for _, key := range w.keys() {
		w.examine(w.files[key])
	}
	clear(w.marks)
	w.missed = false
	w.count.Store(uint64(len(w.files)))
}

func (w *Watcher) keys() []string {
	keys := make([]string, 0, len(w.files))
	for key := range w.files {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// enter begins to watch files that are new, unless they are of no subscription.
func (w *Watcher) enter(d *directory, names []string) {
	var left [3][]string
	for _, name := range names {
		key := filepath.Join(d.path, name)
		if w.files[key] != nil {
			continue
		}
		source, named := w.named[key]
		info, err := os.Stat(key)
		if err != nil || info.IsDir() {
			continue
		}
		if was := d.skip[name]; !named && was.same(info) {
			continue
		}
		switch why := w.unwanted(key, named); {
		case why != file.Response:
			if d.skip[name].info == nil {
				left[why] = append(left[why], name)
			}
			if len(d.skip) < 10*maxFiles {
				d.skip[name] = signature{info: info}
			}
			continue
		case len(w.files) >= maxFiles:
			w.tell("files", &News{Wrong: true, Text: fmt.Sprintf("%d files are watched, and no more can be; %s is left out, as are others", maxFiles, key)})
			return
		}
		delete(d.skip, name)
		f := &watched{key: key, path: key}
		if named {
			f.subscribe(source)
		}
		w.files[key] = f
	}
	if n := left[file.Bootstrap]; len(n) > 0 {
		w.say(&News{
			Text: fmt.Sprintf("%s not watched, since Envoy reads a bootstrap only when it starts: %s", files(len(n), "in "+d.path+" is", "in "+d.path+" are"), some(n)),
			Hint: "--envoy-bootstrap FILE says which files that Envoy subscribes to",
		})
	}
	if n := left[file.Other]; len(n) > 0 {
		why := "since they have no field of a DiscoveryResponse"
		if w.o.Known {
			why = "since nobody is known to subscribe to them"
		}
		w.say(&News{Text: fmt.Sprintf("%s not watched, %s: %s", files(len(n), "in "+d.path+" is", "in "+d.path+" are"), why, some(n))})
	}
}

// unwanted says what a file is that is of no subscription; Response if it is watched.
func (w *Watcher) unwanted(key string, named bool) file.Kind {
	switch {
	case named:
		return file.Response
	case w.o.Known:
		return file.Other
	}
	data, _, err := read(key)
	if err != nil {
		return file.Response // that is said of it then
	}
	return file.KindOf(key, data)
}

func files(n int, one, many string) string {
	if n == 1 {
		return "1 file " + one
	}
	return fmt.Sprintf("%d files %s", n, many)
}

// some are the first of some names.
func some(names []string) string {
	const most = 5
	if n := len(names); n > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ")
}

// cause is an error without the path, which is said anyway.
func cause(err error) error {
	if at, is := errors.AsType[*fs.PathError](err); is {
		return at.Err
	}
	return err
}
