package across

import (
	"container/heap"
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/fleet"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/session"
)

// One order of time is made of many recordings without having many in memory: each
// gives some lines ahead, and is then parked, without a file or a block that is
// open, until these were written.
const (
	// aheadBytes and aheadLines are how much of one recording waits as text.
	aheadBytes = 32 << 10
	aheadLines = 256
	// maxReady bounds the text of all; where there are many recordings each has less.
	maxReady = 64 << 20
)

// Line is what there is to write of one entry.
type Line struct {
	Time time.Time
	Text []byte
}

// Teller makes lines of the entries of a recording, in order. It is called with each
// that is read, wanted or not, and returns nil where there is nothing to write.
type Teller func(e *session.Entry, c *check.Change, wanted bool) ([]byte, error)

// Plan says what is wanted of the recordings, and how it is told.
type Plan struct {
	// Query is made anew for each: it remembers what it has seen.
	Query func() (*input.Query, error)
	// Tell makes the teller of one, and may keep the query.
	Tell func(rec *fleet.Recording, q *input.Query) Teller
	// Write takes the lines, in the order of their times; those of the same time
	// stay in the order of their proxies.
	Write func(Line) error
}

// Merge reads all recordings at once, as far as their times ask for it, and writes
// what is wanted of them in the order of time. It returns how many entries were
// written. Of one recording entries stay in its own order, whatever their times say.
func (r *Reader) Merge(ctx context.Context, p Plan) (written uint64, err error) {
	end := r.begin("reading")
	defer end()
	m := &merger{r: r, plan: p}
	defer m.close()
	for i := range r.All {
		s := &stream{number: i, rec: r.All[i]}
		s.at = earliest(s.rec)
		m.add(s)
	}
	heap.Init(&m.queue)
	damages, unreads := 0, 0
	for m.queue.Len() > 0 {
		s := m.queue[0]
		if len(s.ready) == 0 {
			if err := m.fill(ctx, s); err != nil {
				what, err := r.judgeError(ctx, s.rec, err)
				if err != nil {
					return written, err
				}
				switch what {
				case damaged:
					damages++
				case unread:
					unreads++
				}
				s.over = true
			}
			if len(s.ready) == 0 && s.over {
				heap.Pop(&m.queue)
				continue
			}
			if len(s.ready) > 0 && s.ready[0].Time.After(s.at) {
				s.at = s.ready[0].Time
			}
			heap.Fix(&m.queue, 0) // others may come before what was found
			continue
		}
		line := s.ready[0]
		s.ready = s.ready[1:]
		if len(line.Text) > 0 {
			written++
			if err := p.Write(line); err != nil {
				return written, err
			}
		}
		if len(s.ready) > 0 && s.ready[0].Time.After(s.at) {
			s.at = s.ready[0].Time
		}
		if len(s.ready) == 0 && s.over {
			heap.Pop(&m.queue)
			continue
		}
		heap.Fix(&m.queue, 0)
	}
	return written, left(damages, unreads, len(r.All), false)
}

// earliest is a time before which nothing of a recording is: the day that its path
// names, less an hour for a clock that was set; zero if it names none.
func earliest(rec *fleet.Recording) time.Time {
	if rec.First.IsZero() {
		return time.Time{}
	}
	return rec.First.Add(-time.Hour)
}

// stream is a recording that is being merged.
type stream struct {
	number int
	rec    *fleet.Recording
	at     time.Time // nothing of it comes before
	ready  []Line
	over   bool // nothing more is to be read

	src  *input.Source
	next func() (Line, error, bool)
	stop func()
}

type merger struct {
	r     *Reader
	plan  Plan
	queue queue
}

// add adds a stream before the queue is ordered.
func (m *merger) add(s *stream) { m.queue = append(m.queue, s) }

func (m *merger) close() {
	for _, s := range m.queue {
		s.close()
	}
}

// room is how much text of one recording waits.
func (m *merger) room() int { return max(1<<10, min(aheadBytes, maxReady/max(1, len(m.r.All)))) }

// fill reads some lines ahead. At the end of a recording over is set.
func (m *merger) fill(ctx context.Context, s *stream) error {
	if s.over {
		return nil
	}
	if s.next == nil {
		if err := m.open(ctx, s); err != nil {
			s.over = true
			return err
		}
	}
	before := s.src.Facts().Bytes
	s.ready = s.ready[:0:0]
	for size := 0; len(s.ready) < aheadLines && size < m.room(); {
		line, err, more := s.next()
		if !more || err != nil {
			s.over = true
			facts := s.src.Facts()
			m.r.skewed(s.number, &facts)
			m.r.advance(max(0, s.src.Facts().Bytes-before), int64(len(s.ready)))
			s.close()
			return err
		}
		s.ready = append(s.ready, line)
		size += len(line.Text)
	}
	m.r.advance(s.src.Facts().Bytes-before, int64(len(s.ready)))
	return s.src.Park()
}

func (m *merger) open(ctx context.Context, s *stream) error {
	q, err := m.plan.Query()
	if err != nil {
		return err
	}
	if s.src, err = m.r.OpenToPark(ctx, s.rec); err != nil {
		return err
	}
	tell := m.plan.Tell(s.rec, q)
	s.next, s.stop = iter.Pull2(lines(ctx, s.src, q, tell))
	return nil
}

func (s *stream) close() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
		_ = s.src.Close()
	}
}

var errEnough = errors.New("nobody wants more")

// lines are those of one recording.
func lines(ctx context.Context, src *input.Source, q *input.Query, tell Teller) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		var last time.Time
		err := q.All(ctx, src, func(e *session.Entry, c *check.Change, wanted bool) error {
			text, err := tell(e, c, wanted)
			if last = e.Time; err == nil && len(text) > 0 && !yield(Line{e.Time, text}, nil) {
				err = errEnough
			}
			return err
		})
		if err == nil {
			var text []byte
			if text, err = tell(nil, nil, false); err == nil && len(text) > 0 { // what still waits
				yield(Line{last, text}, nil)
				return
			}
		}
		if err != nil && !errors.Is(err, errEnough) && !errors.Is(err, io.EOF) {
			yield(Line{}, err)
		}
	}
}

// queue has the stream first whose next line is due first.
type queue []*stream

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	if c := q[i].at.Compare(q[j].at); c != 0 {
		return c < 0
	}
	return q[i].number < q[j].number
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push is for container/heap.
func (q *queue) Push(x any) { *q = append(*q, x.(*stream)) }

// Pop is for container/heap.
func (q *queue) Pop() any {
	old := *q
	s := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return s
}
