package input

import (
	"strconv"

	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/session"
)

// Selection is the entries that were asked for, and what has come of them.
type Selection struct {
	Spans []filter.Span
	came  []bool      // of each span: at least one entry of it
	gaps  []gap       // entries that were not recorded
	Seen  filter.Span // all entries read so far
}

// gap are entries that are not there.
type gap struct {
	filter.Span
	chosen bool // they were left out on purpose
}

// Add reads a number, or a range such as 4..9, 4.. or ..9.
func (s *Selection) Add(arg string) error {
	sp, err := filter.ParseSpan(arg)
	if err != nil {
		return console.Misused("%w", err)
	}
	s.Spans, s.came = append(s.Spans, sp), append(s.came, false)
	return nil
}

// Anew is the same selection before anything has come of it.
func (s *Selection) Anew() *Selection {
	return &Selection{Spans: s.Spans, came: make([]bool, len(s.Spans))}
}

// Meet takes the next entry and says whether it was asked for.
func (s *Selection) Meet(e *session.Entry) bool {
	if s.Seen.First == 0 {
		s.Seen.First = e.Seq
	}
	s.Seen.Last = e.Seq
	if e.Gap != nil {
		s.gaps = append(s.gaps, gap{filter.Span{First: e.Gap.First, Last: e.Gap.Last}, e.Gap.Cause.Chosen()})
	}
	asked := false
	for i, sp := range s.Spans {
		if sp.Has(e.Seq) {
			s.came[i], asked = true, true
		}
	}
	return asked
}

// Done says whether nothing more can come: each span is behind us, or lies in
// a gap. A gap is told of after its numbers have gone by.
func (s *Selection) Done() bool {
	for i, sp := range s.Spans {
		if s.Seen.Last < sp.Last || !s.came[i] && s.gapOf(sp) == nil {
			return false
		}
	}
	return true
}

func (s *Selection) gapOf(sp filter.Span) *gap {
	for i, g := range s.gaps {
		if g.Has(sp.First) && g.Has(min(sp.Last, max(sp.First, s.Seen.Last))) {
			return &s.gaps[i]
		}
	}
	return nil
}

// Missing says of what was asked for and did not come why it did not.
func (s *Selection) Missing(name string) error {
	for i, sp := range s.Spans {
		if s.came[i] {
			continue
		}
		what := "entry " + number(sp.First) + " is"
		if sp.First != sp.Last {
			what = "entries from " + number(sp.First) + " on are"
			if sp.Last != filter.NoLimit {
				what = "entries " + number(sp.First) + " to " + number(sp.Last) + " are"
			}
		}
		g := s.gapOf(sp)
		if g != nil && g.chosen {
			return console.Failed("%s not in %q: it is a part of a recording, and entries %d to %d were left out of it", what, name, g.First, g.Last).
				Hint("the recording that it was cut from has them")
		}
		if g != nil {
			return console.Failed("%s not in %q: entries %d to %d were not recorded", what, name, g.First, g.Last).
				Hint("the log could not keep up with the traffic; forwarding was not affected")
		}
		if s.Seen.Last == 0 {
			return console.Failed("%s not in %q: it holds none", what, name)
		}
		return console.Failed("%s not in %q: it holds %d to %d", what, name, s.Seen.First, s.Seen.Last).
			Hint("xdsproxy watch %s lists them", console.ShellWord(name))
	}
	return nil
}

func number(n session.Seq) string { return strconv.FormatUint(uint64(n), 10) }
