package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
)

// ranges is an object of a bucket that is being read.
type ranges struct {
	ctx  context.Context
	s    *bucket
	obj  Object
	read atomic.Int64
}

func (s *bucket) Open(ctx context.Context, key string) (Content, error) {
	obj, err := s.Stat(ctx, key)
	if err != nil {
		return nil, err
	}
	return &ranges{ctx: ctx, s: s, obj: obj}, nil
}

func (r *ranges) Object() Object { return r.obj }
func (r *ranges) Read() int64    { return r.read.Load() }
func (r *ranges) Close() error   { return nil }

// How often a body that ends too early is asked for again, in all, and in a row
// without a byte.
const (
	rereads   = 20
	fruitless = 4
)

// ReadAt fetches what is asked for, and goes on where a body ended too early.
func (r *ranges) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("a read before the beginning")
	}
	if off >= r.obj.Size {
		return 0, io.EOF
	}
	var end error
	if int64(len(b)) > r.obj.Size-off {
		b, end = b[:r.obj.Size-off], io.EOF
	}
	done, stuck := 0, 0
	for tries := 1; done < len(b); tries++ {
		n, err := r.fetch(b[done:], off+int64(done))
		done += n
		r.read.Add(int64(n))
		if done == len(b) {
			break
		}
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		if stuck++; n > 0 {
			stuck = 0
		}
		if !again(err) || tries > rereads || stuck >= fruitless || r.ctx.Err() != nil {
			return done, r.s.failure("read "+r.s.URL(r.obj.Key), err)
		}
		select {
		case <-r.ctx.Done():
		case <-time.After(time.Duration(stuck) * 100 * time.Millisecond):
		}
	}
	return done, end
}

// again says whether a body that ended with err can be asked for again.
func again(err error) bool {
	var known *Error
	return !errors.As(err, &known) && status(err) == 0
}

// fetch is one request.
func (r *ranges) fetch(b []byte, off int64) (int, error) {
	var o minio.GetObjectOptions
	if r.obj.ETag != "" {
		_ = o.SetMatchETag(r.obj.ETag)
	}
	if err := o.SetRange(off, off+int64(len(b))-1); err != nil {
		return 0, err
	}
	body, info, header, err := r.s.plain.GetObject(r.ctx, r.s.name, r.obj.Key, o)
	if err != nil {
		switch status(err) {
		case http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
			return 0, r.changed()
		}
		return 0, err
	}
	defer body.Close()
	if etagOf(info.ETag) != r.obj.ETag || r.obj.ETag == "" && !info.LastModified.Equal(r.obj.Modified) {
		return 0, r.changed()
	}
	if err := r.within(header.Get("Content-Range"), off, len(b)); err != nil {
		return 0, err
	}
	return io.ReadFull(body, b)
}

// within says whether the answer is of the range that was asked for: a server that
// knows no ranges sends everything.
func (r *ranges) within(field string, off int64, n int) error {
	var from, to, size int64
	if field == "" && off == 0 && int64(n) == r.obj.Size {
		return nil
	}
	if _, err := fmt.Sscanf(strings.TrimSpace(field), "bytes %d-%d/%d", &from, &to, &size); err != nil || from != off {
		return &Error{What: fmt.Sprintf("%s cannot be read: %s does not give the part of an object that it is asked for", r.s.URL(r.obj.Key), r.s.host)}
	}
	if size != r.obj.Size {
		return r.changed()
	}
	return nil
}

func (r *ranges) changed() error {
	return &Error{What: fmt.Sprintf("%s was changed or replaced while it was read", r.s.URL(r.obj.Key)), Hint: "read it again", Err: ErrChanged}
}
