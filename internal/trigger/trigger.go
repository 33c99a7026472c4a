// Package trigger decides when something has happened that is worth a dump: once
// for what has one cause in a time, and seldom enough that nobody can keep a disk
// busy with it. It opens no file, reads no clock, and judges nothing itself.
package trigger

import (
	"slices"
	"strconv"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/recent"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// mostCauses bounds the causes that are remembered; the least recent of them
	// is forgotten, and may fire before its time is over.
	mostCauses = 1 << 14
	// Most is how many moments there may be in the time in which one cause has
	// one, whatever their causes. Clients can make up causes.
	Most = 20
	// pause is how long nothing is tried after something failed, or less where
	// Most of it is longer than the time in which a cause has one moment.
	pause = 5 * time.Second
)

// Moment is what is worth a dump.
type Moment struct {
	What   string          // the rule that found something, or the filter
	Rule   bool            // it is a rule
	Client string          // "" if it is not known
	Type   string          // "" if it is about none
	Seq    session.Seq     // the entry with which it was known
	At     time.Time       // of that entry
	Seqs   []session.Seq   // what it is about
	Found  []check.Finding // what rules found for the first time; not what is known

	rank   int // of What: the severity and one; 0 of a filter
	causes []string
	fired  time.Time
}

// Trigger looks at entries and what rules found in them.
type Trigger struct {
	conditions []Condition
	every      time.Duration
	fired      recent.Map[string, time.Time] // by cause
	last       []time.Time                   // of the latest moments, Most of them at most
	until      time.Time                     // when something may be tried again
	skipped    uint64
}

// New is a Trigger that gives a cause one moment in so much time.
func New(conditions []Condition, every time.Duration) *Trigger {
	return &Trigger{conditions: conditions, every: every}
}

// Skipped is how many moments were none because there were too many. Those of a
// cause that had one are not counted.
func (t *Trigger) Skipped() uint64 { return t.skipped }

// Step takes the next entry, what was found with it, and the time, which must not
// be one that somebody can set: that of a monotonic clock. What one entry tells of
// one client is one moment, whatever number of rules speak of it.
func (t *Trigger) Step(e *session.Entry, c *check.Change, now time.Time) (out []Moment) {
	fire := func(m Moment) {
		if t.isOver(m.causes, now) {
			return
		}
		i := slices.IndexFunc(out, func(o Moment) bool { return o.Client == m.Client })
		if i < 0 {
			if !t.mayFire(now) {
				return
			}
			m.Seq, m.At, m.fired = e.Seq, e.Time, now
			out = append(out, m)
		} else {
			out[i].join(&m)
		}
		for _, c := range m.causes {
			t.fired.Put(c, now, 1, mostCauses)
		}
	}
	for i := range t.conditions {
		if w := t.conditions[i].Wants; w != nil && w(e, c) && !e.Carried {
			m := Moment{What: t.conditions[i].Text, Client: c.Client, Type: c.Type, Seqs: []session.Seq{e.Seq}}
			m.causes = causesOf(&m, nil)
			fire(m)
		}
	}
	for i := range c.Findings {
		if f := c.Findings[i]; t.takes(&f) {
			m := momentOf(&f, append(slices.Clone(f.Seqs), f.LastSeq))
			m.Found = []check.Finding{f}
			fire(m)
		}
	}
	for _, f := range c.Repeated {
		if t.takes(f) {
			fire(momentOf(f, []session.Seq{f.LastSeq}))
		}
	}
	return out
}

func momentOf(f *check.Finding, seqs []session.Seq) Moment {
	m := Moment{What: f.Rule.ID, Rule: true, Client: f.Client, Type: f.Type, Seqs: seqs, rank: int(f.Severity) + 1}
	m.causes = causesOf(&m, f)
	return m
}

// causesOf are the names of what a moment has been caused by. What several clients
// have in common has one cause.
func causesOf(m *Moment, f *check.Finding) []string {
	causes := []string{m.What + "\x00" + m.Client + "\x00" + m.Type}
	if f != nil && f.Cause != 0 {
		causes = append(causes, m.What+"\x00"+strconv.Itoa(f.Cause))
	}
	return causes
}

// join has one moment be about another, too. It is named after the worse of the
// two.
func (m *Moment) join(o *Moment) {
	if o.rank > m.rank {
		m.What, m.Rule, m.Type, m.rank = o.What, o.Rule, o.Type, o.rank
	}
	m.Seqs, m.Found, m.causes = append(m.Seqs, o.Seqs...), append(m.Found, o.Found...), append(m.causes, o.causes...)
}

func (t *Trigger) takes(f *check.Finding) bool {
	return slices.ContainsFunc(t.conditions, func(c Condition) bool { return c.takes(f) })
}

// isOver says that one of some causes had its moment.
func (t *Trigger) isOver(causes []string, now time.Time) bool {
	return slices.ContainsFunc(causes, func(c string) bool {
		at, is := t.fired.Get(c)
		return is && now.Sub(at) < t.every
	})
}

// mayFire says whether there is room for a moment, and takes it.
func (t *Trigger) mayFire(now time.Time) bool {
	if now.Before(t.until) {
		t.skipped++
		return false
	}
	if len(t.last) == Most {
		if now.Sub(t.last[0]) < t.every {
			t.skipped++
			return false
		}
		t.last = slices.Delete(t.last, 0, 1)
	}
	t.last = append(t.last, now)
	return true
}

// Failed says that a moment has come to nothing. It does not count: its causes have
// another one when they come again, but not before some time is over, since that
// will hardly end better.
func (t *Trigger) Failed(m *Moment, now time.Time) {
	for _, c := range m.causes {
		if at, is := t.fired.Get(c); is && at.Equal(m.fired) {
			t.fired.Put(c, now.Add(-t.every), 1, mostCauses)
		}
	}
	if i := slices.IndexFunc(t.last, m.fired.Equal); i >= 0 {
		t.last = slices.Delete(t.last, i, i+1)
	}
	t.until = now.Add(min(pause, t.every/Most))
}
