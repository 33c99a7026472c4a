package input

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Visit takes one entry and what it means.
type Visit func(e *session.Entry, c *check.Change) error

// Stepper says what entries mean, in order: a check.Tracker, or a check.Checker
// that holds them against the rules as well.
type Stepper interface {
	Step(e *session.Entry) check.Change
}

// ErrEnough ends a walk without an error.
var ErrEnough = errors.New("enough was read")

const (
	// leadIn is how many entries before the wanted ones are read, for what
	// they answer.
	leadIn = 64
	// maxUnlabelled bounds the blocks that are read because they have too
	// many labels to tell whether something begins in them.
	maxUnlabelled = 256
)

// Each reads a source to its end, through a checker.
func Each(ctx context.Context, src *Source, checker Stepper, v Visit) error {
	var (
		e   session.Entry
		c   check.Change
		err error
	)
	src.Ahead()
	for {
		if e, err = src.Next(ctx); errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return Unreadable(err)
		}
		c = checker.Step(&e)
		err := v(&e, &c)
		e, c = session.Entry{}, check.Change{} // who waits for the next one holds nothing large
		if err != nil {
			if errors.Is(err, ErrEnough) {
				return nil
			}
			return err
		}
	}
}

// Walk reads the entries of a source that are in spans, which are a union, in
// order. v is given others, too: the first entry, those that begin streams, and
// some before each span. If want is not nil, blocks for which it is false may
// be left out.
func Walk(ctx context.Context, src *Source, spans []filter.Span, want func(*recorder.Block) bool, step Stepper, v Visit) error {
	w := &walker{src: src, tracker: step, want: want, visit: v}
	err := w.walk(ctx, spans)
	src.Want(nil)
	if errors.Is(err, io.EOF) || errors.Is(err, ErrEnough) {
		return nil
	}
	return err
}

type walker struct {
	src     *Source
	tracker Stepper
	want    func(*recorder.Block) bool
	visit   Visit
	at      session.Seq // of the entry that was visited last
	until   session.Seq // what is looked for now is not after it
	aim     *aimed      // of which entries the beginnings count; nil: of all
}

// restrict leaves blocks out, but for what says that the search is over.
func (w *walker) restrict() {
	if w.want != nil && w.src.File {
		w.src.Want(func(b *recorder.Block) bool { return b.Last >= w.until || w.want(b) })
	}
}

func (w *walker) walk(ctx context.Context, spans []filter.Span) (err error) {
	if len(spans) > 0 {
		if w.aim, err = w.aimAt(ctx, spans[0]); err != nil {
			return err
		}
	}
	if w.aim == nil {
		err = w.step(ctx)
	}
	if err != nil {
		return err
	}
	for _, s := range spans {
		w.until = s.Last
		w.restrict()
		if to := s.First - min(s.First, leadIn); w.src.File && to > w.at+1 {
			if err := w.jump(ctx, to); err != nil {
				return err
			}
		}
		for w.at < s.Last {
			if err := w.step(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walker) step(ctx context.Context) error {
	e, err := w.src.Next(ctx)
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if err != nil {
		return Unreadable(err)
	}
	return w.take(&e)
}

func (w *walker) take(e *session.Entry) error {
	w.at = e.Seq
	c := w.tracker.Step(e)
	return w.visit(e, &c)
}

// jump goes on with the first entry from to on. Of those before it visits the
// ones that begin streams; damage among them is no matter.
func (w *walker) jump(ctx context.Context, to session.Seq) error {
	if err := w.beginnings(ctx, to); err != nil && !Damaged(err) {
		return err
	}
	// Of any stream, something may have been passed over.
	w.tracker.Step(&session.Entry{Kind: session.KindGap, Gap: &session.Gap{Streams: make([]session.StreamID, 1024)}})
	w.restrict()
	if err := w.src.Seek(to); err != nil {
		return Unreadable(err)
	}
	return nil
}

func (w *walker) beginnings(ctx context.Context, to session.Seq) error {
	unlabelled, there := 0, false
	w.src.Reader.Follow(false)
	w.src.Want(func(b *recorder.Block) bool {
		if b.ManyLabels {
			unlabelled++
		}
		begins := slices.Contains(b.Labels, store.Begins) || b.ManyLabels && unlabelled <= maxUnlabelled
		if begins && (w.aim == nil || w.aim.wants(b)) {
			return true
		}
		there = b.Last >= to
		return there
	})
	defer func() {
		w.src.Want(nil)
		w.src.Reader.Follow(w.src.following)
	}()
	if err := w.src.Seek(w.at + 1); err != nil {
		return Unreadable(err)
	}
	for {
		e, err := w.src.Next(ctx)
		switch {
		case errors.Is(err, io.EOF) || err == nil && (there || e.Seq >= to):
			return nil
		case err != nil:
			return Unreadable(err)
		}
		if w.aim != nil {
			w.aim.see(&e)
		}
		if err := w.take(&e); err != nil {
			return err
		}
	}
}

// find returns the number of the first entry at or after t, or the number that
// the next one will have and false. In a pipe, where nothing can be looked for,
// that is 1. Next goes on with the first entry of all.
func (s *Source) find(ctx context.Context, t time.Time) (session.Seq, bool, error) {
	if !s.File {
		return 1, false, nil
	}
	defer s.Reader.Follow(s.following)
	s.Reader.Follow(false)
	var e session.Entry
	err := s.SeekTime(t)
	if err == nil {
		e, err = s.Reader.Next(ctx)
	}
	seq, there := e.Seq, err == nil
	if !there && !errors.Is(err, io.EOF) && !Damaged(err) {
		return 0, false, Unreadable(err)
	}
	if !there {
		facts := s.Facts()
		if all, err := s.Inspect(); err == nil {
			facts = all
		}
		seq = facts.LastSeq + 1
	}
	s.held = nil
	if err := s.Seek(0); err != nil {
		return 0, false, Unreadable(err)
	}
	return seq, there, nil
}
