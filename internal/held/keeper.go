package held

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// Options are what a Keeper asks, and whom it tells.
type Options struct {
	Places   []Place
	Access   Access
	Interval time.Duration // between two looks if nothing wakes it
	Files    bool          // they subscribe to files, of which counters alone tell how they were taken
	// Patience is how long all of one look may take; 0: 20 seconds.
	Patience time.Duration
	// Starting is how long a client may take to start, until Said is told that nobody
	// listens; 0: 10 seconds.
	Starting time.Duration
	// Append takes an entry. It must not wait.
	Append func(session.Entry) session.Seq
	// Log says how many entries the log had to drop so far, and which segment it
	// writes; nil: it drops none and has one.
	Log func() (lost, segment uint64)
	// Said is told what people should know; the goroutines of all sources call
	// it.
	Said func(*News)
}

// News is something that people should know of a source. It comes once for each
// cause.
type News struct {
	Place *Place
	Node  string   // "" if that is not known
	Fault string   // why it cannot be asked; "" if it can
	Hint  string   // what may help, or ""
	Notes []string // what of an answer could not be read
}

// Keeper keeps a log told of what clients hold.
type Keeper struct {
	pollers []*poller
	cancel  context.CancelFunc
	run     sync.WaitGroup

	asked, failed atomic.Uint64
}

// Stats are how often clients were asked.
type Stats struct {
	Asked, Failed uint64
}

// Start begins to ask.
func Start(o Options) *Keeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &Keeper{cancel: cancel}
	for i := range o.Places {
		p := newPoller(k, &o, &o.Places[i])
		k.pollers = append(k.pollers, p)
		k.run.Go(func() { p.run(ctx) })
	}
	return k
}

// Wake says that a client has answered, so that what it holds may have changed. It
// never waits.
func (k *Keeper) Wake(node string) {
	k.wake(func(is *string) bool { return is == nil || *is == "" || *is == node })
}

// WakeAll is Wake where it is not known which client it is.
func (k *Keeper) WakeAll() { k.wake(func(*string) bool { return true }) }

func (k *Keeper) wake(which func(node *string) bool) {
	for _, p := range k.pollers {
		if which(p.node.Load()) {
			select {
			case p.wake <- struct{}{}:
			default:
			}
		}
	}
}

// Stats are those so far.
func (k *Keeper) Stats() Stats { return Stats{k.asked.Load(), k.failed.Load()} }

// Close ends the asking, and waits for the goroutines.
func (k *Keeper) Close() {
	k.cancel()
	k.run.Wait()
}
