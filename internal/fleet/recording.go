package fleet

import (
	"context"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Recording is a recording of a fleet, its segments joined, which is not open.
type Recording struct {
	// Cluster and Proxy are of whom it is, as its path says; Cluster is "" where that
	// says nothing. Name is the recording's own, the same for all its segments.
	Cluster, Proxy, Name string
	// Source is what a command takes for it.
	Source string
	// First and Last are the days of its first and its last segment that its path
	// names; zero where it names none.
	First, Last time.Time
	// Modified is when something was last written to it, by the clock of the store.
	Modified time.Time
	Size     int64
	Segments int

	group string
	parts []part
	place place
}

// part is a file of a recording.
type part struct {
	key      string
	segment  uint64
	size     int64
	modified time.Time
	day      time.Time
}

// place is where recordings are.
type place interface {
	// open begins to read a file.
	open(ctx context.Context, key string) (recorder.Bytes, error)
	// source is what a command takes for a file.
	source(key string) string
}

// Open opens it. Segments are opened when they are come to, and one that cannot be
// read as what its name says is passed over, and told of. Reads end with ctx.
func (r *Recording) Open(ctx context.Context, tell func(format string, args ...any)) (*recorder.Reader, error) {
	var before []error // until one is open: if none is, the error says it
	opened := false
	say := func(err error) {
		if tell != nil {
			tell("a segment is left out: %v", err)
		}
	}
	reader, err := recorder.OpenParts(r.recorderParts(ctx), func(_ string, err error) {
		if !opened {
			before = append(before, err)
			return
		}
		say(err)
	})
	if opened = err == nil; opened {
		for _, err := range before {
			say(err)
		}
	}
	return reader, err
}

// Fetched is how many requests were made for the contents of this recording and
// those that were found with it, and how many bytes came; 0 for what is here.
func (r *Recording) Fetched() (requests, bytes int64) {
	if b, is := r.place.(*bucket); is {
		return b.requests.Load(), b.bytes.Load()
	}
	return 0, 0
}

func (r *Recording) recorderParts(ctx context.Context) []recorder.Part {
	out := make([]recorder.Part, len(r.parts))
	for i := range r.parts {
		p := &r.parts[i]
		out[i] = recorder.Part{
			Name: r.place.source(p.key), Segment: p.segment,
			Open: func() (recorder.Bytes, error) { return r.place.open(ctx, p.key) },
		}
	}
	return out
}

// OpenWith opens the one segment that an entry is in, alone: it repeats what is
// needed to understand it.
func (r *Recording) OpenWith(ctx context.Context, seq session.Seq) (*recorder.Reader, error) {
	parts := r.recorderParts(ctx)
	var best *recorder.Reader
	for from, to := 0, len(parts); from < to; {
		mid := (from + to) / 2
		b, err := parts[mid].Open()
		if err != nil {
			return nil, closing(best, err)
		}
		seg, err := recorder.OpenAt(parts[mid].Name, b)
		if err != nil {
			return nil, closing(best, err)
		}
		if mid == 0 || seg.Begins() <= seq {
			_ = closing(best, nil)
			best, from = seg, mid+1
			continue
		}
		_ = seg.Close()
		to = mid
	}
	return best, nil
}

func closing(r *recorder.Reader, err error) error {
	if r != nil {
		_ = r.Close()
	}
	return err
}
