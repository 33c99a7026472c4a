package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// selection is the entries that were asked for, and what has come of them.
type selection struct {
	spans []span
	came  []bool // of each span: at least one entry of it
	gaps  []span // entries that were not recorded
	seen  span   // all entries read so far
}

// add reads a number, or a range such as 4..9, 4.. or ..9.
func (s *selection) add(arg string) error {
	sp, err := parseSpan(arg)
	if err != nil {
		return misused("%w", err)
	}
	s.spans, s.came = append(s.spans, sp), append(s.came, false)
	return nil
}

// parseSpan reads what selection.add reads.
func parseSpan(text string) (span, error) {
	wrong := fmt.Errorf("%q is neither a sequence number nor a range such as 4..9", text)
	from, to, ranged := strings.Cut(text, "..")
	if !ranged {
		to = from
	}
	sp := span{1, noLimit}
	for _, end := range []struct {
		text string
		p    *session.Seq
	}{{from, &sp.first}, {to, &sp.last}} {
		if end.text == "" && ranged && len(text) > len("..") {
			continue
		}
		n, err := strconv.ParseUint(end.text, 10, 63)
		if err != nil || n == 0 {
			return span{}, wrong
		}
		*end.p = session.Seq(n)
	}
	if sp.last < sp.first {
		return span{}, fmt.Errorf("%q ends before it begins", text)
	}
	return sp, nil
}

// meet takes the next entry and says whether it was asked for.
func (s *selection) meet(e *session.Entry) bool {
	if s.seen.first == 0 {
		s.seen.first = e.Seq
	}
	s.seen.last = e.Seq
	if e.Gap != nil {
		s.gaps = append(s.gaps, span{e.Gap.First, e.Gap.Last})
	}
	asked := false
	for i, sp := range s.spans {
		if sp.has(e.Seq) {
			s.came[i], asked = true, true
		}
	}
	return asked
}

// done says whether nothing more can come: each span is behind us, or lies in
// a gap. A gap is told of after its numbers have gone by.
func (s *selection) done() bool {
	for i, sp := range s.spans {
		if s.seen.last < sp.last || !s.came[i] && s.gapOf(sp) == nil {
			return false
		}
	}
	return true
}

func (s *selection) gapOf(sp span) *span {
	for i, g := range s.gaps {
		if g.has(sp.first) && g.has(min(sp.last, max(sp.first, s.seen.last))) {
			return &s.gaps[i]
		}
	}
	return nil
}

// missing says of what was asked for and did not come why it did not.
func (s *selection) missing(name string) error {
	for i, sp := range s.spans {
		if s.came[i] {
			continue
		}
		what := "entry " + number(sp.first) + " is"
		if sp.first != sp.last {
			what = "entries from " + number(sp.first) + " on are"
			if sp.last != noLimit {
				what = "entries " + number(sp.first) + " to " + number(sp.last) + " are"
			}
		}
		if g := s.gapOf(sp); g != nil {
			return failed("%s not in %q: entries %d to %d were not recorded", what, name, g.first, g.last).
				hint("the log could not keep up with the traffic; forwarding was not affected")
		}
		if s.seen.last == 0 {
			return failed("%s not in %q: it holds none", what, name)
		}
		return failed("%s not in %q: it holds %d to %d", what, name, s.seen.first, s.seen.last).
			hint("xdsproxy watch %s lists them", shellWord(name))
	}
	return nil
}

func number(n session.Seq) string { return strconv.FormatUint(uint64(n), 10) }
