package timer

import (
	"sort"
	"time"
)

// Ticks tells when about something with a stamp was, oldest first. Stamps grow.
// The zero one knows of nothing.
type Ticks struct{ list []tick }

// tick is the first stamp since some time.
type tick struct {
	stamp uint64
	at    time.Time
}

const (
	tickLength = 20 * time.Millisecond
	maxTicks   = 1 << 13
)

// Note notes the time of a stamp; what is older than keep is forgotten.
func (t *Ticks) Note(stamp uint64, now time.Time, keep time.Duration) {
	if n := len(t.list); n > 0 && now.Sub(t.list[n-1].at) < tickLength {
		return
	}
	old := 0
	for old < len(t.list) && (len(t.list)-old >= maxTicks || now.Sub(t.list[old].at) > keep) {
		old++
	}
	t.list = append(t.list[old:], tick{stamp, now})
}

// At returns when about the time of a stamp was, never later than it was; zero if
// it was too long ago.
func (t *Ticks) At(stamp uint64) time.Time {
	i := sort.Search(len(t.list), func(i int) bool { return t.list[i].stamp > stamp })
	if i == 0 {
		return time.Time{}
	}
	return t.list[i-1].at
}
