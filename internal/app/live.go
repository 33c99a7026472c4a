package app

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// Oversee reads what is recorded as it grows, until the log is closed, and logs
// what rules find: the log ends it, not a signal, so that what passes while the
// proxy drains is looked at, too.
func (s *Assembly) Oversee() { s.oversee(0, s.ops, s.dumps, s.held, s.status) }

// oversee logs what rules find in entries after one. It counts for o, looks for
// what d is to write, wakes k, and lets v be asked, unless that is nil.
func (s *Assembly) oversee(after session.Seq, o *operations, d *dumps, k *asking, v *StatusServer) {
	if bool(s.Settings.NoCheck) && o == nil && d == nil && k == nil && v == nil {
		return
	}
	large, others := false, render.Others{}
	sums := func(all []check.Finding) {
		for i := range all {
			s.logSum(&all[i])
		}
	}
	s.lookOn(v, func(e *session.Entry, c *check.Change) error {
		switch {
		case e.Message != nil && e.Message.Size >= 16<<20:
			large = true
		case e.Kind == session.KindTime && large: // nothing happens: a good time
			large = false
			heap.GiveBack()
		}
		if o != nil {
			o.metrics.Step(e, c)
		}
		d.step(e, c)
		k.step(c)
		s.Log.Note(c.Findings)
		sums(others.Due(e.Time))
		for i := range c.Findings {
			if f := &c.Findings[i]; e.Seq > after && !others.Keep(f, e.Time) {
				s.logFinding(f)
			}
		}
		return nil
	})
	sums(others.Rest())
}

// judgeGrace is how long it may take to judge what was recorded last, when
// nothing passes any more: a single response can be large enough for minutes.
const judgeGrace = 2 * time.Second

// AwaitJudged waits until over is closed, but not beyond impatient (it may be a
// terminal that takes nothing any more), nor beyond judgeGrace. It says which messages
// the rules have not come to.
func (s *Assembly) AwaitJudged(impatient context.Context, over <-chan struct{}) {
	select {
	case <-over:
	case <-impatient.Done():
	case <-s.late:
	}
	if c, is := s.Stderr.(*console.Stderr); is {
		c.Draw(nil) // the screen is gone, if perhaps not who fed it
	}
	if judged := s.Log.Past.seen(); judged < s.Log.spoken && !bool(s.Settings.NoCheck) {
		s.Warn("the rules had no time for what was recorded from entry %d on; xdsproxy check looks at it", judged+1)
	}
}

// lookOn reads a recording as it grows, until it is closed, and holds it against
// the rules unless the settings say otherwise. The account of it is asked by status.
func (s *Assembly) lookOn(status *StatusServer, v input.Visit) {
	src, err := s.Log.Source()
	if err != nil {
		s.Warn("%v", err)
		return
	}
	defer src.Close()
	defer func() {
		// What passes must not depend on what is made of it. The cause may hold
		// what a peer wrote, and is not logged.
		if cause := recover(); cause != nil {
			s.Logger.Error("looking at what passes failed; forwarding and recording go on",
				zap.String("cause", fmt.Sprintf("%T", cause)), zap.ByteString("stack", debug.Stack()))
		}
	}()
	src.Pieces()
	o := s.Settings.Judging()
	switch {
	case bool(s.Settings.NoCheck) && status != nil:
		o = s.Settings.Accounting()
	case bool(s.Settings.NoCheck):
		o = s.Settings.Following()
	}
	step := check.NewChecker(o)
	var through input.Stepper = step
	if status != nil {
		through = status.View.Through(step)
	}
	full := false
	err = input.Each(context.Background(), src, through, func(e *session.Entry, c *check.Change) error {
		s.Log.Past.Note(e.Seq, step.Memory())
		if sum := step.Summary(); !full && sum.FindingsForgotten+sum.FindingsRefused > 0 {
			full = true
			s.Warn("there is no room for all findings: from now on those that were proved longest ago are forgotten for new ones, notes first")
		}
		return v(e, c)
	})
	if err != nil {
		s.Warn("the rules look at nothing more: %v", err)
	}
}

// logFinding writes a finding as a line of the log.
func (h *Host) logFinding(f *check.Finding) {
	var who []zap.Field
	if f.Client != "" {
		who = append(who, zap.String("client", f.Client))
	}
	h.logProof(f, f.Message, who...)
}

// logSum writes that more clients have what was written of one.
func (h *Host) logSum(f *check.Finding) {
	const most = 100
	clients := f.Clients
	if clients == nil {
		clients = []string{f.Client}
	}
	h.logProof(f, render.SameOn(f)+": "+f.Message, zap.Strings("clients", clients[:min(len(clients), most)]))
}

// logProof writes what was found. The text form begins with the rule, as the
// lines of watch do.
func (h *Host) logProof(f *check.Finding, message string, who ...zap.Field) {
	write := h.Logger.Info
	switch f.Severity {
	case check.Error:
		write = h.Logger.Error
	case check.Warning:
		write = h.Logger.Warn
	}
	fields := []zap.Field{zap.Uint64("seq", uint64(f.LastSeq))}
	if h.Settings.LogFormat == "text" {
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

// Count counts what is being recorded for the metrics, looks for what is to be
// dumped, and keeps the account for CSDS, where oversee does not read along.
func (s *Assembly) Count() {
	if s.ops == nil && s.dumps == nil && s.held == nil && s.status == nil {
		return
	}
	s.lookOn(s.status, func(e *session.Entry, c *check.Change) error {
		if s.ops != nil {
			s.ops.metrics.Step(e, c)
		}
		s.dumps.step(e, c)
		s.held.step(c)
		return nil
	})
}
