package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

func newWatch(a *app) *cobra.Command {
	output, noFollow := "text", false
	cmd := a.command(&cobra.Command{
		Use:   "watch [SOURCE] [-o text|jsonl] [--no-follow]",
		Short: "Print a line for each entry of a recording, live or finished",
		Long: `Prints a recording as it was seen: one line for each message, stream and
connection. A recording that is still being written is followed until its
writer has let go of it.

Lines for people leave out what tells them nothing: heartbeats of the log,
response headers that merely say 200, resets that merely confirm the end of a
stream. -o jsonl has every entry, one JSON object a line.`,
		Example: `# What the proxy sees right now
xdsproxy watch

# Rejected configuration, and why
xdsproxy watch session.xdsp -o jsonl | jq 'select(.what == "NACK") | .error'

# A recording that comes through a pipe
ssh gateway cat session.xdsp | xdsproxy watch -`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		name, err := oneSource(args)
		if err != nil {
			return err
		}
		src, err := a.open(name)
		if err != nil {
			return err
		}
		defer src.Close()
		src.Follow(!noFollow)
		out := newLazyWriter(a.stdout)
		err = each(cmd.Context(), src, a.printer(out, output))
		if flushed := out.Close(); err == nil {
			err = flushed
		}
		return err
	})
	outputFlag(cmd, &output, "text", "jsonl")
	cmd.Flags().BoolVar(&noFollow, "no-follow", false, "end at what is there, even if more is being written")
	return cmd
}

// visit takes one entry and what it means.
type visit func(e *session.Entry, c *check.Change) error

// errEnough ends each without an error.
var errEnough = errors.New("enough was read")

// each reads a source to its end.
func each(ctx context.Context, src *source, v visit) error {
	tracker := check.NewTracker()
	for {
		e, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return unreadable(err)
		}
		c := tracker.Step(&e)
		if err := v(&e, &c); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// printer prints entries to w in one of the forms of watch.
func (a *app) printer(w io.Writer, form string) visit {
	if form == "jsonl" {
		var line []byte
		return func(e *session.Entry, c *check.Change) (err error) {
			if line, err = render.NewObject(e, c).AppendLine(line[:0]); err != nil {
				return err
			}
			_, err = w.Write(line)
			line = slices.Clip(line)[:0]
			return err
		}
	}
	table := render.NewTable(columns(a.stdout), render.Style{Color: a.colourful()})
	head := table.Head()
	return func(e *session.Entry, c *check.Change) error {
		line := table.Line(e, c)
		if line == "" {
			return nil
		}
		if head != "" {
			line, head = head+"\n"+line, ""
		}
		_, err := io.WriteString(w, line+"\n")
		return err
	}
}
