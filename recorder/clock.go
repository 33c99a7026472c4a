package recorder

import (
	"fmt"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// clock makes of the system's time that of a recording. The system's may be set
// at any moment, forward and back. That of a recording never goes back, and
// never stands: where the system's was set back, it goes on, ahead of that, until
// that was set forward again.
type clock struct {
	read  time.Time     // the newest of the system, with its monotonic reading
	ahead time.Duration // how far the recording's time is before the system's

	// set is by how much the system's clock was set since that was last told of.
	set time.Duration
}

const (
	// minSet is how much a clock must have been set to be told of; maxDrift is
	// what it may gain or lose in a while without that, as a part of it.
	minSet   = time.Second
	maxDrift = 1e-3
)

// tell is the time of the recording when the system says at.
func (c *clock) tell(at time.Time) time.Time {
	wall := at.Round(0).UTC()
	if !c.read.IsZero() {
		c.pass(wall.Sub(c.read.Round(0)), at.Sub(c.read)) // which is the same where either has no monotonic reading
	}
	c.read = at
	return wall.Add(c.ahead)
}

// pass takes notice of how much later the wall clock is, and of what has passed.
func (c *clock) pass(later, passed time.Duration) {
	set := later - passed
	if set.Abs() > minSet+time.Duration(maxDrift*float64(passed.Abs())) {
		c.ahead = max(0, c.ahead-set)
		c.set += set
	}
}

// note tells of a clock that was set; nil if it was not.
func (c *clock) note() *session.Note {
	set := c.set.Round(time.Millisecond)
	c.set = 0
	if set == 0 {
		return nil
	}
	n := &session.Note{Code: session.NoteClock, Text: fmt.Sprintf("the system's clock was set back by %v", set.Abs())}
	if set > 0 {
		n.Text = fmt.Sprintf("the system's clock was set forward by %v, or stood while the machine slept", set)
	}
	if c.ahead > 0 {
		n.Hint = fmt.Sprintf("times in the recording do not go back: they are ahead of the clock by %v from here", c.ahead.Round(time.Millisecond))
	}
	return n
}
