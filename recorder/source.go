package recorder

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
)

// errShort says that what is asked for is not there: not yet, or never.
var errShort = errors.New("the recording ends here")

// source is the bytes of a recording, from one position on.
type source interface {
	// peek returns the next n bytes without passing over them, valid until
	// the next call; errShort if there are not as many.
	peek(n int) ([]byte, error)
	// body is the n bytes after the next skip ones. A source that can tell
	// says errShort if they are not all there; another lets the body end
	// with errShort.
	body(skip int, n int64) (io.Reader, error)
	// pass goes n bytes on; those up to the end of a body count as there.
	pass(n int64) error
	// waits says whether a writer may still add something.
	waits() bool
	// drained says whether nothing at all follows.
	drained() (bool, error)
}

// file is bytes that can be read anywhere, of which there may be more later.
type file interface {
	io.ReaderAt
	size() (int64, error)
	// waits says whether a writer may still add something.
	waits() bool
}

// osFile is a regular file.
type osFile struct{ *os.File }

func (f osFile) size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) waits() bool { return !writerGone(f.File) }

// fileSource reads a file, which may grow.
type fileSource struct {
	file
	at  int64
	buf []byte
	r   *bufio.Reader
}

func newFileSource(f file) *fileSource {
	return &fileSource{file: f, r: bufio.NewReaderSize(nil, 64<<10)}
}

func (s *fileSource) peek(n int) ([]byte, error) {
	if cap(s.buf) < n {
		s.buf = make([]byte, max(n, 256))
	}
	got, err := s.ReadAt(s.buf[:n], s.at)
	switch {
	case got == n:
		return s.buf[:n], nil
	case errors.Is(err, io.EOF):
		return s.buf[:got], errShort
	}
	return nil, err
}

func (s *fileSource) body(skip int, n int64) (io.Reader, error) {
	size, err := s.size()
	if err != nil {
		return nil, err
	}
	if size-s.at-int64(skip) < n {
		return nil, errShort
	}
	expect(s.file, s.at+int64(skip), n)
	s.r.Reset(io.NewSectionReader(s.file, s.at+int64(skip), n))
	return s.r, nil
}

func (s *fileSource) pass(n int64) error {
	s.at += n
	return nil
}

func (s *fileSource) drained() (bool, error) {
	b, err := s.peek(1)
	if errors.Is(err, errShort) {
		err = nil
	}
	return len(b) == 0, err
}

// streamSource reads a pipe. Its reads wait by themselves.
type streamSource struct {
	r    *bufio.Reader
	past int64 // how far the body that was asked for last reaches, of what pass will be told
	left *io.LimitedReader
}

func newStreamSource(r io.Reader) *streamSource {
	return &streamSource{r: bufio.NewReaderSize(r, format.MaxSkippable+format.FrameHeadSize)}
}

func (s *streamSource) peek(n int) ([]byte, error) {
	b, err := s.r.Peek(n)
	if errors.Is(err, io.EOF) {
		err = errShort
	}
	return b, err
}

func (s *streamSource) body(skip int, n int64) (io.Reader, error) {
	if _, err := s.r.Discard(skip); err != nil {
		return nil, err
	}
	s.left = &io.LimitedReader{R: s.r, N: n}
	s.past = int64(skip) + n
	return shortReader{s.left}, nil
}

func (s *streamSource) pass(n int64) error {
	if s.left != nil {
		n = n - s.past + s.left.N
		s.left = nil
	}
	_, err := io.CopyN(io.Discard, s.r, n)
	if errors.Is(err, io.EOF) {
		err = errShort
	}
	return err
}

func (s *streamSource) waits() bool { return false }

func (s *streamSource) drained() (bool, error) {
	_, err := s.r.Peek(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

// shortReader says errShort where its reader ends before its limit.
type shortReader struct{ l *io.LimitedReader }

func (r shortReader) Read(p []byte) (int, error) {
	n, err := r.l.Read(p)
	if errors.Is(err, io.EOF) && r.l.N > 0 {
		err = errShort
	}
	return n, err
}
