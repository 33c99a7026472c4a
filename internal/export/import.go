package export

import (
	"bufio"
	"errors"
	"io"
	"os"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/convert/binlog"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// ImportLog makes a recording of a binary log of gRPC.
func ImportLog(c *console.Console, name, path string) error {
	in := c.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return console.Failed("cannot read the log: %w", err)
		}
		defer f.Close()
		in = f
	} else if console.IsTerminal(c.Stdin) {
		return console.Misused("standard input is a terminal, not a log")
	} else {
		in = c.Heedful(in)
	}
	var to *recorder.Copy
	done, err := binlog.Read(bufio.NewReader(in), func(e *session.Entry) (err error) {
		if to == nil {
			to, err = recorder.NewCopy(path, recorder.Facts{Created: time.Now(), Program: build.Name()}, store.Copy(true))
			if err != nil {
				return console.Overwriting("cannot import", err)
			}
		}
		if c.Ctx.Err() != nil {
			return c.Ctx.Err()
		}
		return to.Add(e)
	})
	damage, damaged := errors.AsType[*binlog.FormatError](err)
	if to == nil {
		switch {
		case damaged:
			return console.Failed("%s is no binary log of gRPC: %w", name, damage).Hint("xdsproxy import --help says what one is")
		case err != nil:
			return unreadLog(name, err)
		}
		c.Say("%s has no call of xDS, and %s", name, render.Count(done.Others, "other", "others"))
		return nil
	}
	if err != nil && !damaged {
		_ = to.Discard()
		return unreadLog(name, err)
	}
	masked := to.Masked()
	size, closing := to.Close()
	if closing != nil {
		return console.Failed("%w", closing)
	}
	c.Say("wrote %s to %s, %s", render.Count(done.Entries, "entry", "entries"), path, render.Size(size))
	c.Say("they are of %s of xDS; %s left out", render.Count(done.Calls, "call", "calls"), render.Count(done.Others, "other was", "others were"))
	c.Say("secrets are masked, in %d of %s", masked, render.Count(done.Messages, "message", "messages"))
	if done.Missing > 0 {
		c.Warn("%s of its calls are not in the log", render.Count(done.Missing, "entry", "entries"))
	}
	if done.Truncated > 0 {
		c.Warn("of %s the log has the beginning only; let GRPC_BINARY_LOG_FILTER not say how much", render.Count(done.Truncated, "message", "messages"))
	}
	if done.Torn {
		c.Say("the log ends within an entry, as when its program is killed")
	}
	if damaged {
		f := console.Failed("%s is damaged: %w", name, damage)
		f.Code = console.ExitDamaged
		return f.Hint("what is before that is in %s", path)
	}
	c.Say("read it with: xdsproxy watch %s", console.ShellWord(path))
	return nil
}

// unreadLog is an error of reading, or of writing what was read.
func unreadLog(name string, err error) error {
	if console.Said(err) || errors.Is(err, os.ErrExist) {
		return err
	}
	if errors.Is(err, io.EOF) {
		return console.Failed("%s is empty", name)
	}
	return console.Failed("cannot import %s: %w", name, err)
}
