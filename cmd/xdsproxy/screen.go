package main

import (
	"context"
	"io"

	"google.golang.org/grpc/grpclog"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/tui"
)

// canDraw says whether there is a terminal to draw on and to type at.
func (a *app) canDraw() bool { return isTerminal(a.stdout) && isTerminal(a.stdin) }

// draw shows a source until the person leaves. What would go to standard error
// meanwhile goes to the message line. A terminal that goes away is no error.
func (a *app) draw(ctx context.Context, src tui.Source) (tui.Outcome, error) {
	src.Notices = new(tui.Notices)
	// gRPC's own log would be written across the frame.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	if c, is := a.stderr.(*curtain); is {
		c.draw(src.Notices.Add)
		defer c.draw(nil)
	}
	return tui.Run(ctx, src, a.screenOptions())
}

// screenOptions are the settings that are about the screen.
func (a *app) screenOptions() tui.Options {
	var o tui.Options
	if a.config.noCheck {
		o.Check.Rules = []*check.Rule{}
	}
	return o
}

// screenOf is a source that is read, as the screen wants it.
func (a *app) screenOf(src *source) tui.Source {
	if src.viewer != nil {
		return a.screenOfViewer(src)
	}
	live := false // scripts are not
	if src.file {
		facts, err := recorder.Inspect(src.name)
		live = err == nil && !facts.Complete
	}
	return tui.Source{
		Name: src.name,
		Live: live,
		Open: func() (tui.Reader, error) {
			again, err := a.open(src.name)
			if err != nil {
				return nil, err
			}
			return again, nil
		},
		Facts: func() (recorder.Facts, error) { return recorder.Inspect(src.name) },
	}
}

// screen is the log of this process, as the screen wants it.
func (r *recording) screen(routes []tui.Route, clients func() int) tui.Source {
	return tui.Source{
		Name: r.place(),
		Live: true,
		Open: func() (tui.Reader, error) {
			reader, err := r.Reader()
			if err != nil {
				return nil, unreadable(err)
			}
			return reader, nil
		},
		Proxy:    &tui.Proxy{Routes: routes, Clients: clients, Stats: r.Stats, Recording: r.place()},
		Annotate: func(n session.Note) { r.Append(session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: &n}) },
		Found:    func(found []check.Finding) { r.note(found) },
	}
}
