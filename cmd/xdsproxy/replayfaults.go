package main

import (
	"context"
	"errors"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/replay/fault"
)

// textsValue are texts, one each time that the flag is given.
type textsValue struct {
	p    *[]string
	kind string
}

func (v textsValue) String() string     { return strings.Join(*v.p, " ") }
func (v textsValue) Type() string       { return v.kind }
func (v textsValue) Set(s string) error { *v.p = append(*v.p, s); return nil }

// parseFaults reads what --fault was given, and makes their filters.
func (r *replaying) parseFaults() error {
	if len(r.faults) == 0 {
		return nil
	}
	set := &fault.Set{}
	for _, text := range r.faults {
		f, err := fault.Parse(text, r.as == "server")
		if err != nil {
			wrong := misused("--fault: %w", err)
			if e, is := errors.AsType[*fault.Error](err); is && e.Hint != "" {
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
	r.options.Faults = set
	if need := set.Patience(); !r.idleGiven && need > r.options.Idle {
		r.options.Linger = need
	}
	return nil
}

// announceLinger says that the replay waits longer than it would without its
// faults.
func (r *replaying) announceLinger() {
	if r.options.Linger > 0 {
		r.say("ends after %s without a message, so that what the faults lead to can be seen; --idle says otherwise", r.options.Linger)
	}
}

// completeFault proposes a kind, or what may come next in the filter behind it.
func (r *replaying) completeFault(text string) []string {
	kind, rest, filtered := strings.Cut(text, ":")
	if !filtered {
		names := fault.Names(r.as == "server")
		if r.as == "" {
			names = append(names, fault.Names(true)...)
		}
		return complete("", kind, names, func(n string) string { return n + ":" })
	}
	out := completeFilter(rest)
	for i := range out {
		out[i] = kind + ":" + out[i]
	}
	return out
}

// watching looks at each entry of the recording while the plan is made of it:
// what its server did wrong, and where faults are to be done.
func (r *replaying) watching(ctx context.Context, src *input.Source) (func(*session.Entry), error) {
	faults := r.options.Faults
	if r.trial == nil && faults == nil {
		return func(*session.Entry) {}, nil
	}
	var k input.Stepper = check.NewChecker(r.config.Judging())
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
func (r *replaying) aimless() error {
	f, matches := r.options.Faults.Idle()
	if f == nil {
		return nil
	}
	what := "xdsproxy watch " + shellWord(r.source)
	if f.Filter != "" {
		what += " --filter " + shellWord(f.Filter)
	}
	return failed("--fault %q is done to nothing: the recording has %d of what it is for", f.String(), matches).Hint("%s lists what the filter wants", what)
}
