package dump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/report"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/internal/trigger"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Options say what is written, and where.
type Options struct {
	Log     *recorder.Log
	Dir     string
	Most    int64         // bytes of all dumps in the directory; 0: any number
	Before  time.Duration // how much of what was before the moment is in a dump
	Report  bool          // a zip with a report, and not a recording alone
	Judge   check.Options // how what passes is judged
	Follow  check.Options // the same, without rules
	Program string
}

// writer writes one dump after the other.
type writer struct {
	o   Options
	dir directory
}

// write writes a dump, and says where it is. Of a dump that fails nothing is left.
func (w *writer) write(ctx context.Context, m *trigger.Moment) (path string, size int64, err error) {
	if err := w.dir.make(); err != nil {
		return "", 0, err
	}
	walk := w.walk(ctx, w.o.Log.Hold(), m.Seq)
	facts := w.o.Log.Facts()
	proof := convert.Proof{Seqs: m.Seqs, Findings: m.Found, Judge: w.o.Judge}
	if proof.From, err = w.from(ctx, m); err != nil {
		return "", 0, err
	}
	cut := convert.CutOptions{Record: store.Copy(!facts.Masked)}
	temporary, ending := w.dir.temporary(), ".xdsp"
	defer os.Remove(temporary)
	if w.o.Report {
		ending = ".zip"
		o := &report.Options{Program: w.o.Program, Facts: facts, Proof: proof, Cut: cut}
		if len(m.Found) == 0 {
			o.Chosen = "what led to " + m.What
		}
		err = w.report(ctx, temporary, walk, o)
	} else {
		var done convert.Result
		done, _, err = convert.Prove(ctx, temporary, facts, walk, &proof, cut)
		if err == nil && done.Entries == 0 {
			err = errGone
		}
	}
	if err != nil {
		return "", 0, err
	}
	return w.dir.finish(temporary, m, ending)
}

// errGone says that the log has forgotten what a dump is about.
var errGone = errors.New("the log has dropped what it is about: it came faster than dumps are written, or there is too little room for it")

func (w *writer) report(ctx context.Context, path string, walk convert.Walk, o *report.Options) error {
	o.Proof.Seqs = nil // some may be gone, which a report takes for a mistake
	b, err := report.Gather(ctx, walk, o)
	if err != nil {
		return err
	}
	defer b.Close()
	if b.Done.Entries == 0 {
		return errGone
	}
	_, err = b.Write(path)
	return err
}

// from is the first entry of the time that is in a dump.
func (w *writer) from(ctx context.Context, m *trigger.Moment) (session.Seq, error) {
	r, err := w.o.Log.Reader()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if err := r.SeekTime(m.At.Add(-w.o.Before)); err != nil {
		return 0, err
	}
	e, err := r.Next(ctx)
	if errors.Is(err, io.EOF) {
		return m.Seq, nil
	}
	return min(e.Seq, m.Seq), err
}

// walk visits the log up to an entry, which it has.
func (w *writer) walk(ctx context.Context, open func() (*recorder.Reader, error), until session.Seq) convert.Walk {
	return func(visit convert.Visit) error {
		r, err := open()
		if err != nil {
			return err
		}
		defer r.Close()
		r.Pieces()
		r.Large()
		k := check.NewChecker(w.o.Follow)
		for {
			e, err := r.Next(ctx)
			if errors.Is(err, io.EOF) || err == nil && e.Seq > until {
				return nil
			}
			if err = errors.Join(err, ctx.Err()); err != nil {
				return fmt.Errorf("cannot read the log: %w", err)
			}
			c := k.Step(&e)
			if err := visit(&e, &c, false); err != nil {
				return err
			}
		}
	}
}
