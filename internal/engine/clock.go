package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// Times of entries come from outside. One that cannot be is a problem of its
// entry, and the time of the account stays what it was. In seconds since 1970:
const (
	year    = 365 * 24 * 3600
	tooLate = 4133980800 // the year 2101
	maxLeap = 10 * year  // between an entry and the one before it
)

// TimeAt is what the time is once e was seen, the entry that comes next: that of
// e, unless it cannot be or is before that of an earlier entry.
func (k *Engine) TimeAt(e *session.Entry) time.Time {
	if e.Time.After(k.Now) && k.doubt(e) == "" {
		return e.Time
	}
	return k.Now
}

// doubt is why the time of an entry cannot be, "" if it can. An entry without a
// time has none that could be wrong. A leap is measured from the entry before,
// not from the time of the account: where a clock was set right after the first
// entries, the time is what all others say.
func (k *Engine) doubt(e *session.Entry) string {
	switch at := e.Time.Unix(); {
	case e.Time.IsZero():
	case at < 0:
		return "its time is before 1970, and is passed over"
	case at >= tooLate:
		return "its time is after 2100, and is passed over"
	case k.before != 0 && at-k.before > maxLeap:
		return fmt.Sprintf("its time is %d years after that of the entry before, and is passed over", (at-k.before)/year)
	case k.before-at > maxLeap:
		return fmt.Sprintf("its time is %d years before that of the entry before, and is passed over", (k.before-at)/year)
	}
	return ""
}

// tell sets the time as an entry tells it, and notes what is wrong with that.
func (k *Engine) tell(e *session.Entry) {
	if why := k.doubt(e); why != "" && !slices.Contains(e.Problems, why) {
		e.Problems = append(slices.Clip(e.Problems), why) // the list may be shared
	}
	if d := k.Leap(e); d > 0 {
		k.leaps = append(k.leaps[max(0, len(k.leaps)-maxLeaps+1):], leap{k.TimeAt(e), d})
	}
	k.Now = k.TimeAt(e)
	if at := e.Time.Unix(); at > 0 && at < tooLate {
		k.before = at
	}
}

// leap is time that did not pass: a clock was set forward, or stood.
type leap struct {
	at time.Time // the time after it
	d  time.Duration
}

// maxLeaps is how many are remembered; what began before an older one counts as
// if that had been no leap.
const maxLeaps = 16

// Leap is how much of the time before e, the entry that comes next, did not
// pass.
func (k *Engine) Leap(e *session.Entry) time.Duration {
	if e.Kind != session.KindNote || e.Note == nil || e.Note.Code != session.NoteClock || k.Now.IsZero() {
		return 0
	}
	return k.TimeAt(e).Sub(k.Now)
}

// Passed is how much time passed from then to now.
func (k *Engine) Passed(then, now time.Time) time.Duration {
	d := now.Sub(then)
	for _, l := range k.leaps {
		if then.Before(l.at) && !now.Before(l.at) {
			d -= l.d
		}
	}
	return max(d, 0)
}
