package main

import (
	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

func newOpen(a *cli) *cobra.Command {
	var filter string
	cmd := a.command(&cobra.Command{
		Use:   "open [SOURCE] [--filter FILTER]",
		Short: "Look at a recording, or at a running proxy, on the screen",
		Long: `Opens the screen on a recording, also on one that is still being written, or on
a conversation script, or on what a running proxy records. Without SOURCE it is
the running proxy of this user, else the newest recording.

There are five views: 1 clients and what they are in sync with, 2 the timeline
of messages, 3 the resources of a client, 4 what rules found, 5 counts. ? lists
the keys that work where you are, / filters, q goes back. --filter begins with
the timeline, filtered.

A recording that comes through a pipe, as -, is first written to a temporary
file, which goes when the screen does; the keys are those of the terminal.`,
		Example: `xdsproxy open
xdsproxy open session.xdsp
xdsproxy open session.xdsp --filter 'client:gw-0 kind:nack'
ssh gateway cat session.xdsp | xdsproxy open -
xdsproxy open 127.0.0.1:19000`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		name, err := oneSource(args)
		if err != nil {
			return err
		}
		if _, err := input.ParseQuery(filter); err != nil {
			return err
		}
		if !a.canDraw(name == "-") {
			return misused("open draws on a terminal, and there is none").
				Hint("xdsproxy watch prints the same as lines, xdsproxy status and xdsproxy check sum it up")
		}
		piped := name == "-"
		if piped {
			path, remove, err := a.opener().Spool(input.MaxSpool)
			if err != nil {
				return err
			}
			defer remove()
			name = path
		}
		src, err := a.opener().Open(name)
		if err != nil {
			return err
		}
		_ = src.Close()
		heap.Keeping()
		shown := a.screenOf(src)
		if piped {
			shown.Name, shown.Notes = "standard input", nil
		}
		shown.Filter = filter
		_, err = a.draw(cmd.Context(), shown)
		return err
	})
	filterFlag(cmd, &filter)
	a.useSettings(cmd, "memory-past")
	a.typeFlags(cmd)
	a.useGroups(cmd, settings.GroupScreen)
	return cmd
}
