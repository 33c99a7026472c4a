package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"google.golang.org/grpc/grpclog"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/app"
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui"
	"github.com/xdsproxy/xdsproxy/tui/chosen"
)

// canDraw says whether there is a terminal to draw on and to type at: that of
// this process, if standard input is something else on purpose. One that calls
// itself dumb prints lines, and nothing can be drawn there.
func (a *cli) canDraw(piped bool) bool {
	return console.IsTerminal(a.stdout) && (piped || console.IsTerminal(a.stdin)) && os.Getenv("TERM") != "dumb"
}

// draw shows a source until the person leaves. What would go to standard error
// meanwhile goes to the message line. A terminal that goes away is no error.
func (a *cli) draw(ctx context.Context, src tui.Source) (tui.Outcome, error) {
	src.Notices, src.NoFold = new(tui.Notices), bool(a.config.NoFold)
	// gRPC's own log would be written across the frame.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	if c, is := a.stderr.(*console.Stderr); is {
		c.Draw(src.Notices.Add)
		defer c.Draw(nil)
	}
	o := a.screenOptions()
	var keep func()
	o.Choices, keep = a.choices()
	exported := awaited(&src)
	outcome, err := tui.Run(ctx, src, o)
	exported()
	keep()
	return outcome, a.crashed(err)
}

// choices are what was chosen of columns before, and what keeps them.
func (a *cli) choices() (kept *chosen.All, keep func()) {
	dir, err := recorder.StateDir()
	if bool(a.config.NoRemember) || err != nil {
		return new(chosen.All), func() {}
	}
	path := filepath.Join(dir, "screen.json")
	if kept, err = chosen.Load(path); err != nil {
		a.warn("%v", err)
	}
	return kept, func() {
		if err := kept.Save(path); err != nil {
			a.warn("what was chosen of columns is not kept: %v", err)
		}
	}
}

// crashed keeps what is known of a failure of the screen in a file, without
// anything that passed.
func (a *cli) crashed(err error) error {
	crash, is := errors.AsType[*tui.Crash](err)
	if !is {
		return err
	}
	path, unkept := keepCrash(crash)
	if unkept != nil {
		return failed("%w; where it failed cannot be kept: %w", crash, unkept)
	}
	return failed("%w; the place of the failure, and nothing of the traffic, is in %s", crash, path).Hint("please report it")
}

// keepCrash writes a new file in the state directory.
func keepCrash(c *tui.Crash) (string, error) {
	dir, err := recorder.StateDir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "crash-"+time.Now().UTC().Format("20060102T150405Z")+"-*.txt") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "%s, %s/%s\n%s\n\n%s", build.Line(), runtime.GOOS, runtime.GOARCH, c.Cause, c.Stack)
	if closing := f.Close(); err == nil {
		err = closing
	}
	return f.Name(), err
}

// screenOptions are the settings that are about the screen.
func (a *cli) screenOptions() tui.Options {
	o := tui.Options{
		Check: a.config.Judging(),
		Theme: a.config.Theme, Color: a.config.Color, ASCII: bool(a.config.Ascii), NoMouse: bool(a.config.NoMouse),
	}
	if a.config.NoCheck {
		o.Check.Rules = []*check.Rule{}
	}
	return o
}

// screenOf is a source that is read, as the screen wants it.
func (a *cli) screenOf(src *input.Source) tui.Source {
	if src.Viewer != nil {
		return a.screenOfViewer(src)
	}
	live := false // scripts are not
	if src.File {
		facts, err := src.Inspect()
		live = err == nil && !facts.Complete
	}
	var file *notes.File
	if (src.File || src.Script) && !src.IsFar() {
		file = notes.NewFile(src.Name, src.Began())
	}
	return tui.Source{
		Name: src.Name,
		Live: live,
		Open: func() (tui.Reader, error) {
			again, err := a.opener().Open(src.Name)
			if err != nil {
				return nil, err
			}
			return again, nil
		},
		Facts:  func() (recorder.Facts, error) { return src.Inspect() },
		Export: a.exporter(src.Name),
		Notes:  file,
	}
}

// screenOfRecording is the log of this process, as the screen wants it.
func (a *cli) screenOfRecording(r *app.Recording, routes []tui.Route, clients func() int) tui.Source {
	src := tui.Source{
		Name: r.Place(),
		Live: true,
		Open: func() (tui.Reader, error) {
			reader, err := r.Reader()
			if err != nil {
				return nil, input.Unreadable(err)
			}
			return reader, nil
		},
		Proxy:    &tui.Proxy{Routes: routes, Clients: clients, Stats: r.Stats, Recording: r.Place, Archive: r.Archive()},
		Annotate: func(n session.Note) { r.Append(session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: &n}) },
		Found:    func(found []check.Finding) { r.Note(found) },
		Remember: r.Past.Note,
	}
	if r.Path() != "" {
		src.Export = func(ctx context.Context, e tui.ExportRequest) (string, error) {
			return a.exporter(r.Path())(ctx, e) // it may have another by now
		}
	}
	return src
}
