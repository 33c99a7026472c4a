package replay

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// keepBodies is how much of a recording that can be read again is kept.
	keepBodies = 64 << 20
	// mostBodies is how much is kept of one that cannot.
	mostBodies = 512 << 20
	// shared is from which length on chunks are kept as they came.
	shared = 512
	// near is how many entries are read over rather than jumped over.
	near = 64
)

// bodies gives the bodies of recorded messages: the first of them from memory,
// the others from the recording. It may be used by several goroutines.
type bodies struct {
	again func() (*recorder.Reader, error) // nil: it cannot be read again

	mu     sync.Mutex
	kept   map[session.Seq]session.Chunks
	seen   map[*byte]bool // chunks that are kept: contents that come again come as the same
	bytes  int64
	full   bool
	reader *recorder.Reader
	next   session.Seq // that the reader gives, 0 if it is not known
}

func newBodies(again func() (*recorder.Reader, error)) *bodies {
	return &bodies{again: again, kept: map[session.Seq]session.Chunks{}, seen: map[*byte]bool{}}
}

// see keeps a body, if there is room.
func (s *bodies) see(seq session.Seq, data session.Chunks) error {
	most := int64(keepBodies)
	if s.again == nil {
		most = mostBodies
	}
	if s.full {
		return nil
	}
	kept := make(session.Chunks, len(data))
	for i, c := range data {
		if kept[i] = c; len(c) < shared {
			kept[i] = slices.Clone(c) // it would keep the block around it from being collected
		} else if s.seen[unsafe.SliceData(c)] {
			continue
		}
		s.seen[unsafe.SliceData(kept[i])] = true
		s.bytes += int64(len(c)) + 16
	}
	if s.bytes += 64; s.bytes > most {
		if s.again == nil {
			return fmt.Errorf("more than %d MiB came through the pipe: write the recording to a file first", most>>20)
		}
		s.full, s.seen = true, nil
		return nil
	}
	s.kept[seq] = kept
	return nil
}

// body returns the bytes of a message in one piece; nobody may write to them.
func (s *bodies) body(ctx context.Context, seq session.Seq) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if data, is := s.kept[seq]; is {
		return data.Bytes(), nil
	}
	if s.again == nil {
		return nil, fmt.Errorf("entry %d is not there any more", seq)
	}
	if s.reader == nil {
		r, err := s.again()
		if err != nil {
			return nil, err
		}
		s.reader, s.next = r, 0
	}
	// Streams are played side by side, so that what comes next is often near.
	if s.next == 0 || seq < s.next || seq-s.next > near {
		if err := s.reader.Seek(seq); err != nil {
			return nil, fmt.Errorf("entry %d: %w", seq, err)
		}
	}
	for {
		e, err := s.reader.Next(ctx)
		if err != nil {
			s.next = 0
			return nil, fmt.Errorf("entry %d cannot be read again: %w", seq, err)
		}
		s.next = e.Seq + 1
		if e.Seq > seq {
			return nil, fmt.Errorf("entry %d is not in the recording any more", seq)
		}
		if e.Seq == seq && e.Message != nil {
			return e.Message.Data.Bytes(), nil
		}
	}
}

func (s *bodies) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = nil
	if s.reader == nil {
		return nil
	}
	r := s.reader
	s.reader = nil
	return r.Close()
}
