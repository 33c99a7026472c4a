package bisect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/halve"
)

// Options are those of a bisection.
type Options struct {
	// Client is the node id of the live client that is tried; "" is that of the
	// recorded one, or any if the recording has but one.
	Client string
	// Timeout is how long an answer may take, Wait how long the client may take
	// to come, also after it went away.
	Timeout, Wait time.Duration
	// Say is told what goes on, a sentence at a time; Progress before each trial
	// how many suspects are left. Neither may block for long.
	Say      func(string)
	Progress func(trial, left int)
}

// Result is what came of a bisection.
type Result struct {
	Rejected
	By        string `json:"by,omitempty"` // the live client, if it has another node id
	Resources int    `json:"resources"`    // of the response
	Suspects  int    `json:"suspects"`     // of these, what the client had not accepted before
	Trials    int    `json:"trials"`
	// Accepted says that the live client accepts all of the response.
	Accepted bool      `json:"accepted"`
	Culprits []Culprit `json:"culprits"`
	// Rest says that the client accepts the response without the culprits.
	Rest bool `json:"rest_accepted"`
	// Removals says that it rejects what the response leaves out or removes,
	// whatever else is in it.
	Removals bool     `json:"removals,omitempty"`
	Removed  []string `json:"removed,omitempty"`
	// Fickle are resources that the client accepted one time and rejected
	// another, which ended the search.
	Fickle []string `json:"fickle,omitempty"`
	Notes  []string `json:"notes,omitempty"`

	words string // of the removals
	proof *proof
}

// Culprit is a set of resources that the client rejects, and of which it accepts
// any part.
type Culprit struct {
	Resources []CulpritResource `json:"resources"`
	// Words and Code are those of the client for these alone.
	Words string `json:"words"`
	Code  int32  `json:"code"`
	// Bare says that they were rejected by themselves. Otherwise they are only
	// beside what the client had accepted before.
	Bare bool `json:"bare"`
}

// CulpritResource is a resource of a culprit.
type CulpritResource struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Version string   `json:"version,omitempty"`
	Invalid []string `json:"invalid,omitempty"` // what is seen to be wrong with it
}

// maxRemoved is how many names of removed resources a Bisection lists.
const maxRemoved = 100

// Find gives a rejected response to the live client that connects to l, in
// parts, until it is known which resources it rejects. It closes l. With an
// error it returns what was found before.
func Find(ctx context.Context, l net.Listener, r *Rejection, o Options) (*Result, error) {
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	b := newBench(r, o)
	g := grpc.NewServer(replay.ServerOptions(b.handle)...)
	var serving sync.WaitGroup
	var failed error
	serving.Go(func() { failed = g.Serve(l) })
	s := &searching{trials: &trials{bench: b, timeout: o.Timeout, wait: o.Wait, told: map[[32]byte]outcome{}}, o: o, found: &Result{Culprits: []Culprit{}, proof: &proof{Rejection: r, began: time.Now()}}}
	err := s.search(ctx)
	close(b.over)
	replay.Leave(g)
	serving.Wait()
	if failed != nil && !errors.Is(failed, grpc.ErrServerStopped) {
		return nil, fmt.Errorf("cannot serve: %w", failed)
	}
	f := s.found
	f.proof.asks, f.proof.order = b.asks, b.asked
	f.Rejected, f.Resources, f.Suspects = r.Rejected, r.Resources, len(r.Suspects)
	f.Removed = replay.BoundedNames(r.Removed[:min(len(r.Removed), maxRemoved)])
	if b.bound != r.Client {
		f.By = b.bound
	}
	f.Notes = b.ledger.Report(nil).Notes
	return f, err
}

// searching is a bisection while it goes on.
type searching struct {
	*trials
	o     Options
	found *Result
	// removals says that what the response removes was tried by itself.
	removals bool
	words    map[string]outcome // of trials that were rejected, by their set
}

// errRemovals ends the search: what the response removes is what is rejected.
var errRemovals = errors.New("the removals are rejected")

func (s *searching) search(ctx context.Context) error {
	err := s.halve(ctx)
	if _, is := errors.AsType[*BaseRejectedError](err); is && s.r.Base > 0 && len(s.found.Culprits) == 0 && s.found.Trials <= 1 {
		s.ledger.Note("%v: so all of the response is suspected", err)
		s.r.forget(inspect.New(nil))
		clear(s.told)
		err = s.halve(ctx)
	}
	return err
}

