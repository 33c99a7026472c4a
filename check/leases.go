package check

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
	// maxTTL bounds a TTL that is watched; nobody waits for a longer one.
	maxTTL = 30 * 24 * time.Hour
)

// lease is a resource that a client drops unless it is prolonged.
type lease struct {
	name  string
	ttl   time.Duration
	until time.Time
	from  *engine.Response
}

// leases are those of one type.
type leases struct {
	byName  map[string]lease
	watched time.Time // when the timer that was set last fires, or zero
}

// set enters or prolongs a lease.
func (l *leases) set(e lease) {
	if _, known := l.byName[e.name]; known || len(l.byName) < maxLeases {
		put(&l.byName, e.name, e)
	}
}

// first is when the next lease ends.
func (l *leases) first() (first time.Time) {
	for _, e := range l.byName {
		if first.IsZero() || e.until.Before(first) {
			first = e.until
		}
	}
	return first
}

// ended takes the leases that are over, in the order in which they ended.
func (l *leases) ended(now time.Time) (out []lease) {
	for name, e := range l.byName {
		if !e.until.After(now) {
			out = append(out, e)
			delete(l.byName, name)
		}
	}
	slices.SortFunc(out, func(a, b lease) int { return cmp.Or(a.until.Compare(b.until), strings.Compare(a.name, b.name)) })
	return out
}
