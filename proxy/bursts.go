package proxy

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// A burst is summed up after firstSum, then after twice as long each time,
	// but at least each lastSum.
	firstSum = time.Second
	lastSum  = time.Minute
	// maxBursts is how many sentences are told apart at once.
	maxBursts = 128
)

// trouble is what makes two things that go wrong the same.
type trouble struct {
	code  session.NoteCode
	where string // the address that it is about
	why   string
}

// bursts keep what may happen thousands of times a second, such as refusing
// clients that come again at once, from flooding the log and the recording. The
// first time is told at once, those that follow as a count.
type bursts struct {
	mu   sync.Mutex
	open map[trouble]*burst
}

// burst is trouble that was told, until nothing of it has come for a while.
type burst struct {
	say  func(more int, since time.Duration)
	told time.Time
	more int           // since then
	wait time.Duration // after told, until it is summed up or forgotten
}

// others is the field of a log line that says how many more of the kind there
// were, if any.
func others(more int) zap.Field {
	if more == 0 {
		return zap.Skip()
	}
	return zap.Int("more", more)
}

// tell calls say with 0 if nothing of the kind was told lately. Else it counts,
// and sum calls the newest say with the count, and with the time in which
// that many came. It returns whether it called say.
func (b *bursts) tell(t trouble, say func(more int, since time.Duration)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == nil {
		b.open = make(map[trouble]*burst)
	}
	if b.open[t] == nil && len(b.open) >= maxBursts {
		t.why = ""
	}
	if known := b.open[t]; known != nil {
		known.say = say
		known.more++
		return false
	}
	b.open[t] = &burst{told: time.Now(), wait: firstSum}
	say(0, 0)
	return true
}

// sum tells the counts of bursts that are due by now.
func (b *bursts) sum(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for t, known := range b.open {
		switch {
		case now.Sub(known.told) < known.wait:
		case known.more == 0:
			delete(b.open, t)
		default:
			known.sum(now)
			known.wait = min(2*known.wait, lastSum)
		}
	}
}

// flush tells all counts.
func (b *bursts) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for t, known := range b.open {
		if known.more > 0 {
			known.sum(time.Now())
		}
		delete(b.open, t)
	}
}

func (u *burst) sum(now time.Time) {
	u.say(u.more, max(now.Sub(u.told).Round(time.Second), time.Second))
	u.more, u.told = 0, now
}
