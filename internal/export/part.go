package export

import (
	"bufio"
	"cmp"
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
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/convert/page"
	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
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
func (x *Export) walk(ctx context.Context, w *walked, whole bool, visit convert.Visit) error {
	src, err := x.Open(x.Name)
	if err != nil {
		return err
	}
	defer src.Close()
	w.src, w.of = src, &input.Selection{}
	for _, seq := range x.Seqs {
		if err := w.of.Add(seq); err != nil {
			return err
		}
	}
	if w.q, err = input.ParseQuery(x.Filter); err != nil {
		return err
	}
	if _, err := w.q.Places(ctx, src, filter.Everything()); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var step input.Stepper = check.NewTracker(x.Types)
	if x.Form != FormRecording || w.q.Needs().Findings {
		o := x.Judge
		o.Timers = x.timers(src)
		w.checker = check.NewChecker(o)
		step = w.checker
	}
	if x.Form == FormRecording && !x.Pseudonymous {
		src.Large()
	}
	wants, all := w.q.Asker(), len(x.Seqs) == 0
	err = x.Each(ctx, src, step, func(e *session.Entry, c *check.Change) error {
		x.last = e.Seq
		if x.Private != nil {
			x.Private.Meet(c)
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
func (x *Export) reread(ctx context.Context, visit convert.Visit) error {
	src, err := x.Open(x.Name)
	if err != nil {
		return err
	}
	defer src.Close()
	if !x.Pseudonymous {
		src.Large()
	}
	return x.Each(ctx, src, unread{}, func(e *session.Entry, c *check.Change) error {
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
func (x *Export) timers(src *input.Source) check.Timers {
	t := check.DefaultTimers()
	t.Fixed = src.Script
	return t
}

// lean keeps the heap small, where it is ours alone.
func (x *Export) lean() {
	if !x.Inside {
		heap.Lean()
	}
}

// empty says why nothing was chosen.
func (x *Export) empty(w *walked) error {
	if len(x.Seqs) > 0 {
		if err := w.of.Missing(w.src.Name); err != nil {
			return err
		}
		x.Say("nothing of what was named matches %q", w.q)
		return nil
	}
	x.Say("%s", input.Nothing(w.src, w.q))
	return nil
}

// cut writes a part of a recording as a recording.
func (x *Export) cut(ctx context.Context) error {
	if err := absent("cannot write the recording", x.Path); err != nil {
		return err
	}
	facts, _, err := x.begins()
	if err != nil {
		return err
	}
	o := convert.CutOptions{Bare: x.Bare, Record: store.Copy(x.Mask && !facts.Masked)}
	if o.Record.Descriptors, err = x.embedded(); err != nil {
		return err
	}
	facts.Program = cmp.Or(facts.Program, build.Name())
	var w walked
	x.lean()
	chosen := notes.New(facts.Created)
	done, err := convert.Cut(x.Path, facts, func(v convert.Visit) error {
		if w.src != nil {
			return x.reread(ctx, v)
		}
		return x.walk(ctx, &w, true, func(e *session.Entry, c *check.Change, is bool) error {
			if n, noted := x.beside.Entries[e.Seq]; is && noted {
				chosen.Entries[e.Seq] = n
			}
			return v(e, c, is)
		})
	}, o)
	if err != nil {
		return unwrittenPart(err)
	}
	if done.Entries == 0 {
		return x.empty(&w)
	}
	x.sayCut(done)
	x.copyNotes(chosen)
	x.masks(&w, done, facts.Masked || o.Record.Masked)
	x.Say("read it with: xdsproxy watch %s", console.ShellWord(x.Path))
	return nil
}

// embedded are the descriptors that are asked for in what is written; nil: none but
// those of the source.
func (x *Export) embedded() ([]byte, error) {
	if !x.Embed {
		return nil, nil
	}
	set := x.Types.Set()
	if len(set) == 0 {
		return nil, console.Misused("--embed-descriptors, and no type is described that is not built in").Hint("--descriptors FILE says which")
	}
	return set, nil
}

// copyNotes puts beside what was written what people left beside its source.
func (x *Export) copyNotes(n *notes.Notes) {
	if len(n.Entries) == 0 {
		return
	}
	if err := notes.Write(x.Path, n); err != nil {
		x.Warn("marks and notes are not copied: %v", err)
		return
	}
	x.Say("marks and notes on %s are in %s", render.Count(len(n.Entries), "entry", "entries"), notes.PathOf(x.Path))
}

// sayCut says what a part of a recording consists of.
func (x *Export) sayCut(done convert.Result) {
	x.Say("wrote %s to %s, %s", render.Count(done.Entries, "entry", "entries"), x.Path, render.Size(done.Bytes))
	if done.Context > 0 {
		x.Say("with them %s needed to understand them", render.Count(done.Context, "entry that is", "entries that are"))
	}
	if done.LeftOut > 0 {
		x.Say("between them %s left out", render.Count(done.LeftOut, "entry was", "entries were"))
	}
}

// masks says whether what was written holds secrets.
func (x *Export) masks(w *walked, done convert.Result, masked bool) {
	if w.src.Script {
		return // it was written by hand
	}
	if masked {
		x.Say("secrets are masked, in %s of %s", render.Number(done.Masked), render.Count(done.Messages, "message", "messages"))
		return
	}
	if x.Form == FormRecording {
		x.Warn("secrets in it are not masked; --mask masks them")
		return
	}
	x.Warn("secrets in it are not masked; mask them first: xdsproxy export %s --mask -w masked.xdsp", console.ShellWord(x.Name))
}

// text writes the chosen entries in a form of text.
func (x *Export) text(ctx context.Context) error {
	if x.Private != nil && (x.report() || x.Form == string(convert.Mermaid)) {
		return console.Failed("-o %s writes names in words of its own, which aliases cannot take the place of", x.Form)
	}
	if x.Path == "" || x.Path == "-" {
		return x.textTo(ctx, x.Stdout, nil)
	}
	f, err := os.OpenFile(x.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return console.Overwriting("cannot write "+x.Form, err)
	}
	return x.textTo(ctx, f, f)
}

// textTo writes text. Where it goes to a file this is closed, and removed if nothing has
// come of it.
func (x *Export) textTo(ctx context.Context, to io.Writer, file io.Closer) (err error) {
	var hidden *hiding
	if x.Private != nil {
		hidden = &hiding{to: to, private: x.Private}
		to = hidden
	}
	var w walked
	o := convert.Options{Report: convert.Report{
		Program: build.Line() + ", " + runtime.GOOS + "/" + runtime.GOARCH, Chosen: x.chosen(), Source: x.shownSource(),
		Findings: func() []check.Finding { return w.checker.Findings() },
	}, Beside: func(seq session.Seq) (marked bool, text string) { return w.src.Notes().Of(seq) }}
	if x.report() {
		x.lean()
		if o.Report.Facts, _, err = x.begins(); err != nil {
			return x.giveUp(file, err)
		}
		o.Report.Notes = x.beside
	}
	out := bufio.NewWriter(to)
	walk := func(v convert.Visit) error { return x.walk(ctx, &w, x.report(), v) }
	var done convert.Result
	if x.Form == formPage {
		done, err = page.Write(out, walk, page.Options{Report: o.Report})
	} else {
		done, err = convert.Write(out, convert.Form(x.Form), walk, o)
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
	if err == nil && file != nil {
		if closed := file.Close(); closed != nil {
			err = console.Failed("cannot write %s: %w", x.Form, closed)
		}
	}
	if err != nil {
		return x.giveUp(file, err)
	}
	if done.LeftOut > 0 {
		x.Say("%s left out: the diagram would be too long; choose fewer with --filter or --seq", render.Count(done.LeftOut, "entry was", "entries were"))
	}
	if n := len(done.Large); n > 0 {
		x.Say("%s too large for a report, and not shown in full; read the first of them with: xdsproxy show %s %d",
			render.Count(n, "message is", "messages are"), console.ShellWord(x.Name), done.Large[0])
	}
	for _, what := range done.Lost {
		x.Say("not in it: %s", what)
	}
	if file != nil {
		x.Say("wrote %s to %s", render.Count(done.Entries, "entry", "entries"), x.Path)
		x.masks(&w, done, w.facts.Masked)
	}
	if x.Private != nil {
		if told := x.Private.Told(); told != "" {
			x.Say("%s", told)
		}
	}
	return nil
}

// begins is what the source says of itself, and whether it was written by hand.
func (x *Export) begins() (facts recorder.Facts, script bool, err error) {
	src, err := x.Open(x.Name)
	if err != nil {
		return facts, false, err
	}
	defer src.Close()
	x.beside = src.Notes()
	return src.Header(), src.Script, nil
}

// absent is an error if a file is there that is to be made.
func absent(what, path string) error {
	if _, err := os.Lstat(path); err != nil {
		return nil
	}
	return console.Overwriting(what, &fs.PathError{Op: "open", Path: path, Err: fs.ErrExist})
}

// giveUp removes the file of which nothing has come, if there is one.
func (x *Export) giveUp(file io.Closer, err error) error {
	if file != nil {
		_ = file.Close()
		_ = os.Remove(x.Path)
	}
	return err
}

// chosen says in words how entries were chosen.
func (x *Export) chosen() string {
	var words []string
	if len(x.Seqs) > 0 {
		words = append(words, "--seq "+strings.Join(x.Seqs, ","))
	}
	if x.Filter != "" {
		words = append(words, "--filter "+console.ShellWord(x.Filter))
	}
	return strings.Join(words, " ")
}

// shownSource is the source as others may name it: without the place where it
// is on this machine.
func (x *Export) shownSource() string { return console.ShellWord(filepath.Base(x.Name)) }

func unwrittenPart(err error) error {
	if console.Said(err) {
		return err
	}
	if _, is := errors.AsType[*fs.PathError](err); is {
		return console.Overwriting("cannot export", err)
	}
	return console.Failed("%w", err)
}
