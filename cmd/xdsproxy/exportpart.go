package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/decode"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/convert/page"
	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// walked is a walk over a source from its beginning, and what came of it.
type walked struct {
	src     *input.Source
	q       *input.Query
	of      *input.Selection
	checker *check.Checker // nil if nothing is held against the rules
	facts   recorder.Facts
}

// walk visits all entries of the source, and says which of them are chosen.
// Unless whole it ends when no chosen one can follow.
func (x *export) walk(ctx context.Context, w *walked, whole bool, visit convert.Visit) error {
	src, err := x.opener().Open(x.name)
	if err != nil {
		return err
	}
	defer src.Close()
	w.src, w.of = src, &input.Selection{}
	for _, seq := range x.seqs {
		if err := w.of.Add(seq); err != nil {
			return err
		}
	}
	if w.q, err = input.ParseQuery(x.filter); err != nil {
		return err
	}
	if _, err := w.q.Places(ctx, src, filter.Everything()); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var step input.Stepper = check.NewTracker()
	if x.form != formRecording || w.q.Needs().Findings {
		o := x.config.Judging()
		o.Timers = x.timers(src)
		w.checker = check.NewChecker(o)
		step = w.checker
	}
	wants, all := w.q.Asker(), len(x.seqs) == 0
	err = x.opener().Each(ctx, src, step, func(e *session.Entry, c *check.Change) error {
		x.last = e.Seq
		if x.private != nil {
			x.private.Meet(c)
		}
		wanted := wants(e, c)
		selected := all || w.of.Meet(e)
		if err := visit(e, c, wanted && selected); err != nil {
			return err
		}
		if !whole && (w.q.Over(e) || !all && w.of.Done()) {
			return input.ErrEnough
		}
		return nil
	})
	w.facts = src.Header()
	return err
}

// reread visits all entries again, without what they mean.
func (x *export) reread(ctx context.Context, visit convert.Visit) error {
	src, err := x.opener().Open(x.name)
	if err != nil {
		return err
	}
	defer src.Close()
	return x.opener().Each(ctx, src, unread{}, func(e *session.Entry, c *check.Change) error {
		if e.Seq > x.last {
			return input.ErrEnough
		}
		return visit(e, c, false)
	})
}

// unread says nothing of any entry.
type unread struct{}

func (unread) Step(*session.Entry) check.Change { return check.Change{} }

// timers are those of a script, which has its own time, or the usual ones.
func (x *export) timers(src *input.Source) check.Timers {
	t := check.DefaultTimers()
	t.Fixed = src.Script
	return t
}

// lean keeps the heap small, where it is ours alone.
func (x *export) lean() {
	if !x.inside {
		heap.Lean()
	}
}

// empty says why nothing was chosen.
func (x *export) empty(w *walked) error {
	if len(x.seqs) > 0 {
		if err := w.of.Missing(w.src.Name); err != nil {
			return err
		}
		x.say("nothing of what was named matches %q", w.q)
		return nil
	}
	x.say("%s", input.Nothing(w.src, w.q))
	return nil
}

// cut writes a part of a recording as a recording.
func (x *export) cut(ctx context.Context) error {
	if _, err := os.Lstat(x.path); err == nil {
		return overwriting("cannot write the recording", &fs.PathError{Op: "open", Path: x.path, Err: fs.ErrExist})
	}
	src, err := x.opener().Open(x.name)
	if err != nil {
		return err
	}
	facts := src.Header()
	src.Close()
	o := convert.CutOptions{Bare: x.bare, Record: recorder.Options{Labels: store.NewLabels().Of}}
	if x.mask && !facts.Masked {
		masker := decode.NewMasker()
		o.Record.Masked, o.Record.Transform, o.Record.Content = true, masker.Transform, masker.Content
	}
	if facts.Program == "" {
		facts.Program = build.Name()
	}
	var w walked
	x.lean()
	done, err := convert.Cut(x.path, facts, func(v convert.Visit) error {
		if w.src != nil {
			return x.reread(ctx, v)
		}
		return x.walk(ctx, &w, true, v)
	}, o)
	if err != nil {
		return unwrittenPart(err)
	}
	if done.Entries == 0 {
		return x.empty(&w)
	}
	x.sayCut(done)
	x.masks(&w, done, facts.Masked || o.Record.Masked)
	x.say("read it with: xdsproxy watch %s", shellWord(x.path))
	return nil
}

