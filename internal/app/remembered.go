package app

import (
	"sync"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// remembered is what those who look at a recording remember of what is over.
// Several may look, each from its beginning: what they remember is the same
// after the same entry, so that who is the furthest speaks for all.
type remembered struct {
	mu   sync.Mutex
	at   session.Seq
	past engine.Memory
}

// Note says what is remembered after an entry.
func (r *remembered) Note(at session.Seq, past engine.Memory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at >= r.at {
		r.at, r.past = at, past
	}
}

// seen is the newest entry that somebody has looked at.
func (r *remembered) seen() session.Seq {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

func (r *remembered) memory() engine.Memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.past
}

func (r *remembered) forgotten() uint64 { return r.memory().Forgotten }
