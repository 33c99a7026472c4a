package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/convert/binlog"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
)

func newImport(a *cli) *cobra.Command {
	path := ""
	cmd := a.command(&cobra.Command{
		Use:   "import FILE|DIR -w OUT",
		Short: "Make a recording of a binary log of gRPC, or of an edited folder",
		Long: `Makes a recording of what a gRPC program has written of its own calls: its
binary log, as gRPC for Go and for Java write it where GRPC_BINARY_LOG_FILTER
says so and the program has a sink for it. Calls that are not of xDS are left
out, and secrets are masked.

Such a log has the headers and messages of each call. Connections, resets and
how messages were compressed are not in it: calls of one authority count as one
connection. Messages must be logged whole, as with the filter * or {h;m}.

FILE is - for standard input.

DIR is a folder that xdsproxy export -o dir has written and that may have been
edited since. What was not edited keeps its bytes. What was is encoded from its
text: a value in a file of resources/, a field of an entry in session.yaml. In
session.yaml entries can also be deleted, put in another order, copied, or added
without a seq, and a resource can be another file: "@file" says which. Keys such
as "@unknown" and "@value" hold in base64 what could not be decoded.

Every entry that differs has a remark in the recording, at its end. If anything
cannot be encoded, all of it is listed with file and line, and nothing is
written. Secrets that were masked stay masked; what is typed in is not masked.`,
		Example: `# A program in which grpc/binarylog.SetSink was called
GRPC_BINARY_LOG_FILTER='*' ./client
xdsproxy import /tmp/grpcgo_binarylog_123.txt -w client.xdsp
xdsproxy check client.xdsp

# A folder of xdsproxy export -o dir
xdsproxy import gw -w edited.xdsp`,
	}, func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return misused("import needs a FILE or a DIR")
		case len(args) > 1:
			return misused("one FILE at a time, but got %d", len(args))
		case path == "" || path == "-":
			return misused("import needs -w OUT: where is the recording to go?")
		}
		if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
			return a.importFolder(cmd.Context(), args[0], path)
		}
		return a.importLog(args[0], path)
	})
	cmd.Flags().VarP(settings.NewText(&path, "OUT"), "write", "w", "write the recording to this file, which must not exist yet")
	return cmd
}

func (a *cli) importLog(name, path string) error {
	in := a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return failed("cannot read the log: %w", err)
		}
		defer f.Close()
		in = f
	} else if console.IsTerminal(a.stdin) {
		return misused("standard input is a terminal, not a log")
	} else {
		in = a.console().Heedful(in)
	}
	masker := decode.NewMasker()
	var to *recorder.Copy
	done, err := binlog.Read(bufio.NewReader(in), func(e *session.Entry) (err error) {
		if to == nil {
			to, err = recorder.NewCopy(path, recorder.Facts{Created: time.Now(), Program: build.Name()}, recorder.Options{
				Labels: store.NewLabels().Of, Masked: true, Transform: masker.Transform, Content: masker.Content,
			})
			if err != nil {
				return overwriting("cannot import", err)
			}
		}
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		return to.Add(e)
	})
	damage, damaged := errors.AsType[*binlog.FormatError](err)
	if to == nil {
		switch {
		case damaged:
			return failed("%s is no binary log of gRPC: %w", name, damage).Hint("xdsproxy import --help says what one is")
		case err != nil:
			return unreadLog(name, err)
		}
		a.say("%s has no call of xDS, and %s", name, render.Count(done.Others, "other", "others"))
		return nil
	}
	if err != nil && !damaged {
		_ = to.Discard()
		return unreadLog(name, err)
	}
	masked := to.Masked()
	size, closing := to.Close()
	if closing != nil {
		return failed("%w", closing)
	}
	a.say("wrote %s to %s, %s", render.Count(done.Entries, "entry", "entries"), path, render.Size(size))
	a.say("they are of %s of xDS; %s left out", render.Count(done.Calls, "call", "calls"), render.Count(done.Others, "other was", "others were"))
	a.say("secrets are masked, in %d of %s", masked, render.Count(done.Messages, "message", "messages"))
	if done.Missing > 0 {
		a.warn("%s of its calls are not in the log", render.Count(done.Missing, "entry", "entries"))
	}
	if done.Truncated > 0 {
		a.warn("of %s the log has the beginning only; let GRPC_BINARY_LOG_FILTER not say how much", render.Count(done.Truncated, "message", "messages"))
	}
	if done.Torn {
		a.say("the log ends within an entry, as when its program is killed")
	}
	if damaged {
		f := failed("%s is damaged: %w", name, damage)
		f.Code = console.ExitDamaged
		return f.Hint("what is before that is in %s", path)
	}
	a.say("read it with: xdsproxy watch %s", shellWord(path))
	return nil
}

// unreadLog is an error of reading, or of writing what was read.
func unreadLog(name string, err error) error {
	if _, is := errors.AsType[*failure](err); is || errors.Is(err, os.ErrExist) {
		return err
	}
	if errors.Is(err, io.EOF) {
		return failed("%s is empty", name)
	}
	return failed("cannot import %s: %w", name, err)
}
