package main

import (
	"context"
	"errors"
	"io"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/replay"
)

// trial holds what the rules find a live server to do wrong against what they
// find in the recording whose clients are played to it.
type trial struct {
	options  check.Options
	recorded *check.Checker
}

func newTrial(c *config) *trial { return &trial{c.judging(), check.NewChecker(c.judging())} }

// unkept is a recording for the time of a replay.
func (r *replaying) unkept(path string, logger *zap.Logger) (*recording, error) {
	rec := &recording{}
	var err error
	if rec.Log, err = recorder.Create(path, r.recorderOptions(logger, &rec.buffers)); err != nil {
		return nil, unwritable(err)
	}
	return rec, nil
}

// offence is what a server did wrong, by rule, client and type: what it did it to
// may depend on the time.
type offence struct{ rule, client, typ string }

// offences are those of the server, that are more than notes and no guesses.
func offences(findings []check.Finding) map[offence]*check.Finding {
	all := map[offence]*check.Finding{}
	for i := range findings {
		f := &findings[i]
		if f.Fault == check.ServerFault && f.Severity != check.Info && f.Rule.Confidence != check.Guessed {
			all[offence{f.Rule.ID, f.Client, f.Type}] = f
		}
	}
	return all
}

// judge enters what a server does wrong in the recording of a replay, and did
// not in the one that was replayed. Where that has holes, it may have.
func (t *trial) judge(ctx context.Context, path string, report *replay.Report) {
	in, err := recorder.Open(path)
	if err != nil {
		report.Notes = append(report.Notes, "the server was not judged by the rules: "+err.Error())
		return
	}
	defer in.Close()
	k := check.NewChecker(t.options)
	for {
		e, err := in.Next(ctx)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				report.Notes = append(report.Notes, "the server was judged by the rules up to here: "+err.Error())
			}
			break
		}
		k.Step(&e)
	}
	before, holes := offences(t.recorded.Findings()), t.recorded.Summary().Gaps > 0
	now := k.Findings()
	told := offences(now)
	for i := range now {
		f := &now[i]
		id := offence{f.Rule.ID, f.Client, f.Type}
		if told[id] == nil || before[id] != nil {
			continue
		}
		delete(told, id)
		if holes {
			report.Notes = append(report.Notes, "the server breaks the rule "+f.Rule.ID+", and the recording has holes in which it may have done so before: "+f.Message)
			continue
		}
		report.Differences = append(report.Differences, replay.Difference{
			Expected: "nothing that breaks the rule " + f.Rule.ID, Got: "what breaks it", Detail: "in the replay: " + f.Message,
			Client: f.Client, Type: f.Type, Names: f.Names,
		})
	}
}
