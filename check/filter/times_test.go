package filter

import (
	"slices"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

// aDay are entries from 23:00 on, one every ten minutes, for a day and a half.
func aDay(first time.Time) []*Row {
	var all []*Row
	for i := range session.Seq(6 * 36) {
		e := &session.Entry{Seq: i + 1, Time: first.Add(time.Duration(i) * 10 * time.Minute)}
		all = append(all, &Row{Entry: e, Change: &check.Change{}})
	}
	return all
}

func findIn(rows []*Row) Find {
	return func(at time.Time) (session.Seq, bool, error) {
		i := slices.IndexFunc(rows, func(r *Row) bool { return !r.Entry.Time.Before(at) })
		if i < 0 {
			return session.Seq(len(rows)) + 1, false, nil
		}
		return rows[i].Entry.Seq, true, nil
	}
}

func TestPlaces(t *testing.T) {
	rows := aDay(time.Date(2026, 3, 9, 23, 0, 0, 0, time.UTC))
	for text, want := range map[string]string{
		"":                       "1-216",
		"seq:4":                  "4",
		"SEQ:4..6":               "4-6",
		"seq:4,6,9..10":          "4 6 9-10",
		"seq:9.. seq:..12":       "9-12",
		"seq:1..9 -seq:3,5..6":   "1-2 4 7-9",
		"-seq:1..200 -seq:210..": "201-209",
		"seq:300..":              "",
		` seq:4	seq:"4"  `:       "4",
		// Entry 1 is at 23:00, 7 at 00:00, 151 at 00:00 of the day after.
		"at:23:00":                                  "1",
		"at:23:00..23:20":                           "1-3",
		"at:23:50..00:10":                           "6-8",
		"at:22:30..23:10":                           "1-2",
		"at:00:00":                                  "7",
		"at:22:00..22:50":                           "139-144",
		"at:22:50":                                  "144",
		"at:..23:10":                                "1-2",
		"at:00:10..":                                "8-216",
		"at:23:05..":                                "2-216",
		"at:2026-03-10":                             "7-150",
		"at:2026-03-10T00:00..2026-03-10T00:10":     "7-8",
		"at:2026-03-10T00:00..00:10":                "7-8",
		"at:2026-03-11T00:00..00:10":                "151-152",
		"at:2026-03-10T02:10:00+02:00":              "8",
		"at:2026-03-10T02:10+02:00..":               "8-216",
		"at:2026-03-09T23:10:00.000Z,00:00":         "2 7",
		"at:23:10:00.5":                             "",
		"at:2026-03-10 -at:2026-03-10T00:10.. ":     "7",
		"at:2026-03-10 seq:150..160":                "150",
		"at:23:00..23:59 -seq:2":                    "1 3-6",
		"at:2027-01-01..":                           "",
		"at:..2026-03-10T00:00:00z seq:6..":         "6-7",
		"at:23:10:00..23:10:01,2026-03-10T00:00:00": "2 7",
		// The end is at 10:50 of the second day.
		"since:-30m":                        "213-216",
		"since:-1h30m seq:..210":            "207-210",
		"since:-400h":                       "1-216",
		"since:0s":                          "216",
		"since:00:10":                       "8-216",
		"since:2026-03-11":                  "151-216",
		"since:2026-03-11T00:00 -seq:160..": "151-159",
		"-since:-30m seq:210..":             "210-212",
		"since:-10m,2026-03-11T10:30":       "214-216",
	} {
		f := parse(t, text)
		f.Begin(rows[0].Entry.Time, rows[len(rows)-1].Entry.Time)
		spans, err := f.Spans(findIn(rows))
		if err != nil {
			t.Fatal(err)
		}
		var got []Span
		over := false
		for _, r := range rows {
			n := r.Entry.Seq
			if f.Takes(r) {
				got = append(got, Span{n, n})
				if over {
					t.Errorf("%q: %d comes after the end", text, n)
				}
				if !slices.ContainsFunc(spans, func(s Span) bool { return s.Has(n) }) {
					t.Errorf("%q: %d is not in %v", text, n, spans)
				}
			}
			over = over || f.Over(r.Entry)
		}
		if got := runs(got); got != want {
			t.Errorf("%q takes %q, not %q", text, got, want)
		}
	}
}

func TestSpans(t *testing.T) {
	a := Union([]Span{{9, 12}, {1, 3}, {4, 5}, {11, 20}, {8, 7}, {30, NoLimit}, {40, 41}})
	if want := []Span{{1, 5}, {9, 20}, {30, NoLimit}}; !slices.Equal(a, want) {
		t.Errorf("union: %v", a)
	}
	if got, want := Intersect(a, []Span{{2, 2}, {5, 9}, {15, 35}}), []Span{{2, 2}, {5, 5}, {9, 9}, {15, 20}, {30, 35}}; !slices.Equal(got, want) {
		t.Errorf("intersection: %v", got)
	}
	if got := Intersect(a, Everything()); !slices.Equal(got, a) {
		t.Errorf("with everything: %v", got)
	}
}
