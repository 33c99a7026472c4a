// Package playback is a replay and a bisection as a command leads them: it reads
// the recording, puts a proxy between the played side and the live one, runs
// commands beside the play, compares what an Envoy holds, and tells what came of
// it. What is played when is decided in replay.
package playback

import (
	"bufio"
	"context"
	"io"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/server"
	"github.com/xdsproxy/xdsproxy/session"
)

// Replay is a replay as it was asked for.
type Replay struct {
	*input.Opener
	Live
	Judge          check.Options // how the played server and the live one are held against the rules
	As             string        // the side that is played: server or client
	Listen, Target string        // the address of the one or the other
	Client         string        // the recorded one that is played or answered; "" for all
	Idle           time.Duration
	IdleGiven      bool // in so many words
	Output, Write  string
	Faults         []string
	Commands       [][]string // the live side; none: it is started by somebody else
	// CompareDump is the admin endpoint of the Envoy that is played with, or
	// OwnAdmin; "" for no comparison.
	CompareDump string
	Follow      bool   // the recording grows
	Noise       string // a second instance of the present version, or ""
	Options     replay.Options

	source  string         // the SOURCE at hand
	queries []*input.Query // the filters of Options.Faults
	dumped  dumping
	trial   *trial        // of the server; nil if one is played
	trouble *session.Note // what went wrong last between the two, if a proxy was there
	commanded
}

// Run plays each of the sources.
func (r *Replay) Run(ctx context.Context, sources []string) error {
	if err := r.parseFaults(); err != nil {
		return err
	}
	if err := r.toCompare(); err != nil {
		return err
	}
	if r.Follow {
		return r.following(ctx, sources[0])
	}
	return r.runAll(ctx, sources)
}

// known says that the recording has the client that was named.
func (r *Replay) known(plan *replay.Plan) error {
	if r.Client == "" || slices.Contains(plan.Clients, r.Client) {
		return nil
	}
	f := console.Misused("the recording has no client %q", r.Client)
	if best := nearest.Name(r.Client, plan.Clients); best != "" {
		f.Hint("did you mean --client %s?", console.ShellWord(best))
	}
	return f.Hint("xdsproxy status %s lists the clients", console.ShellWord(r.source))
}

// run plays the SOURCE, and returns with what came of it what to make of that.
func (r *Replay) run(ctx context.Context) (*replay.Report, error) {
	if r.As == "client" {
		r.trial = newTrial(r.Judge)
	}
	plan, damage, err := r.plan(ctx)
	if err != nil {
		return nil, err
	}
	defer plan.Close()
	if err := r.aimless(); err != nil {
		return nil, err
	}
	if len(plan.Streams)+len(plan.Pollings) == 0 {
		f := console.Failed("nothing in %q can be replayed: it has no discovery stream and no poll", r.source)
		for _, n := range plan.Notes {
			f.Hint("%s", n)
		}
		return nil, f
	}
	if err := r.known(plan); err != nil {
		return nil, err
	}
	r.choose(plan)
	r.Options.Say = func(text string) { r.Say("%s", text) }
	if r.several {
		r.Options.Say = nil
	}
	if r.Options.Pace.Steps() {
		r.Options.Step = enters(ctx, r.Stdin)
	}
	play := r.asServer
	if r.As == "client" {
		play = r.asClient
	}
	defer r.dismiss()
	report, err := r.relayed(ctx, plan, play)
	if report != nil && report.Streams > 0 {
		report.Notes = append(report.Notes, r.Options.Faults.Undone()...)
	}
	switch {
	case err != nil:
		return report, err
	case r.fate != nil:
		return nil, r.fate
	case r.undumped(report) != nil:
		return report, r.undumped(report)
	case report.Streams == 0 && r.trouble != nil:
		return report, r.unplayed()
	case report.TurnedAway != "" && report.Streams == 0:
		return report, console.Failed("nothing was played: %s", render.Safe(report.TurnedAway)).
			Hint("xdsproxy status %s lists the recorded clients; --client ID names the one to be played", console.ShellWord(r.source))
	case report.Streams == 0 && r.As == "server":
		return report, console.Failed("nothing was played: no client came within %s", server.FirstClient*r.Options.Idle).
			Hint("start the client sooner, or give more time with --idle")
	case report.Streams == 0:
		return report, console.Failed("nothing was played: %s never answered", r.Target)
	case report.Differs(), r.dumped.found != nil && !r.dumped.found.Same:
		return report, console.ErrDifferences
	}
	return report, damage
}

// plan reads the recording. Damage is returned beside the plan of what is before
// it.
func (r *Replay) plan(ctx context.Context) (plan *replay.Plan, damage, err error) {
	src, err := r.Open(r.source)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	var again func() (*recorder.Reader, error)
	if src.File {
		again = src.Again
	}
	src.Follow(false)
	src.Pieces()
	see, err := r.watching(ctx, src)
	if err != nil {
		return nil, nil, err
	}
	done := r.Reading(src)
	plan, err = replay.Read(ctx, r.observed(advancing{src, done, see}), again)
	done.End()
	switch {
	case err != nil && plan == nil:
		return nil, nil, input.Unreadable(err)
	case err != nil:
		return plan, input.Unreadable(err), nil
	case !src.Facts().Complete && !src.Script:
		plan.Notes = append(plan.Notes, "the recording was cut, or is still being written: what came after its end is not played")
	}
	return plan, nil, nil
}

// advancing shows the progress of a reading.
type advancing struct {
	*input.Source
	done *console.Progress
	see  func(*session.Entry)
}

func (s advancing) Next(ctx context.Context) (e session.Entry, err error) {
	s.done.Advance()
	if e, err = s.Source.Next(ctx); err == nil {
		s.see(&e)
	}
	return e, err
}

// enters gives leave for each line that is read.
func enters(ctx context.Context, in io.Reader) <-chan struct{} {
	out := make(chan struct{})
	go func() { // a read of a terminal cannot be interrupted: it ends with the program
		defer close(out)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			select {
			case out <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}
