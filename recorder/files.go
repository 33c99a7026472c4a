package recorder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// File is one of the files of a recording: a segment, or all of one that has none.
type File struct {
	Path   string
	Number uint64      // of the segment; 0 for a recording without
	Began  time.Time   // when the recording began
	First  session.Seq // of its own entries, whether there is one yet or not
	// Writing says that a writer holds the file, and may add to it. Where files
	// have no locks it is false.
	Writing bool
	// Facts are those of its own entries: without those that it repeats. Bytes is
	// up to the end of what is whole.
	Facts Facts
	Size  int64 // of the file
}

// Files are the files that the recording at path may have, the oldest first and path
// itself the last. They may have another number than their name says, or be of
// another recording: InspectFile tells.
func Files(path string) ([]string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f := &family{path: path}
	numbers, err := f.numbers()
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(numbers)+1)
	for _, n := range numbers {
		out = append(out, f.older(n))
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		out = append(out, path)
	}
	return out, nil
}

// InspectFile is Inspect for one file, alone.
func InspectFile(path string) (File, error) {
	r, err := openFile(path)
	if err != nil {
		return File{Path: path}, err
	}
	defer r.Close()
	src, ok := r.src.(*fileSource)
	if !ok {
		return File{Path: path}, errPipe
	}
	p := File{Path: path, Number: r.header.Segment, Began: r.header.Began, First: r.header.First}
	if p.Number == 0 {
		p.Began, p.First = r.header.Created, 1
	}
	// First whether it is written: what is written then was all there before.
	p.Writing = src.waits()
	if p.Size, err = src.size(); err != nil {
		return p, err
	}
	err = r.look(src)
	p.Facts = r.facts
	found := &r.survey.facts
	p.Facts.Complete, p.Facts.Damaged = found.Complete, found.Damaged
	p.Facts.Bytes = found.Bytes
	p.Facts.Entries, p.Facts.Messages, p.Facts.MessageBytes = found.Entries, found.Messages, found.MessageBytes
	p.Facts.Connections, p.Facts.Streams, p.Facts.Gaps, p.Facts.Lost = found.Connections, found.Streams, found.Gaps, found.Lost
	p.Facts.First, p.Facts.Last, p.Facts.LastSeq = found.First, found.Last, found.LastSeq
	if found.Complete {
		p.Writing = false // its writer has only not closed it yet
	}
	return p, err
}

// Old is a segment that Options.Keep is about to delete.
type Old struct {
	Path   string
	Number uint64
	Size   int64
}

// release are those of the segments in old, the oldest first, that may be deleted.
func release(old []Old, spare func([]Old) []uint64) []Old {
	if spare == nil || len(old) == 0 {
		return old
	}
	stay := spare(old)
	return slices.DeleteFunc(old, func(o Old) bool { return slices.Contains(stay, o.Number) })
}
