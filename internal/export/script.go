package export

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"

	"github.com/xdsproxy/xdsproxy/check/script"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/session"
)

// script writes a source as a conversation script.
func (x *Export) script(ctx context.Context) (err error) {
	path := x.Path
	if path == "-" {
		path = ""
	}
	src, err := x.Open(x.Name)
	if err != nil {
		return err
	}
	defer src.Close()
	var read error
	err = Script(x.Console, path, x.Entries(ctx, src, &read))
	if err == nil {
		err = read
	}
	return err
}

// Script writes entries as a conversation script, to standard output if path
// is empty.
func Script(c *console.Console, path string, entries iter.Seq[session.Entry]) (err error) {
	to := c.Stdout
	if path != "" {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			e := console.Failed("cannot write the script: %w", err)
			if errors.Is(err, fs.ErrExist) {
				e.Hint("nothing is overwritten; name another file, or remove this one")
			}
			return e
		}
		defer func() {
			if closed := f.Close(); err == nil && closed != nil {
				err = console.Failed("cannot write the script: %w", closed)
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
		c.Say("not in the script: %s", what)
	}
	return err
}
