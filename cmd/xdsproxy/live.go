package main

import (
	"context"
	"fmt"
	"runtime/debug"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// stepper says what entries mean, in order: a check.Checker, or a check.Checker
// that holds them against the rules as well.
type stepper interface {
	Step(e *session.Entry) check.Change
}

// oversee reads a recording as it grows, until it is closed, and logs what rules
// find in entries after seq: the recording ends it, not a signal, so that what
// passes while the proxy drains is looked at, too. It counts for o, unless that
// is nil.
func (a *app) oversee(rec *recording, after session.Seq, o *operations, logger *zap.Logger) {
	if bool(a.config.noCheck) && o == nil {
		return
	}
	large := false
	a.lookOn(rec, logger, func(e *session.Entry, c *check.Change) error {
		switch {
		case e.Message != nil && e.Message.Size >= 16<<20:
			large = true
		case e.Kind == session.KindTime && large: // nothing happens: a good time
			large = false
			debug.FreeOSMemory()
		}
		if o != nil {
			o.metrics.Step(e, c)
		}
		rec.note(c.Findings)
		for i := range c.Findings {
			if e.Seq > after {
				a.logFinding(logger, &c.Findings[i])
			}
		}
		return nil
	})
}

// lookOn reads a recording as it grows, until it is closed, and holds it against
// the rules unless the settings say otherwise.
func (a *app) lookOn(rec *recording, logger *zap.Logger, v visit) {
	src, err := rec.source()
	if err != nil {
		a.warn("%v", err)
		return
	}
	defer src.Close()
	defer func() {
		// What passes must not depend on what is made of it. The cause may hold
		// what a peer wrote, and is not logged.
		if cause := recover(); cause != nil {
			logger.Error("looking at what passes failed; forwarding and recording go on",
				zap.String("cause", fmt.Sprintf("%T", cause)), zap.ByteString("stack", debug.Stack()))
		}
	}()
	src.Pieces()
	o := a.config.judging()
	if a.config.noCheck {
		o = a.config.following()
	}
	step := check.NewChecker(o)
	err = judgeEach(context.Background(), src, step, func(e *session.Entry, c *check.Change) error {
		rec.past.note(e.Seq, step.Memory())
		return v(e, c)
	})
	if err != nil {
		a.warn("the rules look at nothing more: %v", err)
	}
}

// logFinding writes a finding as a line of the log.
// The text form begins with the rule, as the lines of watch do.
func (a *app) logFinding(logger *zap.Logger, f *check.Finding) {
	write := logger.Info
	switch f.Severity {
	case check.Error:
		write = logger.Error
	case check.Warning:
		write = logger.Warn
	}
	message, fields := f.Message, []zap.Field{zap.Uint64("seq", uint64(f.LastSeq))}
	if a.config.logFormat == "text" {
		message = f.Rule.ID + ": " + render.Safe(message)
	} else {
		fields = append(fields, zap.String("rule", f.Rule.ID))
	}
	if f.Client != "" {
		fields = append(fields, zap.String("client", f.Client))
	}
	if f.Type != "" {
		fields = append(fields, zap.String("type", f.Type))
	}
	write(message, fields...)
}
