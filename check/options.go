package check

import (
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// Timers are how long a Checker waits before it calls something late. A timer
// fires when an entry shows that the time is strictly later than its end; what
// happens exactly then is in time.
type Timers struct {
	// Flight is how long messages may have been on their way when they crossed
	// one of the other side. Where it is not Fixed, thrice the shortest time
	// that a client took to answer counts if that is more.
	Flight time.Duration
	Fixed  bool
	ACK    time.Duration // a response waits for its verdict
	Warm   time.Duration // a response of clusters waits for its verdict
	DNE    time.Duration // a name waits to be mentioned: after that it does not exist
	Loop   time.Duration // window for LoopCount repeats of a quick loop
	Push   time.Duration // window for PushCount needless pushes
	Rejoin time.Duration // a reconnected client states all its types
	Retro  time.Duration // look-back for proofs of order

	LoopCount, PushCount int
	// A storm is StormCount opens with a median gap below StormGap.
	StormCount int
	StormGap   time.Duration
}

// DefaultTimers returns the timers that are used where nothing else is said.
// DNE is the one that the protocol names (Knowing When a Requested Resource
// Does Not Exist).
func DefaultTimers() Timers {
	return Timers{
		Flight: 2 * time.Second, ACK: engine.DefaultACK, Warm: engine.DefaultWarm, DNE: 15 * time.Second,
		Loop: 10 * time.Second, Push: time.Minute, Rejoin: 30 * time.Second, Retro: time.Minute,
		LoopCount: 3, PushCount: 3, StormCount: 10, StormGap: 250 * time.Millisecond,
	}
}

// Options say what a Checker looks for.
type Options struct {
	Timers Timers // zero: DefaultTimers
	// Rules are those that run; nil: all that are not off.
	Rules []*Rule
	// Past is how many bytes are remembered of streams that have ended, of
	// clients that have left, and of versions that resources had; 0: 64 MiB.
	// Less memory makes rules silent, never wrong.
	Past int64
	// Static are clusters that the clients have from their bootstrap.
	Static []string
	// Names says that no rule runs which looks at what resources are: only
	// messages and names are followed.
	Names bool
	// Types are message types beside the linked ones; may be nil.
	Types *descriptors.Types
}

// Select returns the rules that run when enable and disable name rules by id,
// or "all" of them; what is named alone counts for more than "all". An id that
// no rule has is returned as unknown.
func Select(enable, disable []string) (rules []*Rule, unknown string) {
	all := Rules()
	on := make(map[string]bool, len(all))
	for _, r := range all {
		on[r.ID] = (!r.Off || slices.Contains(enable, "all")) && !slices.Contains(disable, "all")
	}
	for _, ids := range []struct {
		list []string
		to   bool
	}{{enable, true}, {disable, false}} {
		for _, id := range ids.list {
			if _, known := on[id]; !known && id != "all" {
				return nil, id
			}
			if id != "all" {
				on[id] = ids.to
			}
		}
	}
	for _, r := range all {
		if on[r.ID] {
			rules = append(rules, r)
		}
	}
	return rules, ""
}
