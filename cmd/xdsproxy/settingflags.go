package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addTo makes the setting a flag.
func (s *setting) addTo(flags *pflag.FlagSet) {
	f := flags.VarPF(s.value, s.name, s.short, s.help)
	f.Annotations = map[string][]string{groupKey: {s.group}}
	if _, ok := s.value.(*boolValue); ok {
		f.NoOptDefVal = "true"
	}
}

// complete lets the shell complete what the flag of a command may be set to;
// without it that is a file.
func (s *setting) complete(cmd *cobra.Command) {
	switch v := s.value.(type) {
	case choiceValue:
		_ = cmd.RegisterFlagCompletionFunc(s.name, cobra.FixedCompletions(v.of, cobra.ShellCompDirectiveNoFileComp))
	case textValue:
		if v.kind == "DIR" {
			_ = cmd.MarkFlagDirname(s.name)
		}
	}
}

// useSettings gives a command the flags of a few settings of run.
func (a *app) useSettings(cmd *cobra.Command, names ...string) {
	for _, s := range a.config.table {
		if slices.Contains(names, s.name) {
			s.addTo(cmd.Flags())
			s.complete(cmd)
		}
	}
}

// useGroups gives a command the settings of run that help lists under these
// groups.
func (a *app) useGroups(cmd *cobra.Command, groups ...string) {
	for _, s := range a.config.table {
		if slices.Contains(groups, s.group) {
			s.addTo(cmd.Flags())
		}
	}
}

// useScreenSettings gives a command that draws the flags that say how.
func (a *app) useScreenSettings(cmd *cobra.Command) {
	for _, s := range a.config.table {
		if s.group == groupScreen {
			s.addTo(cmd.Flags())
			s.complete(cmd)
		}
	}
}

// useRunSettings gives a command the flags of run, beside those that every
// command has.
func (a *app) useRunSettings(cmd *cobra.Command) {
	for _, s := range a.config.table {
		if s.run {
			s.addTo(cmd.Flags())
			s.complete(cmd)
		}
	}
}
