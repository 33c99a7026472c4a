package archive

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder"
)

// state is where a piece stands.
type state int

const (
	waiting  state = iota // it may have been uploaded by an earlier run
	uploaded              // the store has it
	empty                 // there is nothing in it to upload
	refused               // it cannot be uploaded by this run: it cannot be read, or the store has another in its place
	dropped               // it was deleted before
)

// piece is a file of a recording that is finished.
type piece struct {
	path  string
	size  int64
	since time.Time // it was written last
	state state
	later time.Time // not to be tried before
	tries int       // that failed
	cause string    // of the last failure
}

// recording is what a process has recorded, or records, with its intent.
type recording struct {
	intent intent
	paths  []string // of the newest file; more where files were taken away
	pieces map[string]*piece
	live   bool // this process writes it
}

// piece is that of a file, which it is told of for the first time perhaps.
func (r *recording) piece(path string, size int64) *piece {
	p := r.pieces[path]
	if p == nil {
		p = &piece{path: path, size: size, since: time.Now()}
		r.pieces[path] = p
	}
	return p
}

// forget removes the intents: there is nothing left to do.
func (r *recording) forget() {
	for _, path := range r.paths {
		_ = os.Remove(path + intentExt)
	}
}

// maxPieces bounds what is remembered of recordings of earlier runs.
const maxPieces = 100_000

// findEarlier looks for what earlier runs have left. One whose writer is there is
// that one's business.
func (a *Archive) findEarlier() {
	dir := filepath.Dir(a.current.paths[0])
	found, bad, more, err := intents(dir, a.o.URL)
	if err != nil {
		a.tell(fmt.Sprintf("cannot look for earlier recordings that were not uploaded: %v", err), "")
	}
	for _, path := range bad {
		a.tellOnce("intent "+path, fmt.Sprintf("%s does not say where a recording is to be uploaded, and is left alone", path), "remove it, or upload the recording by hand")
	}
	byName := make(map[string]*recording)
	total := 0
	for _, path := range slices.Sorted(maps.Keys(found)) {
		i := found[path]
		if i.Recording == a.current.intent.Recording || total >= maxPieces {
			more = more || total >= maxPieces
			continue
		}
		newest, err := recorder.InspectFile(path)
		if err == nil && newest.Writing || err != nil && justBegun(path) {
			continue
		}
		r := byName[i.Recording]
		if r == nil {
			r = &recording{intent: i, pieces: make(map[string]*piece)}
			byName[i.Recording] = r
		}
		if r.intent.Began.IsZero() && err == nil {
			r.intent.Began = newest.Began // a run that was killed before it knew
		}
		r.paths = append(r.paths, path)
		for _, file := range filesOf(path) {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				p := r.piece(file, info.Size())
				p.since = info.ModTime()
				total++
			}
		}
	}
	if more {
		a.tell("there are more earlier recordings to upload than are looked at; the next start takes others", "")
	}
	earlier := slices.Collect(maps.Values(byName))
	slices.SortFunc(earlier, func(x, y *recording) int { return cmp.Compare(x.intent.Recording, y.intent.Recording) })
	a.mu.Lock()
	a.earlier = earlier
	for _, r := range earlier {
		a.names[r.intent.Recording] = true
	}
	a.mu.Unlock()
}

// justBegun says whether the process that has left an intent, and has no recording
// that can be read yet, may be starting right now.
func justBegun(path string) bool {
	info, err := os.Stat(path + intentExt)
	return err != nil || time.Since(info.ModTime()) < time.Minute
}

func filesOf(path string) []string {
	files, err := recorder.Files(path)
	if err != nil {
		return nil // the directory cannot be read: another time
	}
	return files
}

// look finds the segments of this process that are finished, and forgets those that
// are gone and need nothing any more.
func (a *Archive) look() {
	a.tellDeleting()
	a.mu.Lock()
	paths, live := slices.Clone(a.current.paths), a.current.live
	a.mu.Unlock()
	there := make(map[string]bool)
	for i, path := range paths {
		files, err := recorder.Files(path)
		if err != nil {
			return // the directory cannot be read: another time
		}
		if live && i == len(paths)-1 && len(files) > 0 && files[len(files)-1] == path {
			files = files[:len(files)-1] // it is being written
		}
		for _, file := range files {
			there[file] = true
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for file := range there {
		if a.current.pieces[file] != nil {
			continue
		}
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			p := a.current.piece(file, info.Size())
			p.since = info.ModTime()
			if !live && slices.Contains(paths, file) && nothingIn(file) {
				p.state = empty // so that nobody is told that it waits
			}
		}
	}
	for path, p := range a.current.pieces {
		if !there[path] && p.state != waiting && p != a.busy {
			delete(a.current.pieces, path)
		}
	}
}

// nothingIn says whether a segment has nothing but what it repeats.
func nothingIn(path string) bool {
	f, err := recorder.InspectFile(path)
	return err == nil && f.Facts.Entries == 0
}

// next is the oldest piece that waits: of this process, else of an earlier one. Those
// that failed less often come first, as what the store refuses of one piece, such as
// its size or its place, must not keep the others from it.
func (a *Archive) next() (*recording, *piece) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	var of *recording
	a.busy = nil
	for _, r := range append([]*recording{a.current}, a.earlier...) {
		for _, p := range r.pieces {
			if p.state != waiting || now.Before(p.later) {
				continue
			}
			if b := a.busy; b == nil || p.tries < b.tries || p.tries == b.tries && r == of && before(r, p, b) {
				of, a.busy = r, p
			}
		}
	}
	return of, a.busy
}

// before orders the files of a recording: the newest has no number in its name.
func before(r *recording, x, y *piece) bool {
	xLast, yLast := slices.Contains(r.paths, x.path), slices.Contains(r.paths, y.path)
	if xLast != yLast {
		return yLast
	}
	return x.path < y.path
}

// finish forgets recordings of which the store has all.
func (a *Archive) finish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.earlier = slices.DeleteFunc(a.earlier, func(r *recording) bool {
		if !r.complete() {
			return false
		}
		r.forget()
		return true
	})
	if !a.current.live && a.current.complete() {
		a.current.forget()
	}
}

// complete says whether nothing is left to do for a recording.
func (r *recording) complete() bool {
	for _, p := range r.pieces {
		if p.state == waiting || p.state == refused {
			return false
		}
	}
	return true
}