// sayCut says what a part of a recording consists of.
func (x *export) sayCut(done convert.Result) {
	x.say("wrote %s to %s, %s", render.Count(done.Entries, "entry", "entries"), x.path, render.Size(done.Bytes))
	if done.Context > 0 {
		x.say("with them %s needed to understand them", render.Count(done.Context, "entry that is", "entries that are"))
	}
	if done.LeftOut > 0 {
		x.say("between them %s left out", render.Count(done.LeftOut, "entry was", "entries were"))
	}
}

// masks says whether what was written holds secrets.
func (x *export) masks(w *walked, done convert.Result, masked bool) {
	if w.src.Script {
		return // it was written by hand
	}
	if masked {
		x.say("secrets are masked, in %d of %s", done.Masked, render.Count(done.Messages, "message", "messages"))
		return
	}
	if x.form == formRecording {
		x.warn("secrets in it are not masked; --mask masks them")
		return
	}
	x.warn("secrets in it are not masked; mask them first: xdsproxy export %s --mask -w masked.xdsp", shellWord(x.name))
}

// text writes the chosen entries in a form of text.
func (x *export) text(ctx context.Context) (err error) {
	var to io.Writer = x.stdout
	file := x.path != "" && x.path != "-"
	if file {
		f, err := os.OpenFile(x.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return overwriting("cannot write "+x.form, err)
		}
		to = f
		defer f.Close()
	}
	var hidden *hiding
	if x.private != nil {
		hidden = &hiding{to: to, private: x.private}
		to = hidden
	}
	var w walked
	o := convert.Options{Report: convert.Report{
		Program: build.Line() + ", " + runtime.GOOS + "/" + runtime.GOARCH, Chosen: x.chosen(), Source: x.shownSource(),
		Findings: func() []check.Finding { return w.checker.Findings() },
	}}
	if x.report() {
		x.lean()
		if o.Report.Facts, err = x.begins(); err != nil {
			return x.giveUp(file, err)
		}
	}
	out := bufio.NewWriter(to)
	walk := func(v convert.Visit) error { return x.walk(ctx, &w, x.report(), v) }
	var done convert.Result
	if x.form == formPage {
		done, err = page.Write(out, walk, page.Options{Report: o.Report})
	} else {
		done, err = convert.Write(out, convert.Form(x.form), walk, o)
	}
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	if hidden != nil && err == nil {
		err = hidden.flush()
	}
	if err == nil && done.Entries == 0 {
		return x.giveUp(file, x.empty(&w))
	}
	if err != nil {
		return x.giveUp(file, err)
	}
	if done.LeftOut > 0 {
		x.say("%s left out: the diagram would be too long; choose fewer with --filter or --seq", render.Count(done.LeftOut, "entry was", "entries were"))
	}
	if n := len(done.Large); n > 0 {
		x.say("%s too large for a report, and not shown in full; read the first of them with: xdsproxy show %s %d",
			render.Count(n, "message is", "messages are"), shellWord(x.name), done.Large[0])
	}
	if file {
		x.say("wrote %s to %s", render.Count(done.Entries, "entry", "entries"), x.path)
		x.masks(&w, done, w.facts.Masked)
	}
	return nil
}

// begins is what the source says of itself.
func (x *export) begins() (recorder.Facts, error) {
	src, err := x.opener().Open(x.name)
	if err != nil {
		return recorder.Facts{}, err
	}
	defer src.Close()
	return src.Header(), nil
}

// giveUp removes the file of which nothing has come.
func (x *export) giveUp(file bool, err error) error {
	if file {
		_ = os.Remove(x.path)
	}
	return err
}

// chosen says in words how entries were chosen.
func (x *export) chosen() string {
	var words []string
	if len(x.seqs) > 0 {
		words = append(words, "--seq "+strings.Join(x.seqs, ","))
	}
	if x.filter != "" {
		words = append(words, "--filter "+shellWord(x.filter))
	}
	return strings.Join(words, " ")
}

// shownSource is the source as others may name it: without the place where it
// is on this machine.
func (x *export) shownSource() string { return shellWord(filepath.Base(x.name)) }

// overwriting is an error of a file that cannot be created.
func overwriting(what string, err error) error {
	f := failed("%s: %w", what, err)
	if errors.Is(err, fs.ErrExist) {
		f.Hint("nothing is overwritten; name another file with -w FILE, or remove this one")
	}
	return f
}

func unwrittenPart(err error) error {
	if _, is := errors.AsType[*failure](err); is || errors.Is(err, context.Canceled) {
		return err
	}
	if _, is := errors.AsType[*fs.PathError](err); is {
		return overwriting("cannot export", err)
	}
	return failed("%w", err)
}
