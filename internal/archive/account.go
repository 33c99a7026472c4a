package archive

import (
	"fmt"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/objects"
)

// Stats are what was uploaded by this process, and what is not yet.
type Stats struct {
	Pending      uint64 // finished segments that wait; one of an earlier run may be there already
	PendingBytes int64
	Oldest       time.Duration // how long the oldest of them waits
	Done         uint64        // that the store has, by this process or found there
	DoneBytes    int64
	Failed       uint64 // that this process cannot upload
	FailedBytes  int64
	Dropped      uint64 // that --keep deleted before they were uploaded
	Errors       uint64 // attempts that failed
	Stalled      bool   // the last attempt failed
}

type counts struct {
	done, dropped, errors uint64
	doneBytes             int64
}

// Stats are as of now. They cost no look at the disk.
func (a *Archive) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := Stats{Done: a.count.done, DoneBytes: a.count.doneBytes, Dropped: a.count.dropped, Errors: a.count.errors, Stalled: !a.outage.begun.IsZero()}
	var oldest time.Time
	add := func(r *recording) {
		for _, p := range r.pieces {
			switch p.state {
			case waiting:
				s.Pending++
				s.PendingBytes += p.size
				if oldest.IsZero() || p.since.Before(oldest) {
					oldest = p.since
				}
			case refused:
				s.Failed++
				s.FailedBytes += p.size
			}
		}
	}
	add(a.current)
	for _, r := range a.earlier {
		add(r)
	}
	if !oldest.IsZero() {
		s.Oldest = max(time.Since(oldest), 0)
	}
	return s
}

func (a *Archive) set(p *piece, s state) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s == dropped && p.state == waiting {
		a.count.dropped++
	}
	p.state = s
}

// refuse says that a piece cannot be uploaded, whatever the store does.
func (a *Archive) refuse(p *piece, text, hint string) {
	a.set(p, refused)
	a.tellOnce("refused "+p.path, text, hint)
}

// arrived says that the store has a piece.
func (a *Archive) arrived(p *piece, size int64) {
	a.mu.Lock()
	p.state, p.size = uploaded, size
	a.count.done++
	a.count.doneBytes += size
	o := a.outage
	a.outage = outage{}
	a.clash.answered = true
	a.mu.Unlock()
	if len(o.causes) > 0 || o.stalled {
		if a.o.Say != nil {
			a.o.Say(fmt.Sprintf("uploads to %s work again, after %s", a.o.URL, time.Since(o.begun).Round(time.Second)))
		}
	}
}

// outage is a time in which nothing can be uploaded. Zero: there is none.
type outage struct {
	begun   time.Time
	causes  []string // that were told
	stalled bool     // that it lasts was told
	dropped bool     // that --keep deletes was told
}

// maxCauses bounds what is told of one outage.
const maxCauses = 5

// failed takes an error of the store. It is told at once where somebody has to do
// something, or nothing has ever worked; and where it lasts. A piece that alone is
// refused is told of once, though others arrive between its attempts.
func (a *Archive) failed(p *piece, err error) {
	a.mu.Lock()
	a.count.errors++
	p.tries++
	o := &a.outage
	if o.begun.IsZero() {
		o.begun = time.Now()
	}
	lasted := time.Since(o.begun)
	cause := fmt.Sprintf("%T %s", err, objects.Hint(err))
	fresh := !objects.Temporary(err) || !a.clash.answered && len(o.causes) == 0
	for _, c := range append([]string{p.cause}, o.causes...) {
		fresh = fresh && c != cause
	}
	p.cause = cause
	if fresh = fresh && len(o.causes) < maxCauses; fresh {
		o.causes = append(o.causes, cause)
	}
	stalled := lasted >= a.o.Stall && !o.stalled
	o.stalled = o.stalled || stalled
	a.mu.Unlock()
	if fresh {
		a.tell(fmt.Sprintf("%v; recording goes on, and the upload is tried again", err), objects.Hint(err))
	}
	if stalled {
		s := a.Stats()
		a.tell(fmt.Sprintf("nothing could be uploaded for %s: %v; %d segments with %d bytes wait on disk, and the upload is tried again",
			lasted.Round(time.Second), err, s.Pending, s.PendingBytes), objects.Hint(err))
	}
}

// maxSkew is how far clocks may be apart without a word.
const maxSkew = 30 * time.Second

// watchClock says once if this machine and the store do not agree what time it is.
func (a *Archive) watchClock() {
	c, is := a.o.Store.(objects.Clock)
	if !is {
		return
	}
	skew, known := c.Skew()
	if !known || skew.Abs() < maxSkew {
		return
	}
	way := "behind"
	if skew < 0 {
		way = "ahead of"
	}
	a.tellOnce("clock", fmt.Sprintf("the clock of this machine is %s %s that of the store: entries have the time of this machine, and the metadata of segments says how far it is off", skew.Abs().Round(time.Second), way),
		"set the clock: stores refuse requests that are more than 15 minutes off")
}
