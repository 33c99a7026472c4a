package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/build"
)

func newVersion(a *cli) *cobra.Command {
	output := "text"
	cmd := plainCommand(&cobra.Command{
		Use:   "version [-o text|json]",
		Short: "Print the version",
		Long: `Prints the version of this program: of its source, of Go, of the xDS API whose
messages it can decode, and of the recordings that it writes.`,
		Example: `xdsproxy version
xdsproxy version -o json`,
	}, func(cmd *cobra.Command, args []string) error {
		if err := noArguments(cmd, args); err != nil {
			return err
		}
		if output == "json" {
			return a.console().JSON(build.Read())
		}
		v := build.Read()
		rows := [][2]string{
			{"version", v.Version},
			{"commit", v.Commit},
			{"date", v.Date},
			{"go", v.Go + " " + v.Platform},
			{"xDS API", v.XDS},
			{"recording format", fmt.Sprint(v.Format)},
		}
		switch {
		case v.Modified:
			rows[1][1] += " (modified)"
		case v.Anonymous():
			rows[1][1] = "unknown: it was built without what git knows (-buildvcs=false, or not in a clone)"
		}
		return a.console().Pairs(rows)
	})
	outputFlag(cmd, &output, "text", "json")
	return cmd
}
