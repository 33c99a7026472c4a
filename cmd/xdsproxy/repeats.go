package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/fold"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// repeats are the runs of entries that watch sums up in one line each. That line
// is written anew as long as it is the last on a terminal. Elsewhere, and when
// others came between, there is one at 1, 10, 100 and so on, and one at the end.
type repeats struct {
	folder *fold.Folder
	runs   map[*fold.Run]*repeat
}

// repeat is a run of which a line tells.
type repeat struct {
	what string // who says what again
	told uint64 // rounds, by the line that was written last
	at   string // of the newest entry
}

// maxRuns bounds the runs that are remembered to be told of at their end.
const maxRuns = 1 << 14

func newRepeats() *repeats {
	return &repeats{folder: fold.New(), runs: make(map[*fold.Run]*repeat)}
}

// fold prints what there is to print of an entry that only repeats others, and
// says whether it is one.
func (p *printer) fold(e *session.Entry, c *check.Change) (bool, error) {
	if p.repeats == nil {
		return false, nil
	}
	place := p.repeats.folder.Step(e, &c.Change, len(c.Findings) > 0)
	if place.Ended != nil {
		if err := p.finish(place.Ended.Same()); err != nil {
			return false, err
		}
	}
	if place.Under == nil {
		return false, nil
	}
	if !place.Round {
		return true, nil
	}
	run := place.Under.Same()
	r := p.repeats.runs[run]
	if r == nil {
		if len(p.repeats.runs) >= maxRuns {
			if err := p.finishAll(); err != nil {
				return true, err
			}
		}
		r = &repeat{what: render.Safe(c.Client) + " " + render.Safe(c.Type)}
		p.repeats.runs[run] = r
	}
	r.at = render.TimeOfDay(e.Time)
	n := run.Rounds()
	switch {
	case p.last == run:
		// The line above is ours, and takes one row: see Table.Aside.
		return true, p.tell(run, r, "\x1b[1A\x1b[2K")
	case isRound(n):
		return true, p.tell(run, r, "")
	}
	return true, nil
}

// isRound says whether a number is a power of ten.
func isRound(n uint64) bool {
	for n > 0 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}

func (p *printer) tell(run *fold.Run, r *repeat, before string) error {
	r.told = run.Rounds()
	if p.jsonl {
		return p.object(&render.Repeats{Schema: schema, Of: uint64(run.Head()), Rounds: r.told, Last: uint64(run.Last()), Polls: run.Poll()})
	}
	what := "the same again as " + fmt.Sprint(run.Head())
	if run.Poll() {
		what = "polls like " + fmt.Sprint(run.Head()) + ", with nothing new"
	}
	text := fmt.Sprintf("%s %s, until %d at %s", r.what, what, run.Last(), r.at)
	err := p.write(before + p.table.Aside("x"+render.Number(int64(r.told)), text) + "\n")
	if p.rewrites {
		p.last = run
	}
	return err
}

// finish tells of a run that is over what was not told yet.
func (p *printer) finish(run *fold.Run) error {
	r := p.repeats.runs[run]
	delete(p.repeats.runs, run)
	if r == nil || r.told == run.Rounds() {
		return nil
	}
	return p.tell(run, r, "")
}

func (p *printer) finishAll() error {
	if p.repeats == nil {
		return nil
	}
	var all []*fold.Run
	for run := range p.repeats.runs {
		all = append(all, run)
	}
	slices.SortFunc(all, func(a, b *fold.Run) int { return cmp.Compare(a.Head(), b.Head()) })
	for _, run := range all {
		if err := p.finish(run); err != nil {
			return err
		}
	}
	return nil
}
