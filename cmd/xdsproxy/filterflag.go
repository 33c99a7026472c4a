package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

// filterFlag adds --filter, with completion of keys and of the words that they
// take.
func filterFlag(cmd *cobra.Command, p *string) {
	cmd.Flags().Var(settings.NewText(p, "FILTER"), "filter", "only what it wants, such as 'type:cds kind:nack' or at:12:41..12:43; see xdsproxy help filters")
	// The error is impossible: the flag exists.
	_ = cmd.RegisterFlagCompletionFunc("filter", func(_ *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
		return completeFilter(text), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
}

// completeFilter proposes what may come instead of the last word of a filter.
func completeFilter(text string) []string {
	begin := strings.LastIndexByte(text, ' ') + 1
	if strings.HasPrefix(text[begin:], "-") {
		begin++
	}
	name, values, keyed := strings.Cut(text[begin:], ":")
	if !keyed {
		return complete(text[:begin], name, filter.Keys(), func(k filter.Key) string { return k.Name + ":\t" + k.About })
	}
	last := len(text) - len(values) + strings.LastIndexByte(values, ',') + 1
	return complete(text[:last], text[last:], filter.Values(strings.ToLower(name)), func(v string) string { return v })
}

// complete returns the candidates that begin with prefix, after what was
// written before.
func complete[T any](before, prefix string, all []T, word func(T) string) []string {
	var out []string
	for _, candidate := range all {
		if w := word(candidate); strings.HasPrefix(w, strings.ToLower(prefix)) {
			out = append(out, before+w)
		}
	}
	return slices.Clip(out)
}
