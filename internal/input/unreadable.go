package input

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// Unreadable gives an error of reading its hints and its exit code.
func Unreadable(err error) error {
	var (
		damage  *recorder.DamageError
		version *recorder.VersionError
		format  *recorder.FormatError
	)
	if console.Said(err) {
		return err
	}
	f := hinted(&console.Failure{Err: err, Code: console.ExitFailed}, err)
	if _, is := errors.AsType[*serve.Error](err); is {
		return unseen(err)
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, console.ErrClosedPipe):
		return err
	case errors.As(err, &damage):
		f.Code = console.ExitDamaged
		if damage.AfterSeq > 0 {
			f.Hint("entries up to %d are readable", damage.AfterSeq)
		}
		if damage.Path != "" && !IsURL(damage.Path) {
			f.Hint("write a clean copy with: %s", RepairCommand(damage.Path))
		}
	case errors.As(err, &version):
		f.Code = console.ExitUnknownVersion
		f.Hint("read it with the version of xdsproxy that wrote it, or a newer one")
	case errors.As(err, &format) && format.Damaged:
		f.Hint("it looks like a recording whose header is damaged; rescue its entries with: %s", RepairCommand(format.Path))
	case errors.As(err, &format):
		f.Hint("recordings are files that xdsproxy run or xdsproxy demo wrote; xdsproxy import makes one of a capture, a log or a dump")
	case noSuchFile(err):
		f.Hint("%s is the newest recording; xdsproxy config says where recordings are kept", Last)
	}
	return f
}

// Damaged says whether an error is damage, before which something can be read.
func Damaged(err error) bool {
	_, is := errors.AsType[*recorder.DamageError](err)
	return is
}

// RepairCommand is how to rescue a recording into a file beside it.
func RepairCommand(name string) string {
	fixed := strings.TrimSuffix(name, filepath.Ext(name)) + "-fixed.xdsp"
	return fmt.Sprintf("xdsproxy export %s --repair -w %s", console.ShellWord(name), console.ShellWord(fixed))
}
