package export

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/pseudonym"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// keyEnding is what the name of a key file ends with that nobody named.
const keyEnding = ".key"

// pseudonyms writes a part of a recording with stand-ins for its names. It comes
// to path only when no name was found again in it.
func (x *Export) pseudonyms(ctx context.Context) error {
	path := x.Path
	if err := apart(x.KeyFile, path); err != nil {
		return err
	}
	if x.KeyFile == "" {
		if path == "" || path == "-" {
			return console.Misused("--pseudonyms needs --key-file FILE: where is the key to go, with which names come back?")
		}
		x.KeyFile = path + keyEnding
	}
	key, err := loadKey(x.KeyFile)
	if err != nil {
		return err
	}
	if path != "" && path != "-" {
		if err := absent("cannot export", path); err != nil {
			return err
		}
	}
	beside := x.KeyFile
	if x.Form == FormRecording { // a link does not lead to another file system
		beside = path
	}
	dir, err := os.MkdirTemp(filepath.Dir(beside), ".xdsproxy-*") // with mode 0700
	if err != nil {
		return console.Failed("cannot write %s: %w", x.Form, err)
	}
	defer os.RemoveAll(dir)
	part := filepath.Join(dir, "pseudonyms.xdsp")
	done, err := x.renamed(ctx, key, part, path)
	if err != nil || done.Entries == 0 {
		return err
	}
	if err := key.Save(x.KeyFile); err != nil {
		return console.Failed("cannot write the key file %s: %w", x.KeyFile, err)
	}
	if x.Form == FormRecording {
		if err := place(part, path); err != nil {
			return console.Overwriting("cannot write the recording", err)
		}
		x.sayCut(done)
	} else {
		own := *x
		own.Pseudonymous, own.KeyFile = false, ""
		if err := own.Run(ctx, []string{part}); err != nil {
			return err
		}
	}
	x.Say("names come back with: xdsproxy reveal %s TEXT; keep that file to yourself", console.ShellWord(x.KeyFile))
	return nil
}

// place gives a file another name, which no file has. Some file systems have no links.
func place(part, path string) error {
	if err := os.Link(part, path); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "rename", Path: path, Err: fs.ErrExist}
	}
	return os.Rename(part, path)
}

// apart is an error if the key would take the place of what is written.
func apart(keyFile, path string) error {
	if keyFile == "" || path == "" || path == "-" || placeOf(keyFile) != placeOf(path) {
		return nil
	}
	return console.Misused("-w and --key-file are both %s", console.ShellWord(path)).
		Hint("without --key-file the key goes to %s", console.ShellWord(path+keyEnding))
}

// placeOf is the path of a file, which need not be there, from the root: without links,
// as far as its directory can be read.
func placeOf(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// loadKey reads a key, or makes one where there is none.
func loadKey(path string) (*pseudonym.Key, error) {
	key, err := pseudonym.LoadKey(path)
	if pseudonym.IsMissing(err) {
		return pseudonym.NewKey(), nil
	}
	if err != nil {
		return nil, console.Failed("cannot read the key file %s: %w", path, err)
	}
	return key, nil
}

// renamed writes what was chosen to part, and searches it.
func (x *Export) renamed(ctx context.Context, key *pseudonym.Key, part, path string) (convert.Result, error) {
	names := pseudonym.NewNames(key)
	facts, script, err := x.begins()
	if err != nil {
		return convert.Result{}, err
	}
	if !facts.Masked && !script {
		return convert.Result{}, console.Failed("secrets in %s are not masked, and --pseudonyms hides names alone", x.Name).
			Hint("mask them first: xdsproxy export %s --mask -w masked.xdsp", console.ShellWord(x.Name))
	}
	facts.Descriptors = "" // which are full of names
	facts.Program = cmp.Or(facts.Program, build.Name())
	var w walked
	x.lean()
	learning := names.Walk()
	o := convert.CutOptions{Bare: x.Bare, Record: recorder.Options{Labels: store.NewLabels().Of, Transform: chunk.NewSplitter().Transform}}
	done, err := convert.Cut(part, facts, func(v convert.Visit) error {
		if w.src == nil {
			return x.walk(ctx, &w, true, func(e *session.Entry, c *check.Change, chosen bool) error {
				if learning.Entry(e); learning.Err() != nil {
					return learning.Err()
				}
				return v(e, c, chosen)
			})
		}
		if err := names.Settle(); err != nil {
			return err
		}
		mapping := names.Walk()
		return x.reread(ctx, func(e *session.Entry, c *check.Change, _ bool) error {
			own := mapping.Entry(e)
			if mapping.Err() != nil {
				return mapping.Err()
			}
			return v(&own, c, false)
		})
	}, o)
	if err != nil {
		return done, unwrittenPart(err)
	}
	if done.Entries == 0 {
		return done, x.empty(&w)
	}
	if err := x.searched(ctx, names, part, path); err != nil {
		f := console.Failed("nothing was written: %w", err)
		if _, is := errors.AsType[*pseudonym.LeakError](err); is {
			f.Hint("leave that entry out with --seq or --filter, and report this as a bug without the name")
		}
		return done, f
	}
	return done, nil
}

// searched reads what was written, and looks for the names in it.
func (x *Export) searched(ctx context.Context, names *pseudonym.Names, part, path string) error {
	r, err := recorder.Open(part)
	if err != nil {
		return err
	}
	defer r.Close()
	search := names.Search()
	if err := search.Name(filepath.Base(path)); err != nil {
		return errors.New(err.Error()) // no LeakError: the user chose this name, and nothing of ours let it through
	}
	done := x.Progress("searching", part, func() (int64, uint64) {
		f := r.Facts()
		return f.Bytes, f.Entries
	})
	defer done.End()
	for {
		done.Advance()
		e, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = search.Entry(&e)
		}
		if err != nil {
			return err
		}
	}
}
