package recorder

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
)

// segmentSource is where the segments of a recording are.
type segmentSource interface {
	// find opens the first segment from one on that still exists;
	// fs.ErrNotExist if there is none.
	find(from uint64) (*Reader, error)
}

// segmentStore is what the writer of a recording adds segments to.
type segmentStore interface {
	segmentSource
	// begin makes room for another segment, of which nobody knows yet.
	begin() (blocks.File, error)
	// install makes it the newest, in the place of the one of that number.
	install(old uint64) error
	// abandon undoes begin.
	abandon(blocks.File)
	// current opens the newest segment alone.
	current() (*Reader, error)
	// forget drops the oldest segments but for keep of them, and those that
	// spare, which may be nil, names.
	forget(keep int, spare func([]Old) []uint64) error
}

// family is a recording in segments: the file that it is known by is the
// newest, and x.xdsp was x.000001.xdsp and so on before. All segments say when
// the first began, by which a stranger's file is told.
type family struct {
	path  string
	began time.Time

	mu    sync.Mutex
	moved []home // after files were lost, the last of them the newest
}

// home is the name that a recording has from one segment on.
type home struct {
	path string
	from uint64
}

// move gives the segments from number from on another name.
func (f *family) move(path string, from uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.moved = append(f.moved, home{path, from})
}

// at is the path that a segment has while it is the newest.
func (f *family) at(segment uint64) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := f.path
	for _, h := range f.moved {
		if h.from <= segment {
			path = h.path
		}
	}
	return path
}

// newest is the path of the segment that is written.
func (f *family) newest() string { return f.at(math.MaxUint64) }

// older is the path of a segment that is no longer the newest.
func (f *family) older(segment uint64) string {
	path := f.at(segment)
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s.%06d%s", strings.TrimSuffix(path, ext), segment, ext)
}

// numbers are those of the older segments that there may be, ascending. Where
// nobody may look there are none.
func (f *family) numbers() ([]uint64, error) {
	var out []uint64
	files, err := os.ReadDir(filepath.Dir(f.path))
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	ext := filepath.Ext(f.path) // of all names that it had
	for _, file := range files {
		digits := strings.TrimPrefix(filepath.Ext(strings.TrimSuffix(file.Name(), ext)), ".")
		n, err := strconv.ParseUint(digits, 10, 64)
		if err == nil && filepath.Base(f.older(n)) == file.Name() {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// isOlder says whether path has the name that a segment has once it is no
// longer the newest.
func isOlder(path string, segment uint64) bool {
	ext := filepath.Ext(path)
	return strings.HasSuffix(strings.TrimSuffix(path, ext), fmt.Sprintf(".%06d", segment))
}

// find opens the first segment from min on that still exists; fs.ErrNotExist if
// there is none. A writer may rotate and delete meanwhile.
func (f *family) find(from uint64) (*Reader, error) {
	for range 100 {
		numbers, err := f.numbers()
		if err != nil {
			return nil, err
		}
		for _, n := range numbers {
			if n < from {
				continue
			}
			if r, err := f.open(f.older(n)); err == nil && r.header.Segment == n {
				return r, nil
			} else if err == nil {
				_ = r.Close()
			}
		}
		r, err := f.open(f.newest())
		if err != nil {
			return nil, err
		}
		if r.header.Segment < from {
			_ = r.Close()
			return nil, fs.ErrNotExist
		}
		// What was the newest before may have been renamed in between.
		after, err := f.numbers()
		if err != nil || slices.Equal(numbers, after) {
			return r, err
		}
		_ = r.Close()
	}
	return nil, fmt.Errorf("the segments of %s change faster than they can be read", f.path)
}

// open opens a segment, by itself.
func (f *family) open(path string) (*Reader, error) {
	r, err := openFile(path)
	if err == nil && (r.header.Segment == 0 || !r.header.Began.Equal(f.began)) {
		_ = r.Close()
		return nil, fs.ErrNotExist
	}
	return r, err
}

// join makes a reader that has opened the newest segment one of all of them.
func (r *Reader) join() error {
	if r.header.Segment == 0 || isOlder(r.path, r.header.Segment) {
		return nil
	}
	path, err := filepath.Abs(r.path)
	if err != nil {
		return fmt.Errorf("cannot find the segments of %s: %w", r.path, err)
	}
	r.family = &family{path: path, began: r.header.Began}
	if r.header.Segment == 1 { // nothing is before it
		r.facts.Created = r.header.Began
		return nil
	}
	oldest, err := r.family.find(1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r.facts.Bytes = 0
	if err := r.enter(oldest); err != nil {
		return err
	}
	r.countDeleted()
	return nil
}

// countDeleted counts, in the oldest segment that is left, what of that which is
// asked for was in older ones.
func (r *Reader) countDeleted() {
	if r.header.Segment == 0 {
		return
	}
	r.facts.Created = r.header.Began
	if from := max(r.fromSeq, 1); r.header.First > from {
		r.facts.Lost += uint64(r.header.First - from)
	}
}

// enter makes r go on in the segment that other has just opened.
func (r *Reader) enter(other *Reader) error {
	err := r.closer.Close()
	r.closer, r.src, r.path, r.first, r.at, r.header = other.closer, other.src, other.path, other.first, other.at, other.header
	r.last, r.passed, r.rest, r.ended, r.err = 0, 0, nil, false, nil
	r.survey, r.dict = survey{}, format.Dictionary{Pieces: r.dict.Pieces, Large: r.dict.Large}
	if _, ok := r.src.(*fileSource); ok {
		r.dict.Fetch = r.fetch
	}
	r.facts.Bytes += r.first
	r.facts.Complete = false
	if r.facts.Descriptors == "" {
		r.facts.Descriptors, r.facts.BadDescriptors = other.facts.Descriptors, other.facts.BadDescriptors
	}
	return err
}

// advance goes on with the next segment, if there is one.
func (r *Reader) advance() (bool, error) {
	next, err := r.family.find(r.header.Segment + 1)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.broken = r.broken || !r.ended
	last := r.last
	// What was repeated for those who begin there has been read here.
	r.fromSeq = max(r.fromSeq, last+1)
	// Of a segment that comes through a pipe, the rest may have been deleted; of one
	// that lies elsewhere, it may not be there.
	_, piped := r.family.(streams)
	_, far := r.family.(*farFamily)
	if (piped || far && !r.ended || next.header.Segment > r.header.Segment+1) && next.header.First > last+1 {
		r.facts.Lost += uint64(next.header.First - last - 1)
	}
	return true, r.enter(next)
}
