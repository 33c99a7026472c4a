package recorder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// DefaultPath is where a recording goes that nobody named: a file in the state
// directory called after the time and this process. It makes the directories.
func DefaultPath(now time.Time) (string, error) {
	state, err := StateDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(state, "recordings")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cannot make the directory for recordings: %w", err)
	}
	name := now.UTC().Format("20060102T150405.000Z") + "-" + strconv.Itoa(os.Getpid()) + ".xdsp"
	return filepath.Join(dir, name), nil
}

// MarkLast makes path the recording that Last returns.
func MarkLast(path string) error {
	state, err := StateDir()
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		err = os.MkdirAll(state, 0o700)
	}
	if err == nil {
		// Put into place in one step: a reader finds the old one or the new.
		link := filepath.Join(state, "last")
		next := link + "." + strconv.Itoa(os.Getpid())
		_ = os.Remove(next)
		if err = os.Symlink(path, next); err == nil {
			err = os.Rename(next, link)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot note the last recording: %w", err)
	}
	return nil
}

// Last is the path of the recording that was started last, wherever it is. If
// there is none, or it is gone, the error is fs.ErrNotExist.
func Last() (string, error) {
	state, err := StateDir()
	if err != nil {
		return "", err
	}
	path, err := os.Readlink(filepath.Join(state, "last"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no last recording in %s: %w", state, fs.ErrNotExist)
	}
	if err != nil {
		return "", fmt.Errorf("cannot find the last recording: %w", err)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the last recording cannot be used: %w", err)
	}
	return path, nil
}

// StateDir is where recordings are kept. It follows the XDG base directory specification, by which a relative
// path in the variable does not count.
func StateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "xdsproxy"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("cannot find the state directory: %w", err)
	}
	return filepath.Join(home, ".local", "state", "xdsproxy"), nil
}
