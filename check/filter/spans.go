package filter

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/session"
)

// Span is a range of sequence numbers, both ends included.
type Span struct{ First, Last session.Seq }

// Has says whether a number is in the range.
func (s Span) Has(n session.Seq) bool { return s.First <= n && n <= s.Last }

// NoLimit is the Last of a range without an end.
const NoLimit = ^session.Seq(0)

// Everything is the spans of all numbers.
func Everything() []Span { return []Span{{1, NoLimit}} }

// Union returns the same numbers as ascending spans that do not touch.
func Union(spans []Span) []Span {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.First, b.First) })
	out := spans[:0]
	for _, s := range spans {
		n := len(out)
		switch {
		case s.Last < s.First:
		case n > 0 && (out[n-1].Last == NoLimit || s.First <= out[n-1].Last+1):
			out[n-1].Last = max(out[n-1].Last, s.Last)
		default:
			out = append(out, s)
		}
	}
	return out
}

// Intersect returns the numbers that are in both; a and b are unions.
func Intersect(a, b []Span) []Span {
	var out []Span
	for len(a) > 0 && len(b) > 0 {
		if s := (Span{max(a[0].First, b[0].First), min(a[0].Last, b[0].Last)}); s.First <= s.Last {
			out = append(out, s)
		}
		if a[0].Last < b[0].Last {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}

// ParseSpan reads a number, or a range such as 4..9, 4.. or ..9.
func ParseSpan(text string) (Span, error) {
	from, to, ranged := strings.Cut(text, "..")
	if !ranged {
		to = from
	}
	s := Span{1, NoLimit}
	for _, end := range []struct {
		text string
		p    *session.Seq
	}{{from, &s.First}, {to, &s.Last}} {
		if end.text == "" && ranged && len(text) > len("..") {
			continue
		}
		n, err := strconv.ParseUint(end.text, 10, 63)
		if err != nil || n == 0 {
			return Span{}, fmt.Errorf("%q is neither a sequence number nor a range such as 4..9", text)
		}
		*end.p = session.Seq(n)
	}
	if s.Last < s.First {
		return Span{}, fmt.Errorf("%q ends before it begins", text)
	}
	return s, nil
}

// seqs is a sequence number or a range of them.
type seqs struct{ of Span }

func parseSeqs(text string) (value, *Error) {
	s, err := ParseSpan(text)
	if err != nil {
		return nil, wrong("%v", err)
	}
	return seqs{s}, nil
}

func (v seqs) takes(r *Row) bool          { return v.of.Has(r.Entry.Seq) }
func (v seqs) over(e *session.Entry) bool { return e.Seq >= v.of.Last }
func (v seqs) span(Find) (Span, error)    { return v.of, nil }
