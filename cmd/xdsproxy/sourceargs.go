package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/serve"
)

// oneSource returns the argument of a command that takes at most one SOURCE.
func oneSource(args []string) (string, error) {
	switch len(args) {
	case 0:
		return "", nil
	case 1:
		return args[0], nil
	}
	return "", misused("one SOURCE at a time, but got %d", len(args))
}

// completeSource completes the first argument: files, and the other sources.
func completeSource(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if prefix != "" && strings.HasPrefix("unix:", prefix[:min(len(prefix), 5)]) {
		var sockets []string
		for _, path := range serve.Local() {
			sockets = append(sockets, "unix:"+path+"\ta running proxy")
		}
		if len(sockets) > 0 {
			return sockets, cobra.ShellCompDirectiveNoFileComp
		}
	}
	if prefix != "" && prefix[0] == '@' {
		return []string{fmt.Sprintf("%s\tthe newest recording", input.Last)}, cobra.ShellCompDirectiveNoFileComp
	}
	return sourceEndings, cobra.ShellCompDirectiveFilterFileExt
}

// sourceEndings are those of the files that are completed.
var sourceEndings = []string{"xdsp", "xds", "yaml", "yml", "json", "pb_text", "pb"}

// completeSources completes every argument with sources.
func completeSources(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeSource(cmd, nil, prefix)
}
