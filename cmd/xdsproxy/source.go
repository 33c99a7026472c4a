package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/recorder"
)

const lastSource = "@last"

// source is a recording opened for reading.
type source struct {
	*recorder.Reader
	name string // as it can be given to a command; "-" for standard input
	file bool   // it is one, so that one can go anywhere in it
	// script says that it was written by hand, with times of its own: a
	// conversation script, or a file that Envoy would read.
	script bool
	// line is the line of a conversation script that an entry comes from; nil
	// for everything else.
	line func(session.Seq) int
	// viewer is the running proxy that it comes from, nil if from none, and
	// remote its Reader then.
	viewer *serve.Client
	remote *serve.Reader

	following bool
	held      *session.Entry // read, but not yet given
}

// Follow says whether Next waits at the end of a recording that is still being
// written.
func (s *source) Follow(on bool) {
	s.following = on
	if s.remote == nil {
		s.Reader.Follow(on)
		return
	}
	s.remote.Follow(on)
	s.remote.Limit(0)
	if !on { // what comes meanwhile is not part of it
		s.remote.Limit(s.viewer.Info().Facts.LastSeq)
	}
}

// Close lets go of it.
func (s *source) Close() error {
	if s.remote != nil {
		return s.remote.Close()
	}
	return s.Reader.Close()
}

// all are the facts of all of it, as far as they can be had without reading it.
func (s *source) all() recorder.Facts {
	switch {
	case s.viewer != nil:
		return s.viewer.Info().Facts
	case s.file:
		if all, err := recorder.Inspect(s.name); err == nil || damaged(err) {
			return all
		}
	}
	return s.Facts()
}

// Next returns the next entry. The error of ctx comes before what it has done to
// a pipe.
func (s *source) Next(ctx context.Context) (e session.Entry, err error) {
	switch {
	case s.held != nil:
		e, s.held = *s.held, nil
		return e, nil
	case s.remote != nil:
		e, err = s.remote.Next(ctx)
	default:
		e, err = s.Reader.Next(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return e, err
}

// first returns the first entry, which Next returns again.
func (s *source) first(ctx context.Context) (*session.Entry, error) {
	e, err := s.Next(ctx)
	if err != nil {
		return nil, err
	}
	s.held = &e
	return &e, nil
}

// open opens a SOURCE; "" is the running proxy of this user, else @last, which is
// then said.
func (a *app) open(name string) (*source, error) {
	asked := name
	if name == "-" {
		if console.IsTerminal(a.stdin) {
			return nil, misused("standard input is a terminal, not a recording").
				Hint("name a recording, or %s for the newest", lastSource)
		}
		return a.openPipe(name, a.stdin)
	}
	if isScript(name) {
		return openScript(name)
	}
	if isResources(name) {
		return a.openResources(name)
	}
	addr, distant := viewerAddr(name)
	if name == "" {
		addr, distant = a.local()
	}
	if distant {
		return a.openViewer(addr)
	}
	name, err := sourcePath(name)
	if err != nil {
		return nil, err
	}
	if asked == "" {
		a.say("reading %s (%s)", name, lastSource)
	}
	if isNamedPipe(name) {
		return a.openPipe(name, &namedPipe{name: name})
	}
	r, err := recorder.Open(name)
	if err != nil {
		return nil, unreadable(err)
	}
	info, err := os.Stat(name)
	return &source{Reader: r, name: name, file: err == nil && info.Mode().IsRegular()}, nil
}

// sourcePath is the file that a SOURCE names.
func sourcePath(name string) (string, error) {
	if _, is := viewerAddr(name); is {
		return "", misused("%q is a running proxy, and a file is wanted", name)
	}
	if name != "" && name != lastSource {
		return name, nil
	}
	path, err := recorder.Last()
	if err != nil {
		return "", noLast(err)
	}
	return path, nil
}

func noLast(err error) error {
	f := failed("%w", err)
	if errors.Is(err, fs.ErrNotExist) {
		f = failed("there is no recording yet")
	}
	return f.Hint("make one: xdsproxy run --upstream ADDR, or xdsproxy demo --once").
		Hint("xdsproxy config says where recordings are kept")
}

// unreadable gives an error of reading its hints and its exit code.
func unreadable(err error) error {
	var (
		damage  *recorder.DamageError
		version *recorder.VersionError
		format  *recorder.FormatError
	)
	f := &failure{Err: err, Code: console.ExitFailed}
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
		if damage.Path != "" {
			f.Hint("write a clean copy with: %s", repairCommand(damage.Path))
		}
	case errors.As(err, &version):
		f.Code = console.ExitUnknownVersion
		f.Hint("read it with the version of xdsproxy that wrote it, or a newer one")
	case errors.As(err, &format):
		f.Hint("recordings are files that xdsproxy run or xdsproxy demo wrote; their names end in .xdsp")
	case errors.Is(err, fs.ErrNotExist):
		f.Hint("%s is the newest recording; xdsproxy config says where recordings are kept", lastSource)
	}
	return f
}

// oneSource returns the argument of a command that takes at most one SOURCE.
func oneSource(args []string) (string, error) {
	switch len(args) {
	case 0:
		return "", nil
	case 1:
		return args[0], nil
	}
	return "", misused("one SOURCE at a time, but got %d", len(args))
}

// completeSource completes the first argument: files, and the other sources.
func completeSource(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if prefix != "" && strings.HasPrefix("unix:", prefix[:min(len(prefix), 5)]) {
		var sockets []string
		for _, path := range serve.Local() {
			sockets = append(sockets, "unix:"+path+"\ta running proxy")
		}
		if len(sockets) > 0 {
			return sockets, cobra.ShellCompDirectiveNoFileComp
		}
	}
	if prefix != "" && prefix[0] == '@' {
		return []string{fmt.Sprintf("%s\tthe newest recording", lastSource)}, cobra.ShellCompDirectiveNoFileComp
	}
	return sourceEndings, cobra.ShellCompDirectiveFilterFileExt
}

// sourceEndings are those of the files that are completed.
var sourceEndings = []string{"xdsp", "xds", "yaml", "yml", "json", "pb_text", "pb"}

// completeSources completes every argument with sources.
func completeSources(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeSource(cmd, nil, prefix)
}
