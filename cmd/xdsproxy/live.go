package main

import (
	"context"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// live reads a recording as it grows, until it is closed. On a screen it
// prints the lines of watch, else findings go to the log.
func (a *app) live(rec *recording, screen bool, logger *zap.Logger) {
	src, err := rec.source()
	if err != nil {
		a.warn("%v", err)
		return
	}
	defer src.Close()
	step := a.checking()
	if !screen {
		if a.config.noCheck {
			return
		}
		src.Pieces()
		err := judgeEach(context.Background(), src, step, func(_ *session.Entry, _ *check.Change, found []check.Finding) error {
			for i := range found {
				logFinding(logger, &found[i])
			}
			return nil
		})
		if err != nil {
			a.warn("the rules look at nothing more: %v", err)
		}
		return
	}
}

// checking returns what takes the entries of a running proxy: a Checker, or
// with --no-check a Tracker.
func (a *app) checking() stepper {
	if a.config.noCheck {
		return tracking{check.NewTracker()}
	}
	return check.NewChecker(check.Options{})
}

// stepper says what entries mean, in order.
type stepper interface {
	Step(e *session.Entry) (check.Change, []check.Finding)
}

// tracking is a stepper that finds nothing.
type tracking struct{ *check.Tracker }

func (t tracking) Step(e *session.Entry) (check.Change, []check.Finding) {
	return t.Tracker.Step(e), nil
}

// logFinding writes a finding as a line of the log.
func logFinding(logger *zap.Logger, f *check.Finding) {
	write := logger.Info
	switch f.Severity {
	case check.Error:
		write = logger.Error
	case check.Warning:
		write = logger.Warn
	}
	fields := []zap.Field{
		zap.String("rule", f.Rule.ID), zap.String("client", f.Client), zap.Uint64("seq", uint64(f.LastSeq)),
	}
	if f.Type != "" {
		fields = append(fields, zap.String("type", f.Type))
	}
	write(f.Message, fields...)
}
