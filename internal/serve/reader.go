package serve

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/internal/serve/viewerpb"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// Reader gives the entries of a recording that a proxy is writing, in order. If
// its connection is lost it gets another and goes on after the last byte that
// came. One goroutine may use it; what interrupts it is the context of Next.
type Reader struct {
	*recorder.Reader
	c        *Client
	from, to session.Seq
	follow   bool
	over     bool // nothing that is wanted will come any more

	ctx    context.Context // of all that it does
	cancel context.CancelFunc
	bound  context.Context // of the last Next, which ends it as well
	unbind func() bool

	link    *link
	failure error // why there is nothing more
	state   State
}

// Open reads from one entry on, up to another or, if to is 0, as far as it goes:
// up to what is there, or on and on if Follow says so before the first Next.
// The caller closes the Reader.
func (c *Client) Open(from, to session.Seq) *Reader {
	r := &Reader{c: c, from: from, to: to, unbind: func() bool { return true }}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.Reader = recorder.NewSegments(from, func(n uint64) io.ReadCloser { return &segment{r: r, n: n} })
	return r
}

// Follow says whether Next waits for what is yet to be written.
func (r *Reader) Follow(on bool) {
	r.follow = on
	r.Reader.Follow(on)
}

// Next returns the next entry, as that of recorder.Reader does. When ctx ends
// while it waits, the Reader is over.
func (r *Reader) Next(ctx context.Context) (session.Entry, error) {
	if ctx != r.bound {
		r.unbind()
		r.bound, r.unbind = ctx, context.AfterFunc(ctx, r.cancel)
	}
	if r.to > 0 && r.Facts().LastSeq >= r.to {
		return session.Entry{}, io.EOF
	}
	e, err := r.Reader.Next(ctx)
	switch {
	case err == nil && r.to > 0 && e.Seq > r.to:
		return session.Entry{}, io.EOF
	case err != nil && ctx.Err() != nil:
		err = ctx.Err()
	case err != nil && r.failure != nil:
		err = r.failure // in the words of a Client
	}
	return e, err
}

// Close ends the connection.
func (r *Reader) Close() error {
	r.unbind()
	r.cancel()
	err := r.Reader.Close()
	r.drop()
	return err
}

// drop lets go of the connection.
func (r *Reader) drop() {
	if r.link != nil {
		r.link.close()
		r.link = nil
	}
}

// segment is the bytes of one segment of the recording.
type segment struct {
	r      *Reader
	n      uint64
	stream grpc.ServerStreamingClient[viewerpb.Chunk]
	resume []byte // stands for all that has come
	buf    []byte // of that, what was not given yet
	over   bool
}

func (s *segment) Close() error {
	s.over, s.buf = true, nil
	return nil
}

// Read waits for bytes, whatever becomes of the connection meanwhile.
func (s *segment) Read(p []byte) (int, error) {
	for len(s.buf) == 0 {
		switch {
		case s.r.failure != nil:
			return 0, s.r.failure
		case s.over:
			return 0, io.EOF
		case s.r.over:
			return 0, fs.ErrNotExist
		}
		if err := s.receive(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.buf)
	s.buf = s.buf[n:]
	return n, nil
}

// receive takes the next chunk, or deals with what came instead.
func (s *segment) receive() error {
	chunk, err := s.next()
	switch {
	case err == nil:
		s.r.attached()
		s.buf, s.resume = chunk.Data, chunk.Resume
		s.r.over = s.r.over || chunk.Last
		s.over = s.over || chunk.Last
		return nil
	case errors.Is(err, io.EOF):
		s.r.attached()
		s.over = true
		return nil
	}
	if s.r.link == nil {
		return err
	}
	viewer := s.stream != nil && len(s.stream.Trailer().Get(viewerKey)) > 0
	s.stream = nil
	said := s.r.c.explain(err, s.r.link, viewer)
	switch code := status.Code(err); {
	case s.r.ctx.Err() != nil:
		return s.r.fail(context.Canceled)
	case viewer && code == codes.NotFound && len(s.resume) > 0:
		s.over = true // it was deleted meanwhile
		return nil
	case viewer && code == codes.NotFound:
		return fs.ErrNotExist
	case viewer && code != codes.Unavailable && code != codes.ResourceExhausted && code != codes.Canceled && code != codes.Internal:
		return s.r.fail(said)
	}
	return s.r.again(said)
}

// next receives a chunk, and asks for the segment first if nobody has.
func (s *segment) next() (*viewerpb.Chunk, error) {
	r := s.r
	if r.link == nil {
		l, err := r.c.connect()
		if err != nil {
			return nil, r.fail(err)
		}
		r.link, s.stream = l, nil
	}
	if s.stream == nil {
		call := r.link.api.Read
		if r.follow {
			call = r.link.api.Tail
		}
		stream, err := call(r.c.authorized(r.ctx), &viewerpb.ReadRequest{
			Segment: s.n, From: uint64(r.from), To: uint64(r.to), Resume: s.resume, Recording: r.c.Info().Recording,
		})
		if err != nil {
			return nil, err
		}
		s.stream = stream
	}
	return s.stream.Recv()
}

// fail ends the Reader for good.
func (r *Reader) fail(err error) error {
	r.failure = err
	r.drop()
	return err
}

// attached notes that the connection works.
func (r *Reader) attached() {
	if !r.state.Detached.IsZero() {
		r.state = State{}
		r.tell()
	}
}

// again waits until it is time for another attempt, or gives up.
func (r *Reader) again(cause error) error {
	r.drop()
	o := &r.c.o
	if r.state.Detached.IsZero() {
		r.state = State{Detached: time.Now()}
	}
	r.state.Retry++
	r.state.Cause = cause
	if o.GiveUp > 0 && time.Since(r.state.Detached) >= o.GiveUp {
		return r.fail(&Error{Kind: Lost, Address: r.c.String(), Err: rootOf(cause)})
	}
	r.tell()
	pause := min(o.MinBackoff<<min(r.state.Retry-1, 16), o.MaxBackoff)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-r.ctx.Done():
		return r.fail(context.Canceled)
	case <-timer.C:
		return nil
	}
}

func (r *Reader) tell() {
	if r.c.o.State != nil {
		r.c.o.State(r.state)
	}
}

// rootOf is what an *Error is about, without its words.
func rootOf(err error) error {
	if e, is := errors.AsType[*Error](err); is {
		return e.Err
	}
	return err
}
