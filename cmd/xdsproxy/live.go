package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// oversee reads a recording as it grows, until it is closed, and logs what rules
// find in entries after seq: the recording ends it, not a signal, so that what
// passes while the proxy drains is looked at, too. It counts for o, unless that
// is nil.
func (a *app) oversee(rec *recording, after session.Seq, o *operations, logger *zap.Logger) {
	if bool(a.config.NoCheck) && o == nil {
		return
	}
	large, others := false, render.Others{}
	sums := func(all []check.Finding) {
		for i := range all {
			a.logSum(logger, &all[i])
		}
	}
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
		sums(others.Due(e.Time))
		for i := range c.Findings {
			if f := &c.Findings[i]; e.Seq > after && !others.Keep(f, e.Time) {
				a.logFinding(logger, f)
			}
		}
		return nil
	})
	sums(others.Rest())
}

// judgeGrace is how long it may take to judge what was recorded last, when
// nothing passes any more: a single response can be large enough for minutes.
const judgeGrace = 2 * time.Second

// awaitJudged waits until over is closed, but not beyond impatient (it may be a
// terminal that takes nothing any more), nor beyond late. It says which messages
// the rules have not come to.
func (a *app) awaitJudged(impatient context.Context, over <-chan struct{}, late <-chan time.Time, rec *recording) {
	select {
	case <-over:
	case <-impatient.Done():
	case <-late:
	}
	if c, is := a.stderr.(*console.Curtain); is {
		c.Draw(nil) // the screen is gone, if perhaps not who fed it
	}
	if judged := rec.past.seen(); judged < rec.spoken && !bool(a.config.NoCheck) {
		a.warn("the rules had no time for what was recorded from entry %d on; xdsproxy check looks at it", judged+1)
	}
}

// lookOn reads a recording as it grows, until it is closed, and holds it against
// the rules unless the settings say otherwise.
func (a *app) lookOn(rec *recording, logger *zap.Logger, v input.Visit) {
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
	o := a.config.Judging()
	if a.config.NoCheck {
		o = a.config.Following()
	}
	step := check.NewChecker(o)
	err = input.Each(context.Background(), src, step, func(e *session.Entry, c *check.Change) error {
		rec.past.note(e.Seq, step.Memory())
		return v(e, c)
	})
	if err != nil {
		a.warn("the rules look at nothing more: %v", err)
	}
}

// logFinding writes a finding as a line of the log.
func (a *app) logFinding(logger *zap.Logger, f *check.Finding) {
	var who []zap.Field
	if f.Client != "" {
		who = append(who, zap.String("client", f.Client))
	}
	a.logProof(logger, f, f.Message, who...)
}

// logSum writes that more clients have what was written of one.
func (a *app) logSum(logger *zap.Logger, f *check.Finding) {
	const most = 100
	clients := f.Clients
	if clients == nil {
		clients = []string{f.Client}
	}
	a.logProof(logger, f, render.SameOn(f)+": "+f.Message, zap.Strings("clients", clients[:min(len(clients), most)]))
}

// logProof writes what was found. The text form begins with the rule, as the
// lines of watch do.
func (a *app) logProof(logger *zap.Logger, f *check.Finding, message string, who ...zap.Field) {
	write := logger.Info
	switch f.Severity {
	case check.Error:
		write = logger.Error
	case check.Warning:
		write = logger.Warn
	}
	fields := []zap.Field{zap.Uint64("seq", uint64(f.LastSeq))}
	if a.config.LogFormat == "text" {
		message = f.Rule.ID + ": " + message
	} else {
		fields = append(fields, zap.String("rule", f.Rule.ID))
	}
	fields = append(fields, who...)
	if f.Type != "" {
		fields = append(fields, zap.String("type", f.Type))
	}
	write(message, fields...)
}
