package playback

import (
	"context"
	"errors"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/replay/fault"
	"github.com/xdsproxy/xdsproxy/session"
)

// parseFaults reads what --fault was given, and makes their filters.
func (r *Replay) parseFaults() error {
	if len(r.Faults) == 0 {
		return nil
	}
	set := &fault.Set{}
	for _, text := range r.Faults {
		f, err := fault.Parse(text, r.As == "server")
		if err != nil {
			wrong := console.Misused("--fault: %w", err)
			if e, is := errors.AsType[*fault.Error](err); is {
				wrong.Hint("%s", e.Hint)
			}
			return wrong
		}
		q, err := input.ParseQuery(f.Filter)
		if err != nil {
			return err
		}
		set.All, r.queries = append(set.All, f), append(r.queries, q)
	}
	r.Options.Faults = set
	if need := set.Patience(); !r.IdleGiven && need > r.Options.Idle {
		r.Options.Linger = need
	}
	return nil
}

// announceLinger says that the replay waits longer than it would without its
// faults.
func (r *Replay) announceLinger() {
	if r.Options.Linger > 0 {
		r.Say("ends after %s without a message, so that what the faults lead to can be seen; --idle says otherwise", r.Options.Linger)
	}
}

// watching looks at each entry of the recording while the plan is made of it:
// what its server did wrong, and where faults are to be done.
func (r *Replay) watching(ctx context.Context, src *input.Source) (func(*session.Entry), error) {
	faults := r.Options.Faults
	if r.trial == nil && faults == nil {
		return func(*session.Entry) {}, nil
	}
	var k input.Stepper = check.NewChecker(r.Judge)
	if r.trial != nil {
		k = r.trial.recorded
	}
	var asks []func(*session.Entry, *check.Change) bool
	for _, q := range r.queries {
		if _, err := q.Places(ctx, src, filter.Everything()); err != nil {
			return nil, err
		}
		asks = append(asks, q.Asker())
	}
	return func(e *session.Entry) {
		c := k.Step(e)
		if faults != nil {
			faults.See(e, &c.Change, func(i int) bool { return asks[i](e, &c) })
		}
	}, nil
}

// aimless says of a fault that it would be done to nothing.
func (r *Replay) aimless() error {
	f, matches := r.Options.Faults.Idle()
	if f == nil {
		return nil
	}
	what := "xdsproxy watch " + console.ShellWord(r.source)
	if f.Filter != "" {
		what += " --filter " + console.ShellWord(f.Filter)
	}
	return console.Failed("--fault %q is done to nothing: the recording has %d of what it is for", f.String(), matches).Hint("%s lists what the filter wants", what)
}
