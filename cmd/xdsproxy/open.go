package main

import (
	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/tui"
)

func newOpen(a *app) *cobra.Command {
	cmd := a.command(&cobra.Command{
		Use:   "open [SOURCE]",
		Short: "Look at a recording, or at a running proxy, on the screen",
		Long: `Opens the screen on a recording, also on one that is still being written, or on
a conversation script. Without SOURCE it is the newest recording.

Five views: 1 clients and what they are in sync with, 2 the timeline of messages,
3 the resources of a client, 4 what rules found, 5 counts. ? lists the keys that
work where you are, / filters, q goes back.`,
		Example: `xdsproxy open
xdsproxy open session.xdsp`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		name, err := oneSource(args)
		if err != nil {
			return err
		}
		if !isTerminal(a.stdout) {
			return misused("open draws on a terminal, and standard output is none").
				hint("xdsproxy watch prints the same as lines, xdsproxy status and xdsproxy check sum it up")
		}
		src, err := a.open(name)
		if err != nil {
			return err
		}
		_ = src.Close()
		_, err = tui.Run(cmd.Context(), a.screenOf(src), a.screenOptions())
		return err
	})
	return cmd
}

// screenOf makes a source that the screen can open again and again.
func (a *app) screenOf(src *source) tui.Source {
	live := false // scripts are not
	if src.file {
		facts, err := recorder.Inspect(src.name)
		live = err == nil && !facts.Complete
	}
	return tui.Source{
		Name: src.name,
		Live: live,
		Open: func() (tui.Reader, error) {
			again, err := a.open(src.name)
			if err != nil {
				return nil, err
			}
			return again, nil
		},
		Facts: func() (recorder.Facts, error) { return recorder.Inspect(src.name) },
	}
}

func (a *app) screenOptions() tui.Options {
	return tui.Options{}
}
