package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/recorder"
)

func newInfo(a *cli) *cobra.Command {
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
		src, err := a.opener().Open(name)
		if err != nil {
			return err
		}
		defer src.Close()
		i, failure := a.facts(cmd.Context(), src, all)
		if i == nil {
			return failure
		}
		if err := a.console().Show(output, i, func() string { return i.Text(a.console().Style()) }); err != nil {
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
func (a *cli) facts(ctx context.Context, src *input.Source, all bool) (*render.Info, error) {
	clients := map[string]bool{}
	meet := func(id string) {
		if id != "" && len(clients) < maxClients {
			clients[id] = true
		}
	}
	facts, err := recorder.Facts{}, error(nil)
	headers := (src.File || src.Viewer != nil) && !all
	switch {
	case headers && src.File:
		facts, err = recorder.Inspect(src.Name)
		headers = err == nil && facts.MessageBytes > readAll
	case headers:
		facts = src.All()
		headers = facts.MessageBytes > readAll
	}
	more, silent := false, map[session.ConnID]bool{}
	var forgotten *uint64
	switch {
	case headers && src.File:
		more, err = src.Clients(ctx, meet)
		more = more || facts.Connections > uint64(len(clients))
	case headers:
		more = true // it would all have to come over here
	default:
		account := check.NewChecker(a.config.Accounting())
		err = a.opener().Each(ctx, src, account, func(e *session.Entry, c *check.Change) error {
			meet(c.Client)
			switch {
			case c.Client != "":
				delete(silent, e.Conn)
			case e.Kind == session.KindOpen && len(silent) < maxClients:
				silent[e.Conn] = true
			}
			return nil
		})
		more = len(silent) > 0 // somebody who never said who it is
		forgotten = new(account.Memory().Forgotten)
		facts = src.Facts()
		if src.Viewer != nil {
			facts = src.All()
		}
	}
	if err != nil && !facts.Damaged {
		return nil, err
	}
	i := infoOf(src.Name, facts)
	if src.Viewer != nil {
		i.Live, i.Recording = true, facts.Path
		forgotten = src.Viewer.Info().PastForgotten
		for _, p := range src.Viewer.Info().Pairs {
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

func infoOf(name string, f recorder.Facts) *render.Info {
	return &render.Info{
		Schema: schema, Format: "xdsp", Version: f.Version, Complete: f.Complete, Damaged: f.Damaged,
		Entries: f.Entries, Messages: f.Messages, Streams: f.Streams, Connections: f.Connections,
		Gaps: f.Gaps, Lost: f.Lost, First: render.Timestamp(f.First), Last: render.Timestamp(f.Last),
		Bytes: f.Bytes, MessageBytes: f.MessageBytes, Masked: f.Masked,
		Program: f.Program, Name: name, From: f.First, To: f.Last,
	}
}
