package export

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/convert/folder"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// folder writes a source as a folder.
func (x *Export) folder(ctx context.Context) error {
	src, err := x.Open(x.Name)
	if err != nil {
		return err
	}
	defer src.Close()
	if _, err := src.First(ctx); err != nil && ctx.Err() != nil {
		return err // a pipe says what it is once something came
	}
	src.Pieces()
	facts := src.Header()
	facts.Program = cmp.Or(facts.Program, build.Name())
	to, err := folder.NewExport(x.Path, facts, recorder.Options{Labels: store.NewLabels().Of})
	if err != nil {
		return unwrittenFolder(err)
	}
	var read error
	for e := range x.Entries(ctx, src, &read) {
		if read = to.Add(&e); read != nil {
			break
		}
	}
	if read != nil {
		to.Discard()
		return unwrittenFolder(read)
	}
	done, err := to.Close()
	if err != nil {
		return unwrittenFolder(err)
	}
	x.Say("wrote %s and %s to %s", render.Count(done.Entries, "entry", "entries"),
		render.Count(done.Files, "content of a resource", "contents of resources"), x.Path)
	switch {
	case facts.Masked:
		x.Say("secrets are masked, in %s of %s", render.Number(done.Masked), render.Count(done.Messages, "message", "messages"))
	case !src.Script:
		x.Warn("secrets in it are not masked; mask them first: xdsproxy export %s --mask -w masked.xdsp", console.ShellWord(x.Name))
	}
	x.Say("edit it, and make a recording of it: xdsproxy import %s -w edited.xdsp", console.ShellWord(x.Path))
	return nil
}

func unwrittenFolder(err error) error {
	if console.Said(err) {
		return err
	}
	f := console.Failed("%w", err)
	if errors.Is(err, fs.ErrExist) {
		f.Hint("nothing is overwritten; name another folder with -w DIR, or an empty one")
	}
	return f
}

// ImportFolder makes a recording of a folder.
func ImportFolder(ctx context.Context, c *console.Console, dir, path string) error {
	if err := absent("cannot import", path); err != nil {
		return err
	}
	var far struct {
		read    int64
		entries uint64
	}
	line := c.Progress("importing", filepath.Join(dir, "session.yaml"), func() (int64, uint64) { return far.read, far.entries })
	done, err := folder.Import(ctx, dir, path, folder.Options{
		Labels: store.NewLabels().Of,
		Progress: func(read int64, entries uint64) {
			far.read, far.entries = read, entries
			line.Advance()
		},
	})
	line.End()
	wrong, faulty := errors.AsType[*folder.Error](err)
	switch {
	case faulty:
		for i := range wrong.Faults {
			c.Tell("%s", wrong.Faults[i].String())
		}
		return console.Failed("%s wrong in %s: nothing is written", render.Count(uint64(len(wrong.Faults)+wrong.More), "thing is", "things are"), dir)
	case errors.Is(err, os.ErrExist):
		return console.Overwriting("cannot import", err)
	case errors.Is(err, context.Canceled):
		return err
	case err != nil:
		return input.Unreadable(err)
	}
	c.Say("wrote %s to %s, %s", render.Count(done.Entries, "entry", "entries"), path, render.Size(done.Bytes))
	if done.Edited+done.Added+done.Deleted+done.Moved == 0 {
		c.Say("nothing was edited: every message is what it was")
	} else {
		c.Say("edited by hand: %s, and %d added, %d deleted, %d moved; remarks at its end say which",
			render.Count(done.Edited, "entry", "entries"), done.Added, done.Deleted, done.Moved)
		c.Say("what was masked is masked still, in %d of %s; what was typed is not", done.Masked, render.Count(done.Messages, "message", "messages"))
	}
	for _, name := range done.Lossy {
		c.Warn("%s: its original said something that is not in the text, such as a field that stood twice; that is lost", name)
	}
	const most = 10
	for _, name := range done.Unused[:min(most, len(done.Unused))] {
		c.Warn("%s: no entry refers to it", name)
	}
	if n := len(done.Unused); n > most {
		c.Warn("no entry refers to %s either", render.Count(uint64(n-most), "other file", "other files"))
	}
	c.Say("replay it with: xdsproxy replay %s -- envoy", console.ShellWord(path))
	return nil
}
