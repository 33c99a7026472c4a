package timer

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
)

const (
	// maxLeases bounds the resources of a type on a stream whose TTL is
	// watched.
	maxLeases = 1 << 12
	// MaxTTL bounds a TTL that is watched; nobody waits for a longer one.
	MaxTTL = 30 * 24 * time.Hour
)

// Lease is a resource that a client drops unless it is prolonged.
type Lease struct {
	Name  string
	TTL   time.Duration
	Until time.Time
	From  *engine.Response
}

// Leases are those of one type.
type Leases struct {
	ByName  map[string]Lease
	Watched time.Time // when the timer that was set last fires, or zero
}

// Set enters or prolongs a lease.
func (l *Leases) Set(e Lease) {
	if _, known := l.ByName[e.Name]; known || len(l.ByName) < maxLeases {
		if l.ByName == nil {
			l.ByName = make(map[string]Lease)
		}
		l.ByName[e.Name] = e
	}
}

// First is when the next lease ends.
func (l *Leases) First() (first time.Time) {
	for _, e := range l.ByName {
		if first.IsZero() || e.Until.Before(first) {
			first = e.Until
		}
	}
	return first
}

// Ended takes the leases that are over, in the order in which they ended.
func (l *Leases) Ended(now time.Time) (out []Lease) {
	for name, e := range l.ByName {
		if !e.Until.After(now) {
			out = append(out, e)
			delete(l.ByName, name)
		}
	}
	slices.SortFunc(out, func(a, b Lease) int { return cmp.Or(a.Until.Compare(b.Until), strings.Compare(a.Name, b.Name)) })
	return out
}
