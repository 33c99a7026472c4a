package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/app"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui"
)

func newDemo(a *cli) *cobra.Command {
	var (
		path, zip string
		once      bool
		pace      = settings.Duration(time.Second)
	)
	cmd := a.command(&cobra.Command{
		Use:   "demo [--once] [-w FILE] [--pace DURATION] [--report FILE.zip]",
		Short: "Watch a control plane, clients and the proxy play a story",
		Long: `Starts a control plane, three clients and the proxy between them, in one process
and on loopback only, and plays a story: start-up, an update, a rejected cluster
that is sent again and again, delta subscriptions, a rotated secret, a restart.
The screen shows what the proxy records; without a terminal, lines are printed
as it happens.

It goes on until you stop it. --once plays one round without pauses, prints it,
and leaves a recording to explore.`,
		Example: `xdsproxy demo

xdsproxy demo --once -w demo.xdsp
xdsproxy watch demo.xdsp -o jsonl

# From nothing to something that one may attach to an issue
xdsproxy demo --report demo.zip`,
	}, func(cmd *cobra.Command, args []string) error {
		if err := noArguments(cmd, args); err != nil {
			return err
		}
		once = once || zip != ""
		if zip != "" && bool(a.config.NoRecord) {
			return misused("--report needs a recording, and with --no-record there is none")
		}
		if _, err := os.Lstat(zip); zip != "" && err == nil {
			return console.Overwriting("cannot write the report", &fs.PathError{Op: "open", Path: zip, Err: fs.ErrExist})
		}
		if once && !cmd.Flags().Changed("pace") {
			pace = 0
		}
		d := &demo{cli: a, pace: time.Duration(pace), once: once}
		if err := d.perform(cmd.Context(), path); err != nil || zip == "" {
			return err
		}
		return a.reportTo(cmd.Context(), d.rec.Path(), zip, a.config.Judging())
	})
	cmd.Flags().BoolVar(&once, "once", false, "play one round and end")
	cmd.Flags().Var(settings.NewText(&zip, "FILE.zip"), "report", "play one round, and write a zip of what was found in it, as xdsproxy report --yes does")
	cmd.Flags().Var(&pace, "pace", "pause before each step")
	writeFlag(cmd, &path)
	a.useSettings(cmd, "max-size", "max-age", "keep", "sync", "no-record", "ring", "memory-past", "viewer", "viewer-allow-remote")
	a.useGroups(cmd, settings.GroupScreen)
	return cmd
}

// demo is a play with the proxy in the middle.
type demo struct {
	*cli
	pace time.Duration
	once bool

	drawn   bool // on the screen
	rec     *app.Recording
	printed atomic.Uint64 // the highest session.Seq on the screen
	example example
}

// example is what the demo tells people to look at: the first cluster that was
// rejected, and why.
type example struct{ response, rejection session.Seq }

func (d *demo) perform(ctx context.Context, path string) error {
	story, err := xdstest.NewStory("127.0.0.1:0")
	if err != nil {
		return failed("cannot start the control plane of the demo: %w", err)
	}
	defer story.Close()
	upstream, err := proxy.ParseAddr(story.Addr())
	if err != nil {
		return err
	}
	h := d.host(true)
	defer h.Sync()
	s, err := h.Assemble(app.Design{Path: path, Alone: true, Relay: proxy.Config{
		Pairs: []proxy.Pair{{Listen: proxy.Addr{Network: "tcp", Address: "127.0.0.1:0"}, Upstream: upstream}}, Drain: time.Second,
	}})
	if err != nil {
		return err
	}
	d.rec, d.drawn = s.Log, !d.once && d.canDraw(false)
	addr := proxy.AddrOf(s.Proxy.Addrs()[0]).String()
	serving, stop := context.WithCancel(context.Background())
	s.Announce(serving, func() {})
	if !d.drawn {
		d.say("# a control plane on %s, the proxy on %s", upstream, addr)
	}
	var relay, screen sync.WaitGroup
	relay.Go(func() { _ = s.Proxy.Serve(serving) }) // it fails only where Listen did
	playing, enough := context.WithCancel(ctx)
	defer enough()
	screen.Go(func() {
		if d.drawn {
			defer enough()
			d.show(playing, s.Routes)
			return
		}
		d.follow()
	})
	err = d.play(playing, story, addr)
	if d.drawn && ctx.Err() == nil {
		err = nil // it was left
	}
	stop()
	if playing.Err() != nil {
		s.Proxy.Close()
	}
	relay.Wait() // it tells of the ends of its connections
	closing := s.Close(context.Background())
	screen.Wait()
	d.rec.Account(d.console())
	if d.example.rejection > 0 && d.rec.Path() != "" {
		name := shellWord(d.rec.Path())
		d.say("what was rejected, and why: xdsproxy show %s %d %d", name, d.example.response, d.example.rejection)
	}
	if err == nil {
		err = closing
	}
	return err
}

func (d *demo) play(ctx context.Context, story *xdstest.Story, addr string) error {
	for {
		err := story.Play(ctx, addr, func(step string) { d.announce(ctx, step) })
		switch {
		case ctx.Err() != nil:
			return context.Canceled
		case err != nil:
			return failed("%w", err)
		case d.once:
			return nil
		}
	}
}

// announce prints the heading of a step below the lines of the step before.
func (d *demo) announce(ctx context.Context, step string) {
	sleep(ctx, d.pace)
	if d.drawn {
		if ctx.Err() == nil {
			d.say("%s", step)
		}
		return
	}
	// The log is a moment behind the play, and its reader another one.
	for due := uint64(d.rec.Stats().Last); d.printed.Load() < due && ctx.Err() == nil; {
		if d.rec.Stats().Lost > 0 {
			break // it may never be printed
		}
		sleep(ctx, 10*time.Millisecond)
	}
	d.say("")
	d.say("# %s", step)
}

// show is the story on the screen.
func (d *demo) show(ctx context.Context, routes []tui.Route) {
	// Its clients are ours: leaving asks nobody.
	if _, err := d.draw(ctx, d.screenOfRecording(d.rec, routes, func() int { return 0 })); err != nil {
		d.warn("the screen ended: %v", err)
	}
}

func sleep(ctx context.Context, t time.Duration) {
	if t <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(t):
	}
}

// follow prints the recording as it grows, and looks for the example in it.
func (d *demo) follow() {
	defer d.printed.Store(^uint64(0))
	src, err := d.rec.Source()
	if err != nil {
		d.warn("%v", err)
		return
	}
	defer src.Close()
	lines, closed := d.printer(d.stdout, "text"), false
	checker := check.NewChecker(d.config.Judging())
	err = input.Each(context.Background(), src, checker, func(e *session.Entry, c *check.Change) error {
		d.rec.Past.Note(e.Seq, checker.Memory())
		if !closed {
			if err := lines.all(e, c); errors.Is(err, console.ErrClosedPipe) {
				closed = true // the play goes on for the recording's sake
			} else if err != nil {
				return err
			}
		}
		d.rec.Note(c.Findings)
		if c.What == engine.NACK && c.Answers > 0 && d.example.rejection == 0 {
			d.example = example{c.Answers, e.Seq}
		}
		d.printed.Store(uint64(e.Seq))
		return nil
	})
	if err == nil && !closed {
		err = lines.rest()
	}
	if err != nil {
		d.warn("nothing more is printed: %v", fmt.Errorf("%s: %w", d.rec.Place(), err))
	}
}
