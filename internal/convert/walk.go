package convert

import (
	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

// Visit takes an entry, what it means, and whether it was chosen. What it is
// given is valid until it returns.
type Visit func(e *session.Entry, c *check.Change, chosen bool) error

// Walk visits the entries of a session from the first to the last, in order. It
// ends early with the error of the visit.
type Walk func(Visit) error

// Result says what was written.
type Result struct {
	Entries uint64 // that were chosen
	Context uint64 // that are there to explain them
	LeftOut uint64 // that the source has and the result has not, between others
	// Messages are those among Entries and Context, Masked those of them in
	// which secrets are masked.
	Messages, Masked uint64
	// Large are messages that should be in a report, and are too large for one.
	Large []session.Seq
	// Lost says what the form has no place for, by number and kind.
	Lost  []string
	Bytes int64
}

func (r *Result) count(e *session.Entry) {
	if e.Message == nil {
		return
	}
	r.Messages++
	if e.Message.Masked {
		r.Masked++
	}
}
