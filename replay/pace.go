package replay

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/replay/fault"
)

// Pace says when something is said whose turn it is.
type Pace struct {
	Kind   paceKind
	factor float64 // how much faster than recorded
}

type paceKind uint8

const (
	paceCause paceKind = iota // when what caused it has happened again
	PaceTimed                 // and not before its time
	paceStep                  // and somebody says so
)

// ParsePace reads "cause", "recorded", "x4" or "step".
func ParsePace(s string) (Pace, error) {
	switch s {
	case "cause":
		return Pace{}, nil
	case "recorded":
		return Pace{PaceTimed, 1}, nil
	case "step":
		return Pace{Kind: paceStep}, nil
	}
	if n, ok := strings.CutPrefix(s, "x"); ok {
		f, err := strconv.ParseFloat(n, 64)
		if err == nil && f >= 0.001 && f <= 1e6 {
			return Pace{PaceTimed, f}, nil
		}
	}
	return Pace{}, errors.New("neither cause, recorded, step, nor a factor such as x4")
}

// Steps says whether it waits for somebody.
func (p Pace) Steps() bool { return p.Kind == paceStep }

// Due is how long after the beginning of its stream a step is to be said.
func (p Pace) Due(s *Stream, step *Step) time.Duration {
	if p.Kind != PaceTimed {
		return 0
	}
	return p.After(step.At - s.Steps[0].At)
}

// After is when that is to be which came so many nanoseconds after the beginning.
func (p Pace) After(recorded int64) time.Duration {
	return time.Duration(float64(recorded) / p.factor)
}

// Options are those of both directions.
type Options struct {
	// Client is the recorded client that is played or answered; "" for all.
	Client string
	// Types are message types beside the linked ones; may be nil.
	Types *descriptors.Types
	// Authority is the :authority that played clients ask with; "": "xds".
	Authority string
	Pace      Pace
	// Idle is how long nothing may be said before the replay gives up.
	Idle time.Duration
	// Linger is the same, if it is longer, at the end of a play in which something
	// was withheld on purpose.
	Linger time.Duration
	// Local says that the clients are on this machine: listeners that cannot have
	// their recorded addresses here are sent with others.
	Local bool
	// Played is called when a server has played everything, before it lets go of
	// its clients.
	Played func(context.Context)
	// Leaving is called when a play is over, before the played server goes: from
	// then on nobody is to be led to it.
	Leaving func()
	// Step gives leave to say the next thing, for a Pace that Steps.
	Step <-chan struct{}
	// Faults are what goes wrong on purpose; nil: nothing.
	Faults *fault.Set
	// Wrong is told of each fault as it is done.
	Wrong func(string)
	// Say is told what goes on, a sentence at a time. It may be called from
	// several goroutines, and must not block for long.
	Say func(string)
	// Anew starts the live client again, as the recorded one was; nil: somebody
	// else does. It is called on its own, and Serve waits for it.
	Anew func()
}

// Grace is how long a response waits for what usually comes before it, when
// what must come before it has come.
const Grace = time.Second
