package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/recorder"
)

func newInfo(a *app) *cobra.Command {
	output, all, strict := "text", false, false
	cmd := a.command(&cobra.Command{
		Use:   "info [SOURCE] [--all] [--strict] [-o text|json]",
		Short: "Print the facts about a recording",
		Long: `Prints the facts about a recording: how much is in it, what time it covers,
whether it is whole, what it lost, whether secrets are masked.

A recording with more than 256 MiB of messages is judged by its index or the
headers of its blocks, which takes no time; damage within a block then goes
unnoticed, unless --all reads everything.

Of a running proxy it prints also where it listens and what is behind it.

Where --memory-past was too small for all that was over, it says how often
something was forgotten: in the running proxy, or in a recording that is read
whole, as check would.

A recording that ends in the middle, after a crash or because it is still being
written, is incomplete. One whose bytes were changed is damaged: the facts are
those of the part before, and the exit code is 12. With --strict it is 12, too,
if entries are missing because the log could not keep up.`,
		Example: `xdsproxy info @last
xdsproxy info session.xdsp -o json`,
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
		i, failure := a.facts(cmd.Context(), src, all)
		if i == nil {
			return failure
		}
		if output == "json" {
			err = a.console().JSON(i)
		} else {
			_, err = io.WriteString(a.stdout, i.Text(a.console().Style()))
		}
		if err != nil {
			return err
		}
		if failure == nil && strict && i.Gaps > 0 {
			return incomplete(i.Gaps)
		}
		return failure
	})
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 12 if entries are missing")
	cmd.Flags().BoolVar(&all, "all", false, "read everything, however much it is")
	outputFlag(cmd, &output, "text", "json")
	a.useSettings(cmd, "memory-past")
	return cmd
}

// readAll is how many bytes of messages info reads without being told to.
const readAll = 256 << 20

// facts are nil if there are none; an error beside them says what is damaged.
func (a *app) facts(ctx context.Context, src *source, all bool) (*render.Info, error) {
	clients := map[string]bool{}
	meet := func(id string) {
		if id != "" && len(clients) < maxClients {
			clients[id] = true
		}
	}
	facts, err := recorder.Facts{}, error(nil)
	headers := (src.file || src.viewer != nil) && !all
	switch {
	case headers && src.file:
		facts, err = recorder.Inspect(src.name)
		headers = err == nil && facts.MessageBytes > readAll
	case headers:
		facts = src.all()
		headers = facts.MessageBytes > readAll
	}
	more, silent := false, map[session.ConnID]bool{}
	var forgotten *uint64
	switch {
	case headers && src.file:
		more, err = clientsOf(ctx, src, meet)
		more = more || facts.Connections > uint64(len(clients))
	case headers:
		more = true // it would all have to come over here
	default:
		done, account := a.progress(src), check.NewChecker(a.config.Accounting())
		src.Pieces()
		err = judgeEach(ctx, src, account, func(e *session.Entry, c *check.Change) error {
			meet(c.Client)
			switch {
			case c.Client != "":
				delete(silent, e.Conn)
			case e.Kind == session.KindOpen && len(silent) < maxClients:
				silent[e.Conn] = true
			}
			done.Advance()
			return nil
		})
		done.End()
		more = len(silent) > 0 // somebody who never said who it is
		forgotten = new(account.Memory().Forgotten)
		facts = src.Facts()
		if src.viewer != nil {
			facts = src.all()
		}
	}
	if err != nil && !facts.Damaged {
		return nil, err
	}
	i := infoOf(src.name, facts)
	if src.viewer != nil {
		i.Live, i.Recording = true, facts.Path
		forgotten = src.viewer.Info().PastForgotten
		for _, p := range src.viewer.Info().Pairs {
			i.Pairs = append(i.Pairs, render.InfoPair(p))
		}
	}
	i.MoreClients, i.Unread, i.PastForgotten = more, headers, forgotten
	if len(clients) > 0 || facts.Connections == 0 {
		i.Clients = new(len(clients)) // else somebody was there, but nobody read who
	}
	return i, err
}

// maxClients bounds the node ids that are told apart.
const maxClients = 1 << 20

// clientsOf gathers node ids from the headers of blocks. It says whether there
// may be more, in blocks that had no room for them all.
func clientsOf(ctx context.Context, src *source, meet func(id string)) (more bool, err error) {
	src.Want(func(b *recorder.Block) bool {
		more = more || b.ManyLabels
		for _, l := range b.Labels {
			if id, is := strings.CutPrefix(l, filter.ClientLabel); is {
				meet(id)
			}
		}
		return false
	})
	_, err = src.Next(ctx)
	if errors.Is(err, io.EOF) {
		return more, nil
	}
	return more, unreadable(err)
}

func infoOf(name string, f recorder.Facts) *render.Info {
	return &render.Info{
		Schema: schema, Format: "xdsp", Version: f.Version, Complete: f.Complete, Damaged: f.Damaged,
		Entries: f.Entries, Messages: f.Messages, Streams: f.Streams, Connections: f.Connections,
		Gaps: f.Gaps, Lost: f.Lost, First: render.Timestamp(f.First), Last: render.Timestamp(f.Last),
		Bytes: f.Bytes, MessageBytes: f.MessageBytes, Masked: f.Masked,
		Program: f.Program, Name: name, From: f.First, To: f.Last,
	}
}
