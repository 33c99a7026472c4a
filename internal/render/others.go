package render

import (
	"time"

	"github.com/xdsproxy/xdsproxy/check"
)

// Others is for outputs that cannot take back a line: of a cause the first
// finding is told at once, and what other clients have of it is summed up, in
// one line a second at most. Time is that of the entries.
type Others struct {
	told    map[int]time.Time // when each cause was told last
	waiting []check.Finding   // in the order in which they came
	due     time.Time         // no sum before this
}

const (
	othersEvery = time.Second
	// maxToldCauses bounds the causes that are remembered. After that many they
	// are told from the beginning.
	maxToldCauses = 10_000
)

// Keep says whether a finding is not to be told now, but with others.
func (o *Others) Keep(f *check.Finding, at time.Time) bool {
	if f.Cause == 0 {
		return false
	}
	last, is := o.told[f.Cause]
	if !is {
		if o.told == nil || len(o.told) >= maxToldCauses {
			o.told = make(map[int]time.Time)
		}
		o.told[f.Cause] = at
		return false
	}
	if due := last.Add(othersEvery); len(o.waiting) == 0 || due.Before(o.due) {
		o.due = due
	}
	o.waiting = append(o.waiting, *f)
	return true
}

// Due are the sums that it is time for, each a finding of all the clients that
// have joined.
func (o *Others) Due(now time.Time) []check.Finding {
	if len(o.waiting) == 0 || now.Before(o.due) {
		return nil
	}
	var due, later []check.Finding
	for i := range o.waiting {
		f := &o.waiting[i]
		last, is := o.told[f.Cause]
		if next := last.Add(othersEvery); is && now.Before(next) {
			if len(later) == 0 || next.Before(o.due) {
				o.due = next
			}
			later = append(later, *f)
			continue
		}
		due = append(due, *f)
	}
	for i := range due {
		o.told[due[i].Cause] = now
	}
	o.waiting = later
	return check.Fold(due)
}

// Rest are the sums of what is left.
func (o *Others) Rest() []check.Finding {
	rest := o.waiting
	o.waiting = nil
	return check.Fold(rest)
}

// SameOn says of a sum what it is.
func SameOn(f *check.Finding) string {
	return "the same on " + Count(max(len(f.Clients), 1), "more client", "more clients")
}

// SumLine is a sum between the lines of watch, as FindingLine is a finding.
func (t *Table) SumLine(f *check.Finding) string {
	who := f.Client
	if len(f.Clients) > 0 {
		who = SomeOf(f.Clients, 8)
	}
	sum := *f
	sum.Message = SameOn(f) + ", " + who + ": " + f.Message
	return t.FindingLine(&sum)
}
