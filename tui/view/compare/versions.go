package compare

import (
	"context"
	"errors"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

// past is the versions of a resource that a client was sent, and the two of them
// that are compared.
type past struct {
	of       history.Selection
	versions []history.Version
	step     history.Step
	gone     int // older ones that are not kept
	beyond   int // pushes to clients that are not followed
}

func (p *past) Where() string {
	s := fmt.Sprintf("%d of %s", p.step.To+1, render.Count(len(p.versions), "version", "versions"))
	if p.gone > 0 {
		s += fmt.Sprintf(", %s forgotten", render.Number(p.gone))
	}
	if p.beyond > 0 {
		s += ", " + render.Count(p.beyond, "push", "pushes") + " to others left out"
	}
	return s
}

// at chooses the version that came with an entry, or the last one. One that was
// rejected is held against what the client went on with.
func (p *past) at(seq session.Seq) {
	for i := range p.versions {
		if v := &p.versions[i]; v.Seq <= seq && seq <= v.Last {
			if step, ok := history.LastStep(p.versions[:i+1]); ok && step.To == i {
				p.step = step
				return
			}
			p.step = history.Step{From: i - 1, To: i}
			return
		}
	}
	if step, ok := history.LastStep(p.versions); ok {
		p.step = step
		return
	}
	p.step = history.Step{From: len(p.versions) - 2, To: len(p.versions) - 1}
}

// historyRun reads a whole log for the versions of a resource, with a reader of
// its own. It is used by one command at a time.
type historyRun struct {
	ctx     context.Context
	open    func() (index.Reader, error)
	of      history.Selection
	near    session.Seq // the version to begin at; 0: the last one
	reader  index.Reader
	tracker *check.Checker
	history *history.History
	at      session.Seq
	end     session.Seq
}

// historyStep is what a slice of such a run gave.
type historyStep struct {
	run  *historyRun
	done bool
	err  error
}

// historySlice is how many entries are read before progress is shown.
const historySlice = 1 << 13

// History collects the versions of a resource.
func (v *View) history(scr view.Screen, of history.Selection, near session.Seq) tea.Cmd {
	v.cancel()
	ctx, stop := context.WithCancel(scr.Log().Context)
	end, _ := scr.Log().Index.Last()
	types := scr.Log().Index.Types()
	run := &historyRun{
		ctx: ctx, open: scr.Log().Open, of: of, near: near, tracker: check.NewTracker(types), history: history.New(of, types), end: end,
	}
	v.busy, v.stop, v.run = "reading its versions", stop, run
	return view.Answer(v, func() any { return run.read() })
}

// read reads a slice, and closes the reader when it was the last one.
func (r *historyRun) read() (out historyStep) {
	out = historyStep{run: r}
	defer func() {
		if out.done = out.done || out.err != nil; out.done && r.reader != nil {
			_ = r.reader.Close()
		}
	}()
	if r.reader == nil {
		if r.reader, out.err = r.open(); out.err != nil {
			r.reader = nil
			return out
		}
		r.reader.Follow(false)
		r.reader.Pieces()
	}
	for range historySlice {
		e, err := r.reader.Next(r.ctx)
		switch {
		case errors.Is(err, io.EOF):
			out.done = true
			return out
		case err != nil:
			out.err = err
			return out
		}
		r.at = e.Seq
		c := r.tracker.Step(&e)
		r.history.Step(&e, &c.Change)
	}
	return out
}

// historyTook goes on, or shows the versions.
func (v *View) historyTook(scr view.Screen, s historyStep) tea.Cmd {
	if s.run != v.run || s.run.ctx.Err() != nil || !scr.IsOpen(v) {
		if !s.done {
			return func() tea.Msg { _ = s.run.reader.Close(); return nil }
		}
		return nil
	}
	if !s.done {
		v.busy = "reading its versions"
		if s.run.end > 0 {
			v.busy += fmt.Sprintf(", %d%%", min(uint64(s.run.at)*100/uint64(s.run.end), 100))
		}
		return view.Answer(v, func() any { return s.run.read() })
	}
	v.cancel()
	if s.err != nil {
		scr.Complain(fmt.Errorf("cannot read its versions: %w", s.err))
		if len(v.items) == 0 {
			scr.Pop(v)
		}
		return nil
	}
	p := &past{of: s.run.of, versions: s.run.history.Versions(), gone: s.run.history.Forgotten(), beyond: s.run.history.Beyond()}
	if len(p.versions) == 0 {
		scr.Say("no version of it was seen")
		if len(v.items) == 0 {
			scr.Pop(v)
		}
		return nil
	}
	p.at(s.run.near)
	by := v.by
	v.past, v.by = p, 0
	if by != 0 && !v.fits(by) {
		v.tellEnd(scr, by)
	} else {
		p.shift(by)
	}
	return v.showStep(scr)
}

func (p *past) shift(by int) {
	if by != 0 {
		p.step.To += by
		p.step.From = p.step.To - 1
	}
}

func (v *View) fits(by int) bool {
	to := v.past.step.To + by
	return to >= 0 && to < len(v.past.versions)
}

func (v *View) tellEnd(scr view.Screen, by int) {
	word := "oldest"
	if by > 0 {
		word = "newest"
	}
	scr.Say("this is the %s version that was seen", word)
}

// walk goes to another version of the resource that the cursor is in.
func (v *View) walk(scr view.Screen, by int) tea.Cmd {
	c := v.item()
	switch {
	case v.busy != "":
		scr.Say("it is still being read; esc stops")
		return nil
	case v.past != nil && !v.fits(by):
		v.tellEnd(scr, by)
		return nil
	case v.past != nil:
		v.past.shift(by)
		return v.showStep(scr)
	case c == nil || c.Name == "":
		scr.Say("these are messages; only resources have versions to walk")
		return nil
	}
	v.by = by
	return v.history(scr, history.Selection{Client: v.client(scr, c), Type: v.typ, Name: c.Name}, max(c.New.Seq, c.Old.Seq))
}

// client is whom the resource was sent to.
func (v *View) client(scr view.Screen, c *index.Compared) string {
	if r, ok := scr.Log().Index.BySeq(max(c.New.Seq, c.Old.Seq)); ok {
		return scr.Log().Index.Client(&r)
	}
	return v.of.Client
}

// showStep compares the two versions that were chosen.
func (v *View) showStep(scr view.Screen) tea.Cmd {
	p := v.past
	var old session.Seq
	if p.step.From >= 0 {
		old = p.versions[p.step.From].Seq
	}
	to := &p.versions[p.step.To]
	v.typ = to.Type
	seq := to.Seq
	log, of, name := scr.Log(), p.step.To, p.of.Name
	return v.compute(scr, "comparing", func(ctx context.Context) compareReady {
		out := compareReady{of: of}
		out.one(log.Fetch.Resources(ctx, name, old, seq))
		return out
	})
}
