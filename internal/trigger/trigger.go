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
)

// Moment is what is worth a dump.
type Moment struct {
	What   string         // the rule that found something, or the filter
	Rule   bool           // it is a rule
	Client string         // "" if it is not known
	Type   string         // "" if it is about none
	Seq    session.Seq    // the entry with which it was known
	At     time.Time      // of that entry
	Seqs   []session.Seq  // what it is about
	Found  *check.Finding // what a rule found for the first time; nil for what is known
}

// Trigger looks at entries and what rules found in them.
type Trigger struct {
	conditions []Condition
	every      time.Duration
	fired      recent.Map[string, time.Time] // by cause
	last       []time.Time                   // of the latest moments, Most of them at most
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
// be one that somebody can set: that of a monotonic clock.
func (t *Trigger) Step(e *session.Entry, c *check.Change, now time.Time) (out []Moment) {
	fire := func(m Moment, f *check.Finding) {
		if t.fires(&m, f, now) {
			m.Seq, m.At = e.Seq, e.Time
			out = append(out, m)
		}
	}
	for i := range t.conditions {
		if w := t.conditions[i].Wants; w != nil && w(e, c) && !e.Carried {
			fire(Moment{What: t.conditions[i].Text, Client: c.Client, Type: c.Type, Seqs: []session.Seq{e.Seq}}, nil)
		}
	}
	for i := range c.Findings {
		if f := c.Findings[i]; t.takes(&f) {
			fire(Moment{What: f.Rule.ID, Rule: true, Client: f.Client, Type: f.Type, Seqs: append(slices.Clone(f.Seqs), f.LastSeq), Found: &f}, &f)
		}
	}
	for _, f := range c.Repeated {
		if t.takes(f) {
			fire(Moment{What: f.Rule.ID, Rule: true, Client: f.Client, Type: f.Type, Seqs: []session.Seq{f.LastSeq}}, f)
		}
	}
	return out
}

func (t *Trigger) takes(f *check.Finding) bool {
	return slices.ContainsFunc(t.conditions, func(c Condition) bool { return c.takes(f) })
}

// fires says whether it is time for a moment, and remembers it. What several
// clients have in common has one cause.
func (t *Trigger) fires(m *Moment, f *check.Finding, now time.Time) bool {
	causes := []string{m.What + "\x00" + m.Client + "\x00" + m.Type}
	if f != nil && f.Cause != 0 {
		causes = append(causes, m.What+"\x00"+strconv.Itoa(f.Cause))
	}
	over := true
	for _, c := range causes {
		if at, is := t.fired.Get(c); is && now.Sub(at) < t.every {
			over = false
		}
	}
	if !over {
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
	for _, c := range causes {
		t.fired.Put(c, now, 1, mostCauses)
	}
	return true
}
