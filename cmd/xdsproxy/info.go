package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/recorder"
)

func newInfo(a *app) *cobra.Command {
	output := "text"
	cmd := a.command(&cobra.Command{
		Use:   "info [SOURCE] [-o text|json]",
		Short: "Print the facts about a recording",
		Long: `Reads a recording to its end and prints the facts: how much is in it, what time
it covers, whether it is whole, what it lost, whether secrets are masked.

A recording that ends in the middle, after a crash or because it is still being
written, is incomplete. One whose bytes were changed is damaged: the facts are
those of the part before, and the exit code is 12.`,
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
		done := a.progress(src)
		clients := map[string]bool{}
		failure := each(cmd.Context(), src, func(_ *session.Entry, c *check.Change) error {
			if c.Client != "" && len(clients) < maxClients {
				clients[c.Client] = true
			}
			done.advance()
			return nil
		})
		done.end()
		facts := src.Facts()
		if failure != nil && !facts.Damaged {
			return failure
		}
		i := infoOf(src.name, facts)
		i.Clients = len(clients)
		if output == "json" {
			err = a.printJSON(i)
		} else {
			_, err = io.WriteString(a.stdout, i.Text(render.Style{Color: a.colourful()}))
		}
		if err != nil {
			return err
		}
		return failure
	})
	outputFlag(cmd, &output, "text", "json")
	return cmd
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
