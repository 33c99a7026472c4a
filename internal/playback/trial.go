package playback

import (
	"context"
	"fmt"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

// trial holds a live server against the one of the recording whose clients are
// played to it: what the rules find it to do wrong, and whether it waits for
// answers.
type trial struct{ recorded, live *hearing }

func newTrial(o check.Options) *trial { return &trial{newHearing(o), newHearing(o)} }

// hearing is one session of the two.
type hearing struct {
	*check.Checker
	waits map[party]*waits
	last  map[session.StreamID]map[string]*engine.Response // by key of the type
}

// party is who is spoken to, of what.
type party struct{ client, typ string }

// waits is how often a server sent a response when the one before it was
// answered, and when it was not.
type waits struct{ patient, hasty int }

func newHearing(o check.Options) *hearing {
	return &hearing{check.NewChecker(o), map[party]*waits{}, map[session.StreamID]map[string]*engine.Response{}}
}

// Step takes the next entry.
func (h *hearing) Step(e *session.Entry) check.Change {
	c := h.Checker.Step(e)
	switch n := c.Response; {
	case c.Ended:
		delete(h.last, e.Stream)
	case n != nil && !c.Variant.Delta():
		of := h.last[e.Stream]
		if of == nil {
			of = map[string]*engine.Response{}
			h.last[e.Stream] = of
		}
		last, who := of[c.Sub.Key], party{c.Client, c.Type}
		of[c.Sub.Key] = n
		if h.waits[who] == nil {
			h.waits[who] = &waits{}
		}
		switch {
		case last == nil:
		case last.Verdict == engine.Unjudged:
			h.waits[who].hasty++
		default:
			h.waits[who].patient++
		}
	}
	return c
}

// offence is what a server did wrong, by rule, client and type: what it did it to
// may depend on the time.
type offence struct{ rule, client, typ string }

// offences are those of the server that are more than notes.
func offences(findings []check.Finding) map[offence]bool {
	all := map[offence]bool{}
	for i := range findings {
		if f := &findings[i]; f.Fault == check.ServerFault && f.Severity != check.Info {
			all[offence{f.Rule.ID, f.Client, f.Type}] = true
		}
	}
	return all
}

// judge enters what a server does wrong in the recording of a replay, and did
// not in the one that was replayed. Where that has holes, it may have; and what
// a rule guesses is no fact.
func (t *trial) judge(ctx context.Context, path string, report *replay.Report) {
	note := func(text string) { report.Notes = append(report.Notes, text) }
	in, err := recorder.Open(path)
	if err != nil {
		note("the server was not judged by the rules: " + err.Error())
		return
	}
	defer in.Close()
	for e, err := range in.Entries(ctx) {
		if err != nil {
			note("the server was not judged by the rules to the end: " + err.Error())
			break
		}
		t.live.Step(&e)
	}
	enter := func(guessed bool, d replay.Difference) {
		what := d.Got
		if d.Detail != "" {
			what += ", " + d.Detail
		}
		switch {
		case guessed:
			note("the server does what it did not in the recording, as far as the rules can guess: " + what)
		case t.recorded.Summary().Gaps > 0:
			note("the server does what it may have done in a hole of the recording: " + what)
		default:
			report.Differences = append(report.Differences, d)
		}
	}
	for who, w := range t.live.waits {
		if was := t.recorded.waits[who]; w.hasty > 0 && was != nil && was.hasty == 0 && was.patient > 0 {
			enter(false, replay.Difference{
				Expected: "each response of " + who.typ + " after the answer to the one before it",
				Got:      fmt.Sprintf("%d that did not wait", w.hasty), Client: who.client, Type: who.typ,
			})
		}
	}
	before, findings := offences(t.recorded.Findings()), t.live.Findings()
	now := offences(findings)
	for i := range findings {
		f := &findings[i]
		id := offence{f.Rule.ID, f.Client, f.Type}
		if !now[id] || before[id] {
			continue
		}
		delete(now, id)
		enter(f.Rule.Confidence == check.Guessed, replay.Difference{
			Expected: "nothing that breaks the rule " + f.Rule.ID, Got: "what breaks the rule " + f.Rule.ID,
			Detail: "in the replay: " + f.Message, Client: f.Client, Type: f.Type, Names: f.Names,
		})
	}
}