func (s *searching) halve(ctx context.Context) error {
	s.words = map[string]outcome{}
	result, err := halve.Find(ctx, len(s.r.Suspects), s.ask)
	if errors.Is(err, errRemovals) {
		s.found.Removals = true
		return nil
	}
	f := s.found
	f.Accepted, f.Rest, f.Fickle = result.Accepted, result.Rest && err == nil, s.names(result.Fickle)
	if f.Accepted && slices.ContainsFunc(s.r.Suspects, func(p Suspect) bool { return p.new.masked }) {
		s.ledger.Note("secrets in the response were masked when it was recorded: if one of them was what is wrong, it is gone")
	}
	for _, set := range result.Odd {
		s.ledger.Note("%s: rejected without the others of the response, and accepted with them", replay.Few(replay.BoundedNames(s.names(set))))
	}
	if result.Curtailed {
		s.ledger.Note("other sets that share resources with these were not searched for to the end")
	}
	for _, set := range result.Sets {
		if proved := s.prove(ctx, set, err != nil); proved != nil {
			if err == nil {
				err = proved
			}
			f.Rest = false
		}
	}
	return err
}

func (s *searching) names(set []int) []string {
	var out []string
	for _, i := range set {
		out = append(out, s.r.Suspects[i].Name)
	}
	return out
}

// ask is the oracle of the search.
func (s *searching) ask(ctx context.Context, t halve.Trial) (halve.Answer, error) {
	o, err := s.count(ctx, trial{set: t.Set, again: t.Again}, t.Left)
	if err != nil || o.verdict == replay.ACKed {
		return halve.Answer{}, err
	}
	if len(s.r.Removed) > 0 && !s.removals {
		s.removals = true
		only, err := s.count(ctx, trial{}, t.Left)
		if err != nil {
			return halve.Answer{}, err
		}
		if only.verdict == replay.NACKed {
			s.found.words = only.words
			s.keep(only, nil, false)
			return halve.Answer{}, errRemovals
		}
	}
	s.words[fmt.Sprint(t.Set)] = o
	hints := s.r.named(o.words, t.Set)
	if len(t.Set) == len(s.r.Suspects) {
		hints = append(hints, s.r.named(s.r.Words, t.Set)...)
	}
	for _, i := range t.Set {
		if len(s.r.Suspects[i].Invalid) > 0 {
			hints = append(hints, i)
		}
	}
	return halve.Answer{Rejected: true, Hints: hints}, nil
}

// count makes a trial, and counts it, unless it was made before. Without an
// answer nothing is known, and the search ends.
func (s *searching) count(ctx context.Context, q trial, left int) (outcome, error) {
	q.begin = func() {
		s.found.Trials++
		s.o.Progress(s.found.Trials, left)
	}
	o, err := s.try(ctx, q)
	if err == nil && o.verdict == replay.Unanswered {
		what := fmt.Sprintf("trial %d, %d of %d resources", s.found.Trials, len(q.set), s.r.Resources)
		if len(q.set) == len(s.r.Suspects) {
			what = "the response"
		}
		err = s.silent(what)
	}
	return o, err
}

// prove enters a culprit, and tries it by itself, unless the search was given
// up.
func (s *searching) prove(ctx context.Context, set []int, given bool) error {
	c := Culprit{}
	for _, i := range set {
		p := &s.r.Suspects[i]
		c.Resources = append(c.Resources, CulpritResource{Name: p.Name, Type: p.Type, Version: p.Version, Invalid: p.Invalid})
	}
	o := s.words[fmt.Sprint(set)]
	var failed error
	if !given {
		bare, err := s.count(ctx, trial{set: set, bare: true}, len(set))
		switch {
		case err != nil:
			failed = err
		case bare.verdict == replay.NACKed:
			o, c.Bare = bare, true
		default: // it needs what was there; or does the client not know what it wants?
			again, err := s.count(ctx, trial{set: set, again: true}, len(set))
			switch {
			case err != nil:
				failed = err
			case again.verdict == replay.NACKed:
				o = again
			default:
				s.found.Fickle, s.found.Rest = s.names(set), false
				return nil
			}
		}
	}
	c.Words, c.Code = o.words, o.code
	s.found.Culprits = append(s.found.Culprits, c)
	s.keep(o, set, c.Bare)
	return failed
}

// keep remembers a rejection for the proof, if it was said.
func (s *searching) keep(o outcome, set []int, bare bool) {
	if o.line == nil {
		return
	}
	w := turn{suspects: len(set), whole: !bare, words: o.words, code: o.code}
	w.items, w.removed = s.content(set, bare, o.line.delta())
	s.found.proof.turns = append(s.found.proof.turns, w)
}

// RemovalWords are the client's words for what the response removes.
func (f *Result) RemovalWords() string { return f.words }

// Found says whether there is something to show.
func (f *Result) Found() bool { return len(f.Culprits) > 0 || f.Removals }

// Told says whether there is a rejection among the Entries: a client may have
// gone away without one.
func (f *Result) Told() bool { return len(f.proof.turns) > 0 }

// Names are the resources of a culprit.
func (c *Culprit) Names() []string {
	out := make([]string, 0, len(c.Resources))
	for _, r := range c.Resources {
		out = append(out, r.Name)
	}
	slices.Sort(out)
	return out
}
