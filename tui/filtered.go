package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
)

// filtered is the rows that a filter takes, found bit by bit.
type filtered struct {
	filter *filter.Filter
	rows   []uint32 // positions in the index, ascending
	to     int      // rows up to here were looked at
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

func newFiltered(m *Model, f *filter.Filter) *filtered {
	_, last := m.log.Index.Last()
	f.Begin(m.log.Index.First(), last)
	a := &filtered{filter: f, marks: m.log.Index.Markings()}
	a.ctx, a.cancel = context.WithCancel(m.log.Context)
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

// advance looks at rows that have come, if nobody does.
func (a *filtered) advance(m *Model, v *timeline) tea.Cmd {
	n := m.log.Index.Len()
	if now := m.log.Index.Markings(); !a.busy && a.filter.Needs().Marks && now != a.marks {
		a.again(now)
	}
	if a.busy || a.to >= n || a.ctx.Err() != nil {
		return nil
	}
	a.busy = true
	if a.matcher == nil {
		return answer(v, func() any { return a.read(m) })
	}
	from := a.to
	return answer(v, func() any {
		to := min(from+slice, n)
		return scanned{of: a, rows: m.log.Index.Scan(a.matcher, nil, from, to), to: to}
	})
}

// again begins anew, since marks have changed.
func (a *filtered) again(marks uint64) {
	a.close()
	a.rows, a.to, a.marks = nil, 0, marks
}

// took takes what was found, and goes on.
func (a *filtered) took(m *Model, v *timeline, s scanned) tea.Cmd {
	a.busy = false
	if a.ctx.Err() != nil {
		a.close()
		return nil
	}
	if s.err != nil {
		a.stop()
		m.complain(fmt.Errorf("the search ended early: %w", s.err))
	}
	a.rows = append(a.rows, s.rows...)
	for _, seq := range s.seqs {
		if i := m.log.Index.Find(seq); i < m.log.Index.Len() {
			if r, _ := m.log.Index.Row(i); r.Seq == seq {
				a.rows = append(a.rows, uint32(i))
			}
		}
	}
	idle := s.to <= a.to
	a.to = s.to
	v.settle(m)
	if idle {
		return nil // the file has less than the index: the next tick looks again
	}
	return a.advance(m, v)
}

// progress says how far the search has come, "" if it has seen everything.
func (a *filtered) progress(m *Model) string {
	n := m.log.Index.Len()
	if a.to >= n || n == 0 || n-a.to < slice/16 && a.busy {
		return ""
	}
	return fmt.Sprintf("searched %d%%", a.to*100/n)
}

// reading is a search that needs what entries say. It has a reader of its own,
// and goes behind the index, never before it.
type reading struct {
	reader    Reader
	tracker   *check.Checker
	table     *render.Table
	documents *render.Documents
	row       filter.Row
	at        session.Seq
}

func (a *filtered) read(m *Model) (out scanned) {
	out = scanned{of: a, to: a.to}
	if a.reading == nil {
		r, err := m.log.Source.Open()
		if err != nil {
			out.err = err
			return out
		}
		r.Follow(false)
		q := &reading{reader: r, tracker: check.NewTracker(), table: render.NewTable(0, render.Style{}), documents: render.NewDocuments()}
		q.row.Summary = func() string { return q.table.Summary(q.row.Entry, q.row.Change) }
		q.row.Body = func() string { return q.documents.Body(q.row.Entry, q.row.Change) }
		a.reading = q
	}
	q := a.reading
	upTo, _ := m.log.Index.Last()
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
		q.row.Findings, q.row.Marked = m.log.Index.Proofs(e.Seq), m.log.Index.Marked(e.Seq)
		if a.filter.Takes(&q.row) {
			out.seqs = append(out.seqs, e.Seq)
		}
	}
	out.to = m.log.Index.Find(q.at + 1)
	return out
}

// splitTerms are the terms of a filter, as far as that matters to tell whether
// one is there.
func splitTerms(text string) []string { return strings.Fields(text) }

func join(text, term string) string { return strings.TrimSpace(text + " " + term) }
