package console

import (
	"errors"
	"io/fs"
	"os/exec"
)

// The exit codes that a shell has for a command that cannot be run.
const (
	exitCannotRun = 126
	exitNoCommand = 127
)

// Runnable says why a command cannot be run.
func Runnable(command string) error {
	_, err := exec.LookPath(command)
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		f := Failed("cannot run %q: no such command", command).Hint("name it with its path, or put its directory into PATH")
		f.Code = exitNoCommand
		return f
	case err != nil:
		return NotRunnable(command, err)
	}
	return nil
}

// NotRunnable is the failure of a command that could not be started.
func NotRunnable(command string, err error) *Failure {
	code := exitCannotRun
	if errors.Is(err, fs.ErrNotExist) {
		code = exitNoCommand
	}
	// What lies beneath the name of the command, which is said anyway.
	if inner, is := errors.AsType[*exec.Error](err); is {
		err = inner.Err
	}
	if inner, is := errors.AsType[*fs.PathError](err); is {
		err = inner.Err
	}
	f := Failed("cannot run %q: %s", command, err)
	f.Code = code
	return f
}
