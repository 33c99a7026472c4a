package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/pseudonym"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// keyEnding is what the name of a key file ends with that nobody named.
const keyEnding = ".key"

// pseudonyms writes a part of a recording with stand-ins for its names. It comes
// to path only when no name was found again in it.
func (x *export) pseudonyms(ctx context.Context) error {
	path := x.path
	text := x.form != formRecording
	if x.keyFile == "" {
		if path == "" || path == "-" {
			return misused("--pseudonyms needs --key-file FILE: where is the key to go, with which names come back?")
		}
		x.keyFile = path + keyEnding
	}
	key, err := loadKey(x.keyFile)
	if err != nil {
		return err
	}
	if path != "" && path != "-" {
		if _, err := os.Lstat(path); err == nil {
			return overwriting("cannot export", &fs.PathError{Op: "open", Path: path, Err: fs.ErrExist})
		}
	}
	dir, err := os.MkdirTemp(filepath.Dir(x.keyFile), ".xdsproxy-*") // with mode 0700
	if err != nil {
		return failed("cannot write %s: %w", x.form, err)
	}
	defer os.RemoveAll(dir)
	part := filepath.Join(dir, "pseudonyms.xdsp")
	done, err := x.renamed(ctx, key, part, path)
	if err != nil || done.Entries == 0 {
		return err
	}
	if err := key.Save(x.keyFile); err != nil {
		return failed("cannot write the key file %s: %w", x.keyFile, err)
	}
	defer x.say("names come back with: xdsproxy reveal %s TEXT; keep that file to yourself", shellWord(x.keyFile))
	if text {
		own := *x
		own.pseudonymous, own.keyFile = false, ""
		return own.run(ctx, []string{part})
	}
	if err := os.Link(part, path); err != nil {
		return overwriting("cannot write the recording", err)
	}
	x.sayCut(done)
	return nil
}

// loadKey reads a key, or makes one where there is none.
func loadKey(path string) (*pseudonym.Key, error) {
	key, err := pseudonym.LoadKey(path)
	if pseudonym.IsMissing(err) {
		return pseudonym.NewKey(), nil
	}
	if err != nil {
		return nil, failed("cannot read the key file %s: %w", path, err)
	}
	return key, nil
}

// renamed writes what was chosen to part, and searches it.
func (x *export) renamed(ctx context.Context, key *pseudonym.Key, part, path string) (convert.Result, error) {
	names := pseudonym.NewNames(key)
	src, err := x.opener().Open(x.name)
	if err != nil {
		return convert.Result{}, err
	}
	facts := src.Header()
	src.Close()
	if !facts.Masked && !src.Script {
		return convert.Result{}, failed("secrets in %s are not masked, and --pseudonyms hides names alone", x.name).
			Hint("mask them first: xdsproxy export %s --mask -w masked.xdsp", shellWord(x.name))
	}
	if facts.Program == "" {
		facts.Program = build.Name()
	}
	var w walked
	x.lean()
	learning := names.Walk()
	o := convert.CutOptions{Bare: x.bare, Record: recorder.Options{Labels: store.NewLabels().Of, Transform: decode.NewSplitter().Transform}}
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
		f := failed("nothing was written: %w", err)
		if _, is := errors.AsType[*pseudonym.LeakError](err); is {
			f.Hint("leave that entry out with --seq or --filter, and report this as a bug without the name")
		}
		return done, f
	}
	return done, nil
}

// searched reads what was written, and looks for the names in it.
func (x *export) searched(ctx context.Context, names *pseudonym.Names, part, path string) error {
	r, err := recorder.Open(part)
	if err != nil {
		return err
	}
	defer r.Close()
	search := names.Search()
	if err := search.Name(filepath.Base(path)); err != nil {
		return err
	}
	done := x.console().Progress("searching", part, func() (int64, uint64) {
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
