package recorder

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
)

// partFacts are the facts of a segment of a log; all are those with what it
// repeats from earlier ones.
type partFacts struct {
	header   format.FileHeader
	own, all Facts
}

// Facts are those of what of the log was committed and is left, as Inspect finds
// them in the file. They cost nothing: the writer keeps them.
func (l *Log) Facts() Facts {
	if l.shelf != nil {
		l.dropParts(l.shelf)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &l.parts[0].header
	f := Facts{
		Path: l.path, Version: format.Version, Created: h.Created, Program: h.Program, Masked: h.Masked,
		Complete: true,
	}
	if h.Segment > 0 {
		f.Created, f.Lost = h.Began, uint64(h.First-1)
	}
	f.addSegment(&l.parts[0].all)
	for i := range l.parts[1:] {
		next := &l.parts[i+1]
		f.Lost += uint64(next.header.First - min(max(f.LastSeq, h.First-1)+1, next.header.First)) // in files that are lost
		f.addSegment(&next.own)
	}
	return f
}

// addPart notes that next, with this header, goes on where old has ended.
func (l *Log) addPart(h *format.FileHeader, old, next *blockFile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := &l.parts[len(l.parts)-1]
	last.own, last.all = old.own, old.all
	l.parts = append(l.parts, partFacts{header: *h, own: next.own, all: next.all})
}

// dropParts forgets the facts of segments that are no longer in s.
func (l *Log) dropParts(s shelf) {
	r, err := s.find(1)
	if err != nil {
		return
	}
	oldest := r.header.Segment
	_ = r.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.parts)-1 && l.parts[n].header.Segment < oldest {
		n++
	}
	l.parts = slices.Delete(l.parts, 0, n)
}
