// Package effect joins what clients were sent and have accepted, as the engine says,
// with what they themselves say that they hold: whether a resource is in effect, and
// if not, why. Content decides; versions may stay the same for ever. What it has
// forgotten or was not told is unknown, and never guessed. It judges nobody.
//
// It keeps nothing before the first entry of what a client holds. So a session
// without such entries costs nothing.
package effect

import (
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// State is what became of what a client was sent last of a resource.
type State uint8

// The states.
const (
	Unknown  State = iota // it cannot be told; Why says what is missing
	InEffect              // the client uses it; of what was removed: it is gone
	Warming               // the client has it, and waits for what it needs
	Draining              // the client lets go of it, or of what refers to it
	Other                 // the client uses another content, or what was removed
	Absent                // the client does not have it
	Failed                // the client has rejected it
)

// String is the word that people and the machine-readable forms read.
func (s State) String() string {
	switch s {
	case InEffect:
		return "effective"
	case Warming:
		return "warming"
	case Draining:
		return "draining"
	case Other:
		return "other-content"
	case Absent:
		return "not-there"
	case Failed:
		return "failed"
	}
	return "unknown"
}

// Answer is yes, no or unknown: whether it is in effect.
func (s State) Answer() string {
	switch s {
	case Unknown:
		return "unknown"
	case InEffect:
		return "yes"
	}
	return "no"
}

// Moment is when something was seen; the zero one was not. Without a time it was, and
// when is not remembered.
type Moment struct {
	Seq session.Seq
	At  time.Time
}

// Known says whether it was seen.
func (m Moment) Known() bool { return m.Seq != 0 }

// Effect is how far a client got with what it was sent last of a resource.
type Effect struct {
	Client, Type, Name string

	Version string // of the resource, or else of the response
	Removed bool   // what was sent last is that there is none any more

	// Where the client was first asked after it had accepted it, Sent and Accepted may
	// be an entry that has it, without a time.
	Sent     Moment    // the response that had it first
	Accepted Moment    // the first request that accepts it
	Since    time.Time // when it had accepted it, at the latest; zero if it has not
	Rejected Moment    // the last one that rejects it
	// Effective is the first entry that shows it in effect, zero while it is not. It
	// is before Sent where the client had it already.
	Effective Moment

	State State
	Why   string   // more about State, "" if there is nothing to say
	Waits []string // what it waits for, of Warming
}

// Took is how long it took from being accepted to being in effect, at most; false if
// that is not known.
func (e *Effect) Took() (time.Duration, bool) {
	if e.Accepted.At.IsZero() || !e.Effective.Known() || e.Effective.At.Before(e.Sent.At) {
		return 0, false
	}
	return max(e.Effective.At.Sub(e.Accepted.At), 0), true
}

// Asked is where a client was asked what it holds, and how that went last.
type Asked struct {
	Source, Address string
	Read            Moment // the last entry that says what it holds
	// From is when it was asked for that: what it accepted later may not be in it.
	From   time.Time
	Failed string // why it could not be read since, "" if it could
}

// Count is how many resources of a type are in effect, and of how many it is
// known.
type Count struct{ InEffect, Known, All int }
