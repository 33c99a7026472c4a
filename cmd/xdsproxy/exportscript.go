package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/xdsproxy/xdsproxy/check/script"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// exportScript writes a source as a conversation script, to standard output if
// path is empty.
func (a *cli) exportScript(ctx context.Context, name, path string) (err error) {
	src, err := a.opener().Open(name)
	if err != nil {
		return err
	}
	defer src.Close()
	var read error
	err = a.scriptTo(path, a.opener().Entries(ctx, src, &read))
	if err == nil {
		err = read
	}
	return err
}

// scriptTo writes entries as a conversation script, to standard output if path
// is empty.
func (a *cli) scriptTo(path string, entries iter.Seq[session.Entry]) (err error) {
	var to io.Writer = a.stdout
	if path != "" {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			e := failed("cannot write the script: %w", err)
			if errors.Is(err, fs.ErrExist) {
				e.Hint("nothing is overwritten; name another file, or remove this one")
			}
			return e
		}
		defer func() {
			if closed := f.Close(); err == nil && closed != nil {
				err = failed("cannot write the script: %w", closed)
			}
		}()
		to = f
	}
	out := bufio.NewWriter(to)
	lost, err := script.Write(out, entries)
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	for _, what := range lost {
		a.say("not in the script: %s", what)
	}
	return err
}
