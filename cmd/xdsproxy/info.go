package main

import (
	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/input"
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

Of a directory, or a URL that ends in /, it prints a row for each recording
below it and a sum, from indexes alone.

Of a running proxy it prints also where it listens and what is behind it.

Where --memory-past was too small for all that was over, it says how often
something was forgotten: in the running proxy, or in a recording that is read
whole, as check would.

A recording that somebody writes now is "still being written", where the system
tells. One that has no end is "incomplete": after a crash, or as a copy that was
made too early. In an archive no segment says that it is the last one, so info
says up to which segment the recording is there.

A recording whose bytes were changed is damaged: the facts are those of the part
before, and the exit code is 12. With --strict it is 12, too,
if entries are missing because the log could not keep up.`,
		Example: `xdsproxy info @last
xdsproxy info session.xdsp -o json
xdsproxy info s3://archive/cluster=prod/date=2026-11-26/`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		name, err := oneSource(args)
		if err != nil {
			return err
		}
		if input.IsMany(name) {
			if all {
				return misused("--all is about one recording").Hint("xdsproxy check %s reads all of all", shellWord(name))
			}
			return a.infoOfMany(cmd.Context(), name, output, strict)
		}
		src, err := a.opener().Open(name)
		if err != nil {
			return err
		}
		defer src.Close()
		i, failure := a.opener().Info(cmd.Context(), src, all, a.config.Accounting())
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
