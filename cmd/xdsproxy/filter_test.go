package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// aDay are entries from 23:00 on, one every ten minutes, for a day and a half.
func aDay(first time.Time) []session.Entry {
	var all []session.Entry
	for i := range session.Seq(6 * 36) {
		all = append(all, session.Entry{Seq: i + 1, Time: first.Add(time.Duration(i) * 10 * time.Minute)})
	}
	return all
}

func TestFilter(t *testing.T) {
	entries := aDay(time.Date(2026, 3, 9, 23, 0, 0, 0, time.UTC))
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
	} {
		f, err := parseFilter(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		f.begin(entries[0].Time)
		spans, err := f.spans(func(at time.Time) (session.Seq, bool, error) {
			i := slices.IndexFunc(entries, func(e session.Entry) bool { return !e.Time.Before(at) })
			if i < 0 {
				return session.Seq(len(entries)) + 1, false, nil
			}
			return entries[i].Seq, true, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []session.Seq
		over := false
		for i := range entries {
			e := &entries[i]
			if f.takes(e) {
				got = append(got, e.Seq)
				if over {
					t.Errorf("%q: %d comes after the end", text, e.Seq)
				}
				if !slices.ContainsFunc(spans, func(s span) bool { return s.has(e.Seq) }) {
					t.Errorf("%q: %d is not in %v", text, e.Seq, spans)
				}
			}
			over = over || f.over(e)
		}
		if got := runs(got); got != want {
			t.Errorf("%q takes %q, not %q", text, got, want)
		}
	}
}

// runs writes ascending numbers as "1-3 7".
func runs(seqs []session.Seq) string {
	var spans []span
	for _, n := range seqs {
		spans = append(spans, span{n, n})
	}
	var words []string
	for _, s := range union(spans) {
		word := number(s.first)
		if s.last > s.first {
			word += "-" + number(s.last)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestFilterErrors(t *testing.T) {
	for text, want := range map[string]string{
		"type:eds":                        `unknown key "type" at column 1`,
		"seq:1 -kind:ack":                 `unknown key "kind" at column 7`,
		"web":                             `"web" is not KEY:VALUE at column 1`,
		"seq:1 or seq:2":                  `unexpected "or" at column 7`,
		"(seq:1":                          `unknown key "(seq" at column 1`,
		"seq:1 || seq:2":                  `unexpected "||" at column 7`,
		"seq:":                            `"" is neither a sequence number`,
		"seq:1,":                          `"" is neither a sequence number`,
		"seq:9..4":                        `"9..4" ends before it begins at column 1`,
		"seq:x":                           `"x" is neither a sequence number nor a range such as 4..9 at column 1`,
		"at:noon":                         `"noon" is neither a time`,
		"at:":                             `"" is neither a time`,
		"at:..":                           `".." is neither a time`,
		"at:25:00":                        `"25:00" is neither a time`,
		`seq:"1`:                          "a quote that does not end at column 1",
		"at:2026-03-10..2026":             `is neither a time`,
		"at:2026-03-10..2026-03-09T01:00": "ends before it begins",
	} {
		_, err := parseFilter(text)
		var f *failure
		if !errors.As(err, &f) || f.code != exitUsage || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), fmt.Sprintf("filter %q: ", text)) {
			t.Errorf("%q: %v", text, err)
		}
		if strings.Contains(want, "unknown key") && (len(f.hints) == 0 || f.hints[0] != "the keys are seq and at") {
			t.Errorf("%q: hints %q", text, f.hints)
		}
	}
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{"seq:1..9 -seq:4", "at:12:41..12:43", `at:"2026-03-10T00:00:00.5Z",12:41 seq:4`, "-:,", `"a b":c`} {
		f.Add(s)
	}
	entries := aDay(time.Date(2026, 3, 9, 23, 0, 0, 0, time.UTC))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseFilter(text)
		if err != nil {
			var f *failure
			if !errors.As(err, &f) || f.code != exitUsage {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		p.begin(entries[0].Time)
		over := false
		for i := range entries {
			if over && p.takes(&entries[i]) {
				t.Fatalf("%q takes entry %d after its end", text, i+1)
			}
			over = over || p.over(&entries[i])
		}
	})
}

func TestSpans(t *testing.T) {
	a := union([]span{{9, 12}, {1, 3}, {4, 5}, {11, 20}, {8, 7}, {30, noLimit}, {40, 41}})
	if want := []span{{1, 5}, {9, 20}, {30, noLimit}}; !slices.Equal(a, want) {
		t.Errorf("union: %v", a)
	}
	if got, want := intersect(a, []span{{2, 2}, {5, 9}, {15, 35}}), []span{{2, 2}, {5, 5}, {9, 9}, {15, 20}, {30, 35}}; !slices.Equal(got, want) {
		t.Errorf("intersection: %v", got)
	}
	if got := intersect(a, everything()); !slices.Equal(got, a) {
		t.Errorf("with everything: %v", got)
	}
}
