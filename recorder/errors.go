package recorder

import (
	"errors"
	"fmt"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// errClosed is what a Reader says after Close.
var errClosed = errors.New("the recording was closed")

// FormatError says that something is not a recording at all, or that it does not
// begin as one any more.
type FormatError struct {
	Path   string // "" when it was not read from a file
	Reason string
	// Damaged says that near its beginning it looks like a recording, which Salvage
	// may rescue. It is said of files only.
	Damaged bool
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s is not a recording: %s", nameOf(e.Path), e.Reason)
}

// VersionError says that a recording is of a format this program cannot read.
type VersionError struct {
	Path    string
	Version uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("cannot read %s: its format version is %d, and only version %d is known",
		nameOf(e.Path), e.Version, format.Version)
}

// DamageError says that bytes inside a recording are not what was written.
// Everything before was read; a recording that merely ends early is not
// damaged.
type DamageError struct {
	Path     string
	Offset   int64       // of the frame that is damaged
	AfterSeq session.Seq // the last entry before it
	Reason   string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d, after entry %d: %s",
		nameOf(e.Path), e.Offset, e.AfterSeq, e.Reason)
}

func nameOf(path string) string {
	if path == "" {
		return "the input"
	}
	return path
}
