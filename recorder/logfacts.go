package recorder

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
)

// partFacts are the facts of a segment of a log; all are those with what it
// repeats from earlier ones.
type partFacts struct {
	header   format.FileHeader
	own, all Facts
}

// logFile is a file that a log writes.
type logFile struct {
	*blocks.Writer
	tail     *tailPart // nil if the recording is in memory
	own, all Facts     // but for Bytes and Complete
}

func (l *Log) newFile(f blocks.File, h *format.FileHeader, hook func([]byte) []byte) (*logFile, error) {
	b, err := blocks.New(f, h, hook)
	if err != nil {
		return nil, err
	}
	file := &logFile{Writer: b, tail: l.tail.begin(h, b.End)}
	b.Wrote, b.Committed = file.tail.wrote, file.count
	return file, nil
}

func (f *logFile) count(h *format.BlockHeader) {
	f.all.countBlock(h)
	if !h.Carried {
		f.own.countBlock(h)
	}
}

// facts are those of what is in the file so far, which has this header.
func (f *logFile) facts(h *format.FileHeader) partFacts {
	p := partFacts{header: *h, own: f.own, all: f.all}
	p.own.Bytes, p.all.Bytes = f.End, f.End
	p.own.Complete, p.all.Complete = f.Complete, f.Complete
	return p
}

// Facts are those of what of the log was committed and is left, as Inspect finds
// them in the file. They cost nothing: the writer keeps them.
func (l *Log) Facts() Facts {
	if l.store != nil {
		l.dropParts(l.store)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &l.parts[0].header
	f := Facts{
		Path: l.path, Version: format.Version, Created: h.Created, Program: h.Program, Masked: h.Masked,
		Complete: true, Descriptors: string(l.o.Descriptors),
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
func (l *Log) addPart(h *format.FileHeader, old, next *logFile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := &l.parts[len(l.parts)-1]
	*last = old.facts(&last.header)
	l.parts = append(l.parts, next.facts(h))
	l.stats.Segment = h.Segment
}

// dropParts forgets the facts of segments that are no longer in s.
func (l *Log) dropParts(s segmentSource) {
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
