package replay

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// Group is the streams of one recorded client. What is said on one of them
// may have caused what is said on another, so that each tells the others how far
// it has come.
type Group struct {
	quiet atomic.Int64 // since when none of them has moved; nanoseconds since 1970

	mu    sync.Mutex
	moved chan struct{} // closed and replaced when one of them moves
	of    []*Member
}

// Member is how far one stream has come: everything that was recorded before
// this number has happened again, or is not waited for.
type Member struct {
	Group   *Group
	opened  session.Seq
	at      atomic.Uint64
	forgone atomic.Uint64 // where it was waited for in vain
}

const AtEnd = session.Seq(math.MaxUint64)

// Groups are those of a recording, by node id.
type Groups map[string]*Group

// Join adds a stream that has not begun. It must not be called when others have.
func (all Groups) Join(st *Stream) *Member {
	c := all[st.Client]
	if c == nil {
		c = &Group{moved: make(chan struct{})}
		c.quiet.Store(time.Now().UnixNano())
		all[st.Client] = c
	}
	s := &Member{Group: c, opened: st.Opened}
	s.at.Store(uint64(st.Opened))
	c.of = append(c.of, s)
	return s
}

// Reach tells how far a stream has come.
func (s *Member) Reach(seq session.Seq) {
	if s.at.Swap(uint64(seq)) != uint64(seq) {
		s.Group.stir()
	}
}

// stir wakes those who wait for others of the group.
func (c *Group) stir() {
	c.quiet.Store(time.Now().UnixNano())
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.moved)
	c.moved = make(chan struct{})
}

// Moved is closed when one of the group has moved.
func (c *Group) Moved() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moved
}

// Behind counts the other streams that have not come as far as they had in the
// recording at seq.
func (s *Member) Behind(seq session.Seq) int {
	n := 0
	for _, o := range s.Group.of {
		if o != s && o.opened < seq && o.at.Load() < uint64(seq) {
			n++
		}
	}
	return n
}

// Owed says whether one of those behind seq has moved since it was waited for.
func (s *Member) Owed(seq session.Seq) bool {
	for _, o := range s.Group.of {
		if at := o.at.Load(); o != s && o.opened < seq && at < uint64(seq) && o.forgone.Load() != at {
			return true
		}
	}
	return false
}

// Forgo notes that those behind seq were waited for in vain.
func (s *Member) Forgo(seq session.Seq) {
	for _, o := range s.Group.of {
		if at := o.at.Load(); o != s && o.opened < seq && at < uint64(seq) {
			o.forgone.Store(at)
		}
	}
}

// Still is for how long none of the group has moved.
func (c *Group) Still(now time.Time) time.Duration {
	return now.Sub(time.Unix(0, c.quiet.Load()))
}
