package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

type failure = console.Failure

func failed(format string, args ...any) *failure  { return console.Failed(format, args...) }
func misused(format string, args ...any) *failure { return console.Misused(format, args...) }
func shellWord(s string) string                   { return console.ShellWord(s) }

// incomplete is what --strict makes of a recording with gaps.
func incomplete(gaps uint64) error {
	f := failed("entries are missing in %s", render.Count(gaps, "place", "places"))
	f.Code = console.ExitDamaged
	return f.Hint("they were dropped where the log could not keep up; xdsproxy watch SOURCE --filter kind:gap shows where")
}

// withUsage completes a usage error of a command with the command's form.
func withUsage(cmd *cobra.Command, err error) error {
	var f *failure
	if errors.As(err, &f) && f.Code == console.ExitUsage && !f.Aloof && f.Usage == "" {
		f.Usage = cmd.UseLine()
		f.Hint("%s --help explains it", cmd.CommandPath())
	}
	return err
}

// flagFailure turns what the flag parser says into our own words.
func flagFailure(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		invalid *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
	)
	f := misused("%w", err)
	switch {
	case errors.As(err, &unknown):
		name := "--" + unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			name = "-" + unknown.GetSpecifiedName()
		}
		f = misused("unknown flag %s", name)
		if best := nearest.Name(unknown.GetSpecifiedName(), flagNames(cmd)); best != "" && strings.HasPrefix(name, "--") {
			f.Hint("did you mean --%s?", best)
		}
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "bool":
		f = misused("--%s: %q: neither true nor false", invalid.GetFlag().Name, invalid.GetValue())
	case errors.As(err, &invalid):
		why := errors.Unwrap(invalid)
		f = misused("--%s: %w", invalid.GetFlag().Name, settings.Naming(invalid.GetValue(), why)).Adding(why)
	case errors.As(err, &missing):
		f = misused("--%s needs a value", missing.GetFlag().Name)
	}
	return withUsage(cmd, f)
}

func flagNames(cmd *cobra.Command) []string {
	names := []string{"help"}
	add := func(f *pflag.Flag) { names = append(names, f.Name) }
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return names
}

// unknownCommand words cobra's complaint about the first argument.
func unknownCommand(root *cobra.Command, err error) error {
	var name string
	if _, scan := fmt.Sscanf(err.Error(), "unknown command %q", &name); scan != nil {
		return withUsage(root, misused("%w", err))
	}
	f := misused("unknown command %q", name)
	f.Usage = root.UseLine()
	if best := nearest.Name(name, commandNames(root)); best != "" {
		f.Hint("did you mean xdsproxy %s?", best)
	}
	return f.Hint("xdsproxy --help lists the commands")
}

// strictCompletion makes a shell that is not known an error; cobra prints its help,
// and is content.
func strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return withUsage(cmd, misused("there is no completion for the shell %q", args[0]).
				Hint("there is one for %s", strings.Join(commandNames(cmd), ", ")))
		}
	}
}

func commandNames(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}
