package files

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode/file"
)

// directory is one whose files are watched.
type directory struct {
	path string // absolute
	gone bool
	info os.FileInfo // of the directory when it was there last
	// names are the files in it that may be of subscriptions, left those of them that
	// are left out since the last look, and skip all of these, as they were then.
	names []string
	left  [file.Other + 1][]string
	skip  map[string]os.FileInfo
}

// unchanged says whether a file is as it was; false if it was not looked at before.
func unchanged(was, now os.FileInfo) bool {
	return was != nil && os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime())
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
	return &directory{path: path, info: info, skip: map[string]os.FileInfo{}}, nil
}

// list has the names of the files in it that may be of subscriptions, by their endings.
func (d *directory) list() (names []string, more bool, err error) {
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
		switch was, known := w.named[key]; {
		case known && was == s:
			continue
		case !known && len(w.named) >= 10*maxFiles:
			w.tell("named", &News{Wrong: true, Text: fmt.Sprintf("%d paths were subscribed to, and no more are remembered; %s is left out, as are others", 10*maxFiles, s.Path)})
			continue
		}
		w.named[key], w.fresh = s, true
		if _, err := os.Stat(key); err != nil {
			w.tell("absent\x00"+key, &News{Wrong: true, Text: fmt.Sprintf("%s is subscribed to and cannot be read (%v); it is watched once it can", s.Path, cause(err))})
		}
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
	w.again = false
	for _, d := range w.dirs {
		names, more, err := d.list()
		if err != nil {
			if !d.gone {
				d.gone = true
				w.say(&News{Wrong: true, Text: fmt.Sprintf("%s cannot be read any more (%v); its files are watched again when it is back", d.path, cause(err))})
			}
		} else if now, err := os.Stat(d.path); err == nil {
			if d.gone && os.SameFile(d.info, now) {
				w.say(&News{Text: fmt.Sprintf("%s is back", d.path)})
			} else if d.gone {
				w.say(&News{Wrong: true, Text: fmt.Sprintf("%s is back as another directory; an Envoy that was started before does not see what happens in it", d.path)})
			}
			d.gone, d.info = false, now
		}
		if more {
			w.tell("more\x00"+d.path, &News{Wrong: true, Text: fmt.Sprintf("%s has more files than the %d that are watched; the others are left out", d.path, maxFiles)})
		}
		d.names = names
	}
	// What is in one file may say that another one is subscribed to.
	for range maxChain {
		w.fresh, w.waiting, w.left = false, 0, ""
		for _, d := range w.dirs {
			w.enter(d)
		}
		for _, key := range w.keys() {
			w.examine(w.files[key])
		}
		if !w.letGo() && !w.fresh {
			break
		}
	}
	if w.left != "" {
		w.tell("files", &News{Wrong: true, Text: fmt.Sprintf("%d files are watched, and no more can be; %s is left out, as are others", maxFiles, w.left)})
	}
	for _, d := range w.dirs {
		w.leave(d)
	}
	maps.DeleteFunc(w.marks, func(at string, _ mark) bool { return !w.keep[at] })
	clear(w.keep)
	w.looked = time.Now()
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
func (w *Watcher) enter(d *directory) {
	for i, name := range d.names {
		key := filepath.Join(d.path, name)
		if w.files[key] != nil {
			continue
		}
		source, named := w.named[key]
		info, err := os.Stat(key)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !named {
			w.tell("absent\x00"+key, &News{Wrong: true, Text: fmt.Sprintf("%s cannot be read (%v); it is watched once it can", key, cause(err))})
		}
		if err != nil || info.IsDir() {
			continue
		}
		if !named && unchanged(d.skip[name], info) {
			continue
		}
		switch why := w.unwanted(key, named); {
		case why != file.Response:
			if d.skip[name] == nil {
				d.left[why] = append(d.left[why], name)
			}
			if len(d.skip) < 10*maxFiles {
				d.skip[name] = info
			}
			continue
		case len(w.files) >= maxFiles:
			w.left = cmp.Or(w.left, key)
			for _, name := range d.names[i:] {
				if w.files[filepath.Join(d.path, name)] == nil && d.skip[name] == nil {
					w.waiting++
				}
			}
			return
		}
		f := &watched{key: key, path: key, waited: d.skip[name] != nil}
		delete(d.skip, name)
		if named {
			f.subscribe(source)
		}
		w.files[key] = f
	}
}

// leave says which files are left out since the last look.
func (w *Watcher) leave(d *directory) {
	left := d.left
	d.left = [file.Other + 1][]string{}
	for i := range left {
		left[i] = slices.DeleteFunc(left[i], func(name string) bool { return d.skip[name] == nil })
	}
	if n := left[file.Bootstrap]; len(n) > 0 {
		w.say(&News{
			Text: fmt.Sprintf("in %s these are not watched, since Envoy reads a bootstrap only when it starts: %s", d.path, some(n)),
			Hint: "--envoy-bootstrap FILE says which files that Envoy subscribes to",
		})
	}
	if n := left[file.Other]; len(n) > 0 {
		why := "nothing in them is of a DiscoveryResponse"
		if w.o.Known {
			why = "the bootstrap does not subscribe to them"
		}
		w.say(&News{Text: fmt.Sprintf("in %s these are not watched, since %s: %s", d.path, why, some(n))})
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
