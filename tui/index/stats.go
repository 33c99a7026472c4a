package index

import (
	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// Stats counts what passes.
type Stats struct{ messages uint64 }

func newStats() *Stats { return new(Stats) }

func (s *Stats) add(r *Row, _ *session.Entry, _ *check.Change) {
	if r.Kind == session.KindMessage {
		s.messages++
	}
}
