package main

import (
	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

func newOpen(a *cli) *cobra.Command {
	cmd := a.command(&cobra.Command{
		Use:   "open [SOURCE]",
		Short: "Look at a recording, or at a running proxy, on the screen",
		Long: `Opens the screen on a recording, also on one that is still being written, or on
a conversation script, or on what a running proxy records. Without SOURCE it is
the running proxy of this user, else the newest recording.

There are five views: 1 clients and what they are in sync with, 2 the timeline
of messages, 3 the resources of a client, 4 what rules found, 5 counts. ? lists
the keys that work where you are, / filters, q goes back.`,
		Example: `xdsproxy open
xdsproxy open session.xdsp
xdsproxy open 127.0.0.1:19000`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		name, err := oneSource(args)
		if err != nil {
			return err
		}
		if name == "-" {
			return misused("open goes to and fro in a recording, and a pipe passes by once").
				Hint("write it to a file first, and open that")
		}
		if !a.canDraw() {
			return misused("open draws on a terminal, and there is none").
				Hint("xdsproxy watch prints the same as lines, xdsproxy status and xdsproxy check sum it up")
		}
		src, err := a.opener().Open(name)
		if err != nil {
			return err
		}
		_ = src.Close()
		heap.Lean()
		_, err = a.draw(cmd.Context(), a.screenOf(src))
		return err
	})
	a.useSettings(cmd, "memory-past")
	a.useGroups(cmd, settings.GroupScreen)
	return cmd
}
