package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

// schema names the machine-readable forms, in every object of them.
const schema = render.Schema

// mostNamed is how many forms have room beside their flag.
const mostNamed = 9

// outputFlag adds -o, which takes one of some forms.
func outputFlag(cmd *cobra.Command, p *string, forms ...string) {
	usage := "form of the output"
	if len(forms) > mostNamed {
		usage = "`FORM` of the output, as listed above"
	}
	f := cmd.Flags().VarPF(settings.NewChoice(p, forms...), "output", "o", usage)
	f.Annotations = map[string][]string{settings.GroupKey: {settings.GroupOutput}}
	// The error is impossible: the flag exists.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
}

// paging lets a command print through a pager.
func (a *cli) paging(run func(cmd *cobra.Command, args []string) error) func(cmd *cobra.Command, args []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return a.console().Paging(func(to io.Writer) error {
			own := a.stdout
			defer func() { a.stdout = own }()
			a.stdout = to
			return run(cmd, args)
		})
	}
}
