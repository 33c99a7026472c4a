package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/internal/settings"
)

// useSettings gives a command the flags of a few settings of run.
func (a *cli) useSettings(cmd *cobra.Command, names ...string) {
	a.use(cmd, cmd.Flags(), func(s *settings.Setting) bool { return slices.Contains(names, s.Name) })
}

// useGroups gives a command the settings of run that help lists under these
// groups.
func (a *cli) useGroups(cmd *cobra.Command, groups ...string) {
	a.use(cmd, cmd.Flags(), func(s *settings.Setting) bool { return slices.Contains(groups, s.Group) })
}

// useRunSettings gives a command the flags of run, beside those that every
// command has.
func (a *cli) useRunSettings(cmd *cobra.Command) {
	a.use(cmd, cmd.Flags(), func(s *settings.Setting) bool { return s.Run })
}

// use makes flags of settings. What their values are the shell completes; without
// more it takes them for files.
func (a *cli) use(cmd *cobra.Command, flags *pflag.FlagSet, wanted func(*settings.Setting) bool) {
	for _, s := range a.config.Table {
		if !wanted(s) {
			continue
		}
		s.AddTo(flags)
		switch v := s.Value.(type) {
		case settings.Choice:
			_ = cmd.RegisterFlagCompletionFunc(s.Name, cobra.FixedCompletions(v.Of, cobra.ShellCompDirectiveNoFileComp))
		case settings.Text:
			if v.Kind == "DIR" {
				_ = cmd.MarkFlagDirname(s.Name)
			}
		}
	}
}

// typeFlags gives a command that decodes the settings of which types it knows.
func (a *cli) typeFlags(cmd *cobra.Command) { a.useSettings(cmd, "descriptors", "proto-path") }

// decodes says whether a command has use for them. config only shows settings.
func decodes(cmd *cobra.Command) bool {
	return cmd.Flags().Lookup("descriptors") != nil && cmd.Name() != "config"
}
