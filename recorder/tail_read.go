package recorder

import "io"

// liveFile is a file as a reader in the process of its writer sees it: up to
// where it is committed, and read from memory where the tail has it.
type liveFile struct {
	file
	part *tailPart
}

func (f *liveFile) ReadAt(b []byte, at int64) (int, error) {
	v := f.part.view.Load()
	if at >= v.end {
		return 0, io.EOF
	}
	var short error
	if int64(len(b)) > v.end-at {
		b, short = b[:v.end-at], io.EOF
	}
	n, err := len(b), error(nil)
	if at >= v.from {
		v.copy(b, at-v.from, f.part.tail.chunk)
	} else {
		n, err = f.file.ReadAt(b, at)
	}
	if err == nil {
		err = short
	}
	return n, err
}

// copy fills b with what is at at in the chunks of this size.
func (v *tailView) copy(b []byte, at int64, size int) {
	for len(b) > 0 {
		n := copy(b, v.chunks[at/int64(size)][at%int64(size):])
		b, at = b[n:], at+int64(n)
	}
}

func (f *liveFile) size() (int64, error) { return f.part.view.Load().end, nil }

func (f *liveFile) waits() bool { return !f.part.view.Load().over }

// attach makes r read from the tail what that has of its file.
func (t *tail) attach(r *Reader) {
	src, ok := r.src.(*fileSource)
	if !ok {
		return
	}
	if p := t.find(&r.header); p != nil {
		src.file = &liveFile{file: src.file, part: p}
	}
}

// tailSegments are segments whose files are read from the tail as far as that goes.
type tailSegments struct {
	segmentSource
	tail *tail
}

func (s *tailSegments) find(from uint64) (*Reader, error) {
	r, err := s.segmentSource.find(from)
	if err == nil {
		s.tail.attach(r)
	}
	return r, err
}
