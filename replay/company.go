package replay

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// company is the streams of one recorded client. What is said on one of them
// may have caused what is said on another, so that each tells the others how far
// it has come.
type company struct {
	quiet atomic.Int64 // since when none of them has moved; nanoseconds since 1970

	mu    sync.Mutex
	moved chan struct{} // closed and replaced when one of them moves
	of    []*standing
}

// standing is how far one stream has come: everything that was recorded before
// this number has happened again, or is not waited for.
type standing struct {
	company *company
	opened  session.Seq
	at      atomic.Uint64
	forgone atomic.Uint64 // where it was waited for in vain
}

const atEnd = session.Seq(math.MaxUint64)

// companies are those of a recording, by node id.
type companies map[string]*company

// join adds a stream that has not begun. It must not be called when others have.
func (all companies) join(st *Stream) *standing {
	c := all[st.Client]
	if c == nil {
		c = &company{moved: make(chan struct{})}
		c.quiet.Store(time.Now().UnixNano())
		all[st.Client] = c
	}
	s := &standing{company: c, opened: st.Opened}
	s.at.Store(uint64(st.Opened))
	c.of = append(c.of, s)
	return s
}

// reach tells how far a stream has come.
func (s *standing) reach(seq session.Seq) {
	if s.at.Swap(uint64(seq)) != uint64(seq) {
		s.company.stir()
	}
}

// stir wakes those who wait for others of the company.
func (c *company) stir() {
	c.quiet.Store(time.Now().UnixNano())
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.moved)
	c.moved = make(chan struct{})
}

// news is closed when one of the company has moved.
func (c *company) news() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moved
}

// behind counts the other streams that have not come as far as they had in the
// recording at seq.
func (s *standing) behind(seq session.Seq) int {
	n := 0
	for _, o := range s.company.of {
		if o != s && o.opened < seq && o.at.Load() < uint64(seq) {
			n++
		}
	}
	return n
}

// owed says whether one of those behind seq has moved since it was waited for.
func (s *standing) owed(seq session.Seq) bool {
	for _, o := range s.company.of {
		if at := o.at.Load(); o != s && o.opened < seq && at < uint64(seq) && o.forgone.Load() != at {
			return true
		}
	}
	return false
}

// forgo notes that those behind seq were waited for in vain.
func (s *standing) forgo(seq session.Seq) {
	for _, o := range s.company.of {
		if at := o.at.Load(); o != s && o.opened < seq && at < uint64(seq) {
			o.forgone.Store(at)
		}
	}
}

// still is for how long none of the company has moved.
func (c *company) still(now time.Time) time.Duration {
	return now.Sub(time.Unix(0, c.quiet.Load()))
}
