package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/xdsproxy/xdsproxy/internal/clip"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/proxy/rewrite"
)

// The exit codes that scripts rely on. Findings and differences have codes of
// their own, so that they never look like failures.
const (
	ExitDone           = 0
	ExitFailed         = 1
	ExitUsage          = 2
	ExitFindings       = 10
	ExitDifferences    = 11
	ExitDamaged        = 12
	ExitUnknownVersion = 13
	ExitInterrupted    = 130
)

// Failure is an error as a person reads it: one sentence, what may help, and
// the exit code.
type Failure struct {
	Err   error
	Hints []string
	Code  int
	Usage string // the form of the command; only of usage errors
	// Aloof says that the form of the command does not help: the fault is not
	// in how it was called.
	Aloof bool
	// Silent says that what there is to say has been printed.
	Silent bool
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap is for errors.Is and errors.As.
func (f *Failure) Unwrap() error { return f.Err }

// Hint adds a line that says what to do about it, if there is something to say.
func (f *Failure) Hint(format string, args ...any) *Failure {
	if hint := fmt.Sprintf(format, args...); hint != "" {
		f.Hints = append(f.Hints, hint)
	}
	return f
}

// Adding adds the hint that an error brings along.
func (f *Failure) Adding(err error) *Failure {
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
	return f.Hint("%s", hint)
}

// Failed is a failure of the work: network, disk, upstream.
func Failed(format string, args ...any) *Failure {
	return &Failure{Err: fmt.Errorf(format, args...), Code: ExitFailed}
}

// Misused is a failure of the one who called us: flags, arguments, settings.
func Misused(format string, args ...any) *Failure {
	return &Failure{Err: fmt.Errorf(format, args...), Code: ExitUsage}
}

// Misconfigured is a failure of the environment or the configuration file.
func Misconfigured(format string, args ...any) *Failure {
	f := Misused(format, args...)
	f.Aloof = true
	return f
}

// ErrDifferences ends a command that has printed what differs.
var ErrDifferences error = &Failure{Err: errors.New("there are differences"), Code: ExitDifferences, Silent: true}

// Overwriting is an error of a file that cannot be created.
func Overwriting(what string, err error) error {
	f := Failed("%s: %w", what, err)
	if errors.Is(err, fs.ErrExist) {
		f.Hint("nothing is overwritten; name another file with -w FILE, or remove this one")
	}
	return f
}

// Said says whether an error is complete as it is: it has its words, or it is
// the end that somebody asked for.
func Said(err error) bool {
	_, is := errors.AsType[*Failure](err)
	return is || errors.Is(err, context.Canceled)
}

// MaxSentence is how much, in bytes, is printed of what somebody else may have
// put into a sentence.
const MaxSentence = 8 << 10

func bounded(s string) string { return clip.Text(s, MaxSentence) }

// Print writes what there is to say.
func (f *Failure) Print(w io.Writer) {
	if f.Silent {
		return
	}
	fmt.Fprintf(w, "xdsproxy: error: %s\n", render.SafeLines(bounded(f.Err.Error())))
	if f.Usage != "" {
		fmt.Fprintf(w, "usage: %s\n", f.Usage)
	}
	for _, h := range f.Hints {
		fmt.Fprintf(w, "xdsproxy: hint: %s\n", render.SafeLines(bounded(h)))
	}
}
