package recorder

import (
	"fmt"
	"io"

	"github.com/xdsproxy/xdsproxy/session"
)

// NewSegments reads a recording whose segments come from elsewhere, each through
// a pipe of its own, as Feeds give them. open begins the first segment from
// number n on; n is 0 for the one that from is in. That there is none, a Read of
// what open returned says: its error is fs.ErrNotExist then. A pipe ends where its
// segment does, or was deleted; or where nothing more is wanted, and from then on
// there is no later segment either. Entries before from are not given.
//
// As with NewReader, a Read is not interrupted by the context of Next.
func NewSegments(from session.Seq, open func(n uint64) io.ReadCloser) *Reader {
	first := open(0)
	return &Reader{src: newStreamSource(first), closer: first, fromSeq: from, family: streams(open)}
}

// streams are segments that come through pipes.
type streams func(n uint64) io.ReadCloser

func (s streams) find(n uint64) (*Reader, error) {
	in := s(n)
	r := &Reader{src: newStreamSource(in), closer: in}
	err := r.begin()
	switch {
	case err != nil:
		err = r.headless(err)
	case r.header.Segment < n:
		err = &FormatError{Reason: fmt.Sprintf("segment %d came where %d was due", r.header.Segment, n)}
	}
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}
