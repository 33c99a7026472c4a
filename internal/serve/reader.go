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
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Reader gives the entries of a recording that a proxy is writing, in order. If
// its connection is lost it gets another and goes on after the last byte that
// came. One goroutine may use it; what interrupts it is the context of Next.
type Reader struct {
	*recorder.Reader
	c        *Client
	from, to session.Seq
	follow   bool
	pieces   bool
	large    bool
	over     bool   // nothing that is wanted will come any more, for now
	pass     uint64 // counts calls of Next

	ctx    context.Context // of all that it does
	cancel context.CancelFunc
	bound  context.Context // of the last Next, which ends it as well
	unbind func() bool
	closed bool

	link    *link
	failure error // why there is nothing more
	state   State
}

// Open reads from one entry on, up to another or, if to is 0, as far as it goes:
// up to what is there, or on and on if Follow says so before the first Next.
// There may be any number of Readers, each with a connection of its own, which is
// made when it is needed. The caller closes the Reader.
func (c *Client) Open(from, to session.Seq) *Reader {
	r := &Reader{c: c, from: from, to: to, unbind: func() bool { return true }}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.begin()
	return r
}

func (r *Reader) begin() {
	r.over = false
	r.Reader = recorder.NewSegments(r.from, func(n uint64) io.ReadCloser { return &segment{r: r, n: n} })
	r.Reader.Follow(r.follow)
	if r.pieces {
		r.Reader.Pieces()
	}
	if r.large {
		r.Reader.Large()
	}
}

// Follow says whether Next waits for what is yet to be written.
func (r *Reader) Follow(on bool) {
	r.follow = on
	r.Reader.Follow(on)
}

// Pieces does what that of recorder.Reader does.
func (r *Reader) Pieces() {
	r.pieces = true
	r.Reader.Pieces()
}

// Large does what that of recorder.Reader does.
func (r *Reader) Large() {
	r.large = true
	r.Reader.Large()
}

// Limit makes an entry the last one that Next gives; there is no such if it is 0.
func (r *Reader) Limit(to session.Seq) { r.to = to }

// Seek makes Next go on with the first entry whose number is at least seq. What
// comes before it is left out at the other end.
func (r *Reader) Seek(seq session.Seq) error {
	err := r.Reader.Close()
	r.from = seq
	r.begin()
	return err
}

// Next returns the next entry, as that of recorder.Reader does: after io.EOF, it
// may be called again for what has been written since. When ctx ends while it
// waits, the Reader is over; when it ends later, who calls with another one does
// not notice.
func (r *Reader) Next(ctx context.Context) (session.Entry, error) {
	if ctx != r.bound {
		r.unbind()
		if r.ctx.Err() != nil && !r.closed {
			r.ctx, r.cancel = context.WithCancel(context.Background())
		}
		r.bound, r.unbind = ctx, context.AfterFunc(ctx, r.cancel)
	}
	if r.to > 0 && r.Facts().LastSeq >= r.to {
		return session.Entry{}, io.EOF
	}
	r.pass++
	r.over = r.over && r.Facts().Complete
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
	r.closed = true
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
	cancel context.CancelFunc // of stream
	of     context.Context    // of the Reader, when stream began
	resume []byte             // stands for all that has come
	buf    []byte             // of that, what was not given yet
	over   bool               // there was no more
	asked  uint64             // in which pass of the Reader stream began, which knows no more than was there then
	gone   bool               // there will never be more
}

func (s *segment) Close() error {
	s.gone, s.buf = true, nil
	s.hangUp()
	return nil
}

// hangUp ends the call.
func (s *segment) hangUp() {
	if s.cancel != nil {
		s.cancel()
	}
	s.stream, s.cancel = nil, nil
}

// end notes that there is no more.
func (s *segment) end() {
	s.hangUp()
	s.over = true
}

// Read waits for bytes, whatever becomes of the connection meanwhile.
func (s *segment) Read(p []byte) (int, error) {
	for len(s.buf) == 0 {
		switch {
		case s.r.failure != nil:
			return 0, s.r.failure
		case s.gone, s.over && (s.r.over || s.asked == s.r.pass):
			return 0, io.EOF
		case s.r.over:
			return 0, fs.ErrNotExist
		}
		s.over = false // who does not follow asks again
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
		if s.buf = chunk.Data; len(chunk.Resume) > 0 {
			s.resume = chunk.Resume
		}
		if chunk.Last {
			s.r.over = s.r.follow || s.asked == s.r.pass // who follows is told of the end of the recording only
			s.end()
		}
		return nil
	case errors.Is(err, io.EOF): // there is a later segment: this one is as it will stay
		s.r.attached()
		s.end()
		s.gone = true
		return nil
	}
	if s.r.link == nil {
		return err
	}
	viewer := s.stream != nil && len(s.stream.Trailer().Get(viewerKey)) > 0
	s.hangUp()
	said := s.r.c.explain(err, s.r.link, viewer)
	switch code := status.Code(err); {
	case s.r.ctx.Err() != nil:
		return s.r.fail(context.Canceled)
	case viewer && code == codes.NotFound && len(s.resume) > 0:
		s.gone = true // it was deleted meanwhile
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
		r.link = l
		s.hangUp()
	}
	if s.of != r.ctx {
		s.hangUp()
	}
	if s.stream == nil {
		call := r.link.api.Read
		if r.follow {
			call = r.link.api.Tail
		}
		ctx, cancel := context.WithCancel(r.c.authorized(r.ctx))
		s.cancel = cancel
		stream, err := call(ctx, &viewerpb.ReadRequest{
			Segment: s.n, From: uint64(r.from), To: uint64(r.to), Resume: s.resume, Recording: r.c.Info().Recording,
		})
		if err != nil {
			return nil, err
		}
		s.stream, s.of, s.asked = stream, r.ctx, r.pass
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
