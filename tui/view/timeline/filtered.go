package timeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

// filtered is the rows that a filter takes, found bit by bit.
type filtered struct {
	filter *filter.Filter
	rows   []uint32 // positions in the index, ascending
	to     int      // rows up to here were looked at
	each   bool     // it names entries themselves: none is folded
	marks  uint64   // how often marks had changed when that began

	matcher *index.Matcher // nil: the entries themselves must be read
	busy    bool           // a command is at it
	ctx     context.Context
	cancel  context.CancelFunc
	reading *reading
}

const (
	// slice is how many rows are looked at before what was found is shown.
	slice = 1 << 16
	// batch is how many entries are read for the same reason.
	batch = 1 << 13
)

func newFiltered(scr view.Screen, f *filter.Filter) *filtered {
	_, last := scr.Log().Index.Last()
	f.Begin(scr.Log().Index.First(), last)
	a := &filtered{filter: f, marks: scr.Log().Index.Markings()}
	a.each = slices.ContainsFunc(view.SplitTerms(f.String()), func(t string) bool {
		return strings.HasPrefix(t, "seq:") || strings.HasPrefix(t, "marked:")
	})
	a.ctx, a.cancel = context.WithCancel(scr.Log().Context)
	if index.Answerable(f) {
		a.matcher = index.NewMatcher(f)
	}
	return a
}

func (a *filtered) text() string { return a.filter.String() }

// stop ends the search. What a command is at closes its reader when it is done.
func (a *filtered) stop() {
	a.cancel()
	if !a.busy {
		a.close()
	}
}

func (a *filtered) close() {
	if a.reading != nil {
		_ = a.reading.reader.Close()
		a.reading = nil
	}
}

// scanned is what a command has found.
type scanned struct {
	of   *filtered
	rows []uint32
	seqs []session.Seq
	to   int
	err  error
}

// Advance looks at rows that have come, if nobody does.
func (a *filtered) advance(scr view.Screen, v *View) tea.Cmd {
	n := scr.Log().Index.Len()
	if now := scr.Log().Index.Markings(); !a.busy && a.filter.Needs().Marks && now != a.marks {
		a.again(now)
	}
	if a.busy || a.to >= n || a.ctx.Err() != nil {
		return nil
	}
	a.busy = true
	if a.matcher == nil {
		log := scr.Log()
		return view.Answer(v, func() any { return a.read(log) })
	}
	from, log := a.to, scr.Log()
	return view.Answer(v, func() any {
		to := min(from+slice, n)
		return scanned{of: a, rows: log.Index.Scan(a.matcher, nil, from, to), to: to}
	})
}

// again begins anew, since marks have changed.
func (a *filtered) again(marks uint64) {
	a.close()
	a.rows, a.to, a.marks = nil, 0, marks
}

// took takes what was found, and goes on.
func (a *filtered) took(scr view.Screen, v *View, s scanned) tea.Cmd {
	a.busy = false
	if a.ctx.Err() != nil {
		a.close()
		return nil
	}
	if s.err != nil {
		a.stop()
		scr.Complain(fmt.Errorf("the search ended early: %w", s.err))
	}
	a.rows = append(a.rows, s.rows...)
	for _, seq := range s.seqs {
		if i := scr.Log().Index.Find(seq); i < scr.Log().Index.Len() {
			if r, _ := scr.Log().Index.Row(i); r.Seq == seq {
				a.rows = append(a.rows, uint32(i))
			}
		}
	}
	idle := s.to <= a.to
	a.to = s.to
	v.Settle(scr)
	if idle {
		return nil // the file has less than the index: the next tick looks again
	}
	return a.advance(scr, v)
}

// progress says how far the search has come, "" if it has seen everything.
func (a *filtered) progress(scr view.Screen) string {
	n := scr.Log().Index.Len()
	if a.to >= n || n == 0 || n-a.to < slice/16 && a.busy {
		return ""
	}
	return fmt.Sprintf("searched %d%%", a.to*100/n)
}

// reading is a search that needs what entries say. It has a reader of its own,
// and goes behind the index, never before it.
type reading struct {
	reader    index.Reader
	tracker   *check.Checker
	table     *render.Table
	documents *render.Documents
	row       filter.Row
	at        session.Seq
}

func (a *filtered) read(log *view.Log) (out scanned) {
	out = scanned{of: a, to: a.to}
	if a.reading == nil {
		r, err := log.Open()
		if err != nil {
			out.err = err
			return out
		}
		r.Follow(false)
		q := &reading{reader: r, tracker: check.NewTracker(log.Index.Types()), table: render.NewTable(0, render.Style{}), documents: render.NewDocuments()}
		q.row.Summary = func() string { return q.table.Summary(q.row.Entry, q.row.Change) }
		q.row.Body = func() string { return q.documents.Body(q.row.Entry, q.row.Change) }
		a.reading = q
	}
	q := a.reading
	upTo, _ := log.Index.Last()
	for range batch {
		if q.at >= upTo {
			break
		}
		e, err := q.reader.Next(a.ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			out.err = err
			break
		}
		q.at = e.Seq
		c := q.tracker.Step(&e)
		q.table.See(&e, &c)
		q.documents.See(&e)
		q.row.Entry, q.row.Change, q.row.Node, q.row.Waited = &e, &c, c.Node, c.Waited
		q.row.Findings, q.row.Marked = log.Index.Proofs(e.Seq), log.Index.Marked(e.Seq)
		if a.filter.Takes(&q.row) {
			out.seqs = append(out.seqs, e.Seq)
		}
	}
	out.to = log.Index.Find(q.at + 1)
	return out
}
