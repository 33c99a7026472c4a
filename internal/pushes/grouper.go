package pushes

import (
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// DefaultWithin is how far apart the responses of one burst are at most.
const DefaultWithin = 500 * time.Millisecond

// Options say how responses are grouped.
type Options struct {
	// Within is how far apart responses are at most that belong together and
	// have no version in common; 0: DefaultWithin.
	Within time.Duration
}

// Grouper finds the pushes of a session. It must be given every entry and what an
// Engine says of it, in order, and is not safe for concurrent use.
type Grouper struct {
	o Options
}

// New returns a Grouper that has seen nothing.
func New(o Options) *Grouper { return &Grouper{o: o} }

// Step takes the next entry and what it changed.
func (g *Grouper) Step(k *engine.Engine, e *session.Entry, c *engine.Change) {}

// Heads are the pushes that are remembered, oldest first.
func (g *Grouper) Heads(k *engine.Engine) []Head { return nil }

// Push is one push in full, by its number; false if there is none, or it was
// forgotten.
func (g *Grouper) Push(k *engine.Engine, n int) (Push, bool) { return Push{}, false }

// Of is the number of the push that a response belongs to, 0 if none is known.
func (g *Grouper) Of(seq session.Seq) int { return 0 }

// Forgotten is how many of the oldest pushes were let go.
func (g *Grouper) Forgotten() int { return 0 }
