package dump

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/trigger"
)

// waiting bounds the moments that wait to be written. It is no less than those
// that a trigger has at once.
const waiting = trigger.Most

// Keeper writes dumps, one at a time, while others go on.
type Keeper struct {
	w       writer
	moments chan trigger.Moment
	run     sync.WaitGroup
	cancel  context.CancelFunc

	mu     sync.Mutex // of closed, and nothing slow is done with it held
	closed bool

	written, failed, skipped atomic.Uint64
}

// Stats are how many dumps there were.
type Stats struct {
	Written, Failed uint64
	Skipped         uint64 // that were not tried, because others waited
}

// Said is told of each dump: where it is and how large, or why there is none.
type Said func(m *trigger.Moment, path string, size int64, err error)

// New makes the directory, tries whether it can be written, and starts. said is
// called by the goroutine that writes.
func New(o Options, said Said) (*Keeper, error) {
	k := &Keeper{w: writer{o: o, dir: directory{path: o.Dir, most: o.Most}}, moments: make(chan trigger.Moment, waiting)}
	if err := k.w.dir.open(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	k.run.Go(func() {
		for m := range k.moments {
			k.one(ctx, &m, said)
		}
	})
	return k, nil
}

func (k *Keeper) one(ctx context.Context, m *trigger.Moment, said Said) {
	path, size, err := k.guarded(ctx, m)
	if err != nil {
		k.failed.Add(1)
	} else {
		k.written.Add(1)
	}
	said(m, path, size, err)
}

// guarded is write, of which a panic is an error: what a peer sent must not end
// the program. What it says may hold what a peer wrote, and is not passed on.
func (k *Keeper) guarded(ctx context.Context, m *trigger.Moment) (path string, size int64, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("looking at what passed failed (%T)", cause)
		}
	}()
	return k.w.write(ctx, m)
}

// Add has a moment written, as soon as those before it are, and says whether it
// will be tried. It never waits.
func (k *Keeper) Add(m trigger.Moment) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		k.skipped.Add(1)
		return false
	}
	select {
	case k.moments <- m:
		return true
	default:
		k.skipped.Add(1)
		return false
	}
}

// Stats are those so far.
func (k *Keeper) Stats() Stats {
	return Stats{k.written.Load(), k.failed.Load(), k.skipped.Load()}
}

// Close waits for what was added, but not beyond grace nor impatient; then what is
// being written is given up. What is added later is skipped.
func (k *Keeper) Close(impatient context.Context, grace time.Duration) {
	k.mu.Lock()
	if !k.closed {
		k.closed = true
		close(k.moments)
	}
	k.mu.Unlock()
	late := time.AfterFunc(grace, k.cancel)
	defer late.Stop()
	defer context.AfterFunc(impatient, k.cancel)()
	k.run.Wait()
	k.cancel()
}
