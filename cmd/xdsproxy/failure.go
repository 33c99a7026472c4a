package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/proxy/rewrite"
)

// The exit codes that scripts rely on. Findings and differences have codes of
// their own, so that they never look like failures.
const (
	exitDone           = 0
	exitFailed         = 1
	exitUsage          = 2
	exitFindings       = 10
	exitDifferences    = 11
	exitDamaged        = 12
	exitUnknownVersion = 13
	exitInterrupted    = 130
)

// failure is an error as a person reads it: one sentence, what may help, and
// the exit code.
type failure struct {
	err   error
	hints []string
	code  int
	usage string // the form of the command; only of usage errors
	// aloof says that the form of the command does not help: the fault is not
	// in how it was called.
	aloof bool
	// silent says that what there is to say has been printed.
	silent bool
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// hint adds a line that says what to do about it.
func (f *failure) hint(format string, args ...any) *failure {
	f.hints = append(f.hints, fmt.Sprintf(format, args...))
	return f
}

// adding adds the hint that an error brings along.
func (f *failure) adding(err error) *failure {
	hint := ""
	if wrong, is := errors.AsType[*rewrite.Error](err); is {
		hint = wrong.Hint
	}
	if wrong, is := errors.AsType[interface {
		error
		Hint() string
	}](err); is {
		hint = wrong.Hint()
	}
	if hint != "" {
		f.hint("%s", hint)
	}
	return f
}

// failed is a failure of the work: network, disk, upstream.
func failed(format string, args ...any) *failure {
	return &failure{err: fmt.Errorf(format, args...), code: exitFailed}
}

// misused is a failure of the one who called us: flags, arguments, settings.
func misused(format string, args ...any) *failure {
	return &failure{err: fmt.Errorf(format, args...), code: exitUsage}
}

// misconfigured is a failure of the environment or the configuration file.
func misconfigured(format string, args ...any) *failure {
	f := misused(format, args...)
	f.aloof = true
	return f
}

// maxSentence is how much, in bytes, is printed of what somebody else may have
// put into a sentence.
const maxSentence = 8 << 10

func bounded(s string) string {
	if len(s) <= maxSentence {
		return s
	}
	return strings.ToValidUTF8(s[:maxSentence], "") + "…"
}

func (f *failure) print(w io.Writer) {
	if f.silent {
		return
	}
	fmt.Fprintf(w, "xdsproxy: error: %s\n", render.SafeLines(bounded(f.err.Error())))
	if f.usage != "" {
		fmt.Fprintf(w, "usage: %s\n", f.usage)
	}
	for _, h := range f.hints {
		fmt.Fprintf(w, "xdsproxy: hint: %s\n", render.SafeLines(bounded(h)))
	}
}

// incomplete is what --strict makes of a recording with gaps.
func incomplete(gaps uint64) error {
	f := failed("entries are missing in %s", render.Count(gaps, "place", "places"))
	f.code = exitDamaged
	return f.hint("they were dropped where the log could not keep up; xdsproxy watch SOURCE --filter kind:gap shows where")
}

// withUsage completes a usage error of a command with the command's form.
func withUsage(cmd *cobra.Command, err error) error {
	var f *failure
	if errors.As(err, &f) && f.code == exitUsage && !f.aloof && f.usage == "" {
		f.usage = cmd.UseLine()
		f.hint("%s --help explains it", cmd.CommandPath())
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
			f.hint("did you mean --%s?", best)
		}
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "bool":
		f = misused("--%s: %q: neither true nor false", invalid.GetFlag().Name, invalid.GetValue())
	case errors.As(err, &invalid):
		why := errors.Unwrap(invalid)
		f = misused("--%s: %w", invalid.GetFlag().Name, naming(invalid.GetValue(), why)).adding(why)
	case errors.As(err, &missing):
		f = misused("--%s needs a value", missing.GetFlag().Name)
	}
	return withUsage(cmd, f)
}

// naming puts the value in front of an error that does not say it itself. What
// is to be in a header may be a secret, and is in no error.
func naming(value string, err error) error {
	if _, is := errors.AsType[*rewrite.Error](err); is {
		return err
	}
	quoted := strconv.Quote(value)
	if strings.Contains(err.Error(), quoted) {
		return err
	}
	return fmt.Errorf("%s: %w", quoted, err)
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
	f.usage = root.UseLine()
	if best := nearest.Name(name, commandNames(root)); best != "" {
		f.hint("did you mean xdsproxy %s?", best)
	}
	return f.hint("xdsproxy --help lists the commands")
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
