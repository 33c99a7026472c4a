package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// maxProposed bounds the names that a shell is given.
const maxProposed = 1000

// completeTree completes a SOURCE and then one of its clients.
func (a *cli) completeTree(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return a.clientNames(args[0]), cobra.ShellCompDirectiveNoFileComp
	}
	return completeSource(cmd, args, prefix)
}

// completeClient completes a flag with the clients of the SOURCE that was named
// before it.
func (a *cli) completeClient(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.clientNames(args[0]), cobra.ShellCompDirectiveNoFileComp
}

// clientNames are the node ids in a source, as far as they can be had at once:
// of a recording from its index, of what is written by hand from all of it.
func (a *cli) clientNames(name string) []string {
	quiet := *a
	quiet.stderr, quiet.config.Quiet = io.Discard, true
	if _, distant := input.ViewerAddr(name); distant || name == "-" {
		return nil
	}
	src, err := quiet.opener().Open(name)
	if err != nil {
		return nil
	}
	defer src.Close()
	names := map[string]bool{}
	meet := func(id string) {
		// A shell takes lines, and shows what it takes.
		if id != "" && render.Safe(id) == id && len(names) < maxProposed {
			names[id] = true
		}
	}
	if src.File {
		_, _ = src.Clients(a.ctx, meet) // what there is helps
	} else {
		_ = input.Each(a.ctx, src, check.NewTracker(), func(_ *session.Entry, c *check.Change) error {
			meet(c.Client)
			return nil
		})
	}
	var out []string
	for id := range names {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}
