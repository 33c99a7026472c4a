package main

import (
	"cmp"
	"slices"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// span is a range of sequence numbers, both ends included.
type span struct{ first, last session.Seq }

func (s span) has(n session.Seq) bool { return s.first <= n && n <= s.last }

const noLimit = ^session.Seq(0)

// everything is the spans of all numbers.
func everything() []span { return []span{{1, noLimit}} }

// union returns the same numbers as ascending spans that do not touch.
func union(spans []span) []span {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	out := spans[:0]
	for _, s := range spans {
		n := len(out)
		switch {
		case s.last < s.first:
		case n > 0 && (out[n-1].last == noLimit || s.first <= out[n-1].last+1):
			out[n-1].last = max(out[n-1].last, s.last)
		default:
			out = append(out, s)
		}
	}
	return out
}

// intersect returns the numbers that are in both; a and b are unions.
func intersect(a, b []span) []span {
	var out []span
	for len(a) > 0 && len(b) > 0 {
		if s := (span{max(a[0].first, b[0].first), min(a[0].last, b[0].last)}); s.first <= s.last {
			out = append(out, s)
		}
		if a[0].last < b[0].last {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}
