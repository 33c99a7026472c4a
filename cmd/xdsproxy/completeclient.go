package main

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

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
	return a.proposed(name, "", func(ctx context.Context, src *input.Source, meet func(string)) {
		if src.File {
			_, _ = src.Clients(ctx, meet) // what there is helps
			return
		}
		eachChange(ctx, src, func(c *check.Change) { meet(c.Client) })
	})
}

// resourceNames are the names of resources in a source that begin with prefix, as
// far as they are met in time.
func (a *cli) resourceNames(name, prefix string) []string {
	return a.proposed(name, prefix, func(ctx context.Context, src *input.Source, meet func(string)) {
		eachChange(ctx, src, func(c *check.Change) {
			if c.Message == nil || c.Response == nil {
				return
			}
			for _, n := range c.Message.ResourceNames() {
				meet(n)
			}
			for _, n := range c.Message.Removed {
				meet(n)
			}
		})
	})
}

func eachChange(ctx context.Context, src *input.Source, meet func(*check.Change)) {
	_ = input.Each(ctx, src, check.NewTracker(nil), func(_ *session.Entry, c *check.Change) error { // what there is helps
		meet(c)
		return nil
	})
}

// patience is how long who pressed a key waits for names.
const patience = 2 * time.Second

// proposed are names that a source is asked for, in order, of those that begin
// with prefix; none of what is far away or comes once.
func (a *cli) proposed(name, prefix string, ask func(ctx context.Context, src *input.Source, meet func(string))) []string {
	quiet := *a
	quiet.stderr, quiet.config.Quiet = io.Discard, true
	if _, distant := input.ViewerAddr(name); distant || name == "-" || input.IsURL(name) {
		return nil
	}
	src, err := quiet.opener().Open(name)
	if err != nil {
		return nil
	}
	defer src.Close()
	ctx, enough := context.WithTimeout(a.ctx, patience)
	defer enough()
	names := map[string]bool{}
	ask(ctx, src, func(n string) {
		if n != "" && strings.HasPrefix(n, prefix) && len(names) < maxProposed {
			names[n] = true
		}
	})
	return safeNames(slices.Sorted(maps.Keys(names)))
}

// safeNames are those that a shell can be given: it takes lines, and shows what
// it takes.
func safeNames(names []string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return render.Safe(n) != n })
}
