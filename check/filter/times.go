package filter

import (
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// times is a range of times. Either end may be open.
type times struct {
	from, to *instant
	// start is the first time in it, end the first one after it; zero if
	// open. They are known after begin.
	start, end time.Time
}

// instant is a time as someone wrote it, in UTC unless it says otherwise. It is
// as long as what it names: 12:43 is a minute, 12:43:10.5 a tenth of a second.
type instant struct {
	daily bool          // a time of day
	at    time.Time     // if not daily
	since time.Duration // midnight, if daily
	unit  time.Duration
}

const day = 24 * time.Hour

func parseTimes(text string) (value, *Error) {
	from, to, ranged := strings.Cut(text, "..")
	if !ranged {
		to = from
	}
	v := &times{}
	for _, end := range []struct {
		text string
		p    **instant
	}{{from, &v.from}, {to, &v.to}} {
		if end.text == "" && ranged && len(text) > len("..") {
			continue
		}
		i, ok := parseInstant(end.text)
		if !ok {
			return nil, wrong("%q is neither a time such as 12:41, 12:41:07.5 or 2026-03-09T12:41:07Z, nor a range such as 12:41..12:43", text)
		}
		*end.p = &i
	}
	if v.from != nil && v.to != nil && !v.from.daily && !v.to.daily && v.to.at.Before(v.from.at) {
		return nil, wrong("%q ends before it begins", text)
	}
	return v, nil
}

// timeForms are the ways to write an instant. A fraction of a second may follow
// the seconds in each.
var timeForms = []struct {
	layout string
	daily  bool
	unit   time.Duration
}{
	{"15:04", true, time.Minute},
	{"15:04:05", true, time.Second},
	{"2006-01-02", false, day},
	{"2006-01-02T15:04", false, time.Minute},
	{"2006-01-02T15:04:05", false, time.Second},
	{"2006-01-02T15:04Z07:00", false, time.Minute},
	{"2006-01-02T15:04:05Z07:00", false, time.Second},
}

func parseInstant(text string) (i instant, ok bool) {
	text = strings.ToUpper(text)
	for _, f := range timeForms {
		t, err := time.Parse(f.layout, text)
		if err != nil {
			continue
		}
		i := instant{daily: f.daily, at: t.UTC(), unit: f.unit}
		if _, fraction, ok := strings.Cut(text, "."); ok {
			for ; fraction != "" && '0' <= fraction[0] && fraction[0] <= '9' && i.unit > 1; fraction = fraction[1:] {
				i.unit /= 10
			}
		}
		if f.daily {
			i.since = t.Sub(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC))
		}
		return i, true
	}
	return instant{}, false
}

// on is the instant, on the given day if it is a time of day.
func (i *instant) on(midnight time.Time) time.Time {
	if i.daily {
		return midnight.Add(i.since)
	}
	return i.at
}

// begin fixes times of day: a range is the first one that is not over when the
// recording begins, and an end alone is the first after that.
func (v *times) begin(first, _ time.Time) {
	v.start, v.end = time.Time{}, time.Time{}
	if v.from != nil && !v.from.daily {
		first = v.from.at // a time of day without a date follows it
	}
	midnight := first.UTC().Truncate(day)
	if v.to != nil {
		v.end = after(v.to, midnight, first)
	}
	switch {
	case v.from == nil:
	case v.to == nil || !v.from.daily:
		v.start = after(v.from, midnight, first).Add(-v.from.unit)
	default:
		v.start = v.from.on(v.end.Add(-1).Truncate(day))
		if !v.start.Before(v.end) {
			v.start = v.start.Add(-day)
		}
	}
}

// after is the first end of an instant after t, which is in the day that begins
// at midnight.
func after(i *instant, midnight, t time.Time) time.Time {
	end := i.on(midnight).Add(i.unit)
	if i.daily && !end.After(t) {
		end = end.Add(day)
	}
	return end
}

func (v *times) takes(r *Row) bool {
	return (v.from == nil || !r.Entry.Time.Before(v.start)) && (v.to == nil || r.Entry.Time.Before(v.end))
}

func (v *times) over(e *session.Entry) bool { return v.to != nil && !e.Time.Before(v.end) }

func (v *times) span(find Find) (Span, error) {
	s := Span{1, NoLimit}
	var err error
	if v.from != nil {
		if s.First, _, err = find(v.start); err != nil {
			return s, err
		}
	}
	if v.to != nil {
		next, there, err := find(v.end)
		if err != nil {
			return s, err
		}
		if there {
			s.Last = next - 1
		}
	}
	return s, nil
}

// last is the last part of a recording.
type last struct {
	of    time.Duration
	start time.Time // known after begin
}

// parseSince reads how far before the end something begins, or when.
func parseSince(text string) (value, *Error) {
	back, signed := strings.TrimPrefix(text, "-"), strings.HasPrefix(text, "+")
	if d, err := time.ParseDuration(back); err == nil && d >= 0 && !signed {
		return &last{of: d}, nil
	}
	i, ok := parseInstant(text)
	if !ok {
		return nil, wrong("%q is neither how far back, such as -5m, nor a time such as 12:41 or 2026-03-09T12:41:07Z", text)
	}
	return &times{from: &i}, nil
}

func (v *last) begin(_, end time.Time)   { v.start = end.Add(-v.of) }
func (v *last) takes(r *Row) bool        { return !r.Entry.Time.Before(v.start) }
func (v *last) over(*session.Entry) bool { return false }
func (v *last) span(find Find) (Span, error) {
	first, _, err := find(v.start)
	return Span{first, NoLimit}, err
}
