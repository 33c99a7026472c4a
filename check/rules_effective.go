package check

import (
	"github.com/xdsproxy/xdsproxy/check/effective"
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/session"
)

// Effects is what became of what clients accepted.
func (k *Checker) Effects() *effect.Account { return &k.effects }

func acceptedNotEffective(x *event) { x.proveEffective(effective.Unused) }
func effectiveNotSent(x *event)     { x.proveEffective(effective.Foreign) }

func (x *event) proveEffective(look effective.Look) {
	if x.entry == nil || x.entry.Kind != session.KindHeld || x.entry.Message == nil {
		return
	}
	asked := x.now
	if !x.entry.Start.IsZero() {
		asked = x.entry.Start
	}
	for _, p := range look(&x.k.effects, x.k.Engine, x.change.Client, x.seq(), asked, x.k.timers.Warm) {
		about := *x
		about.stream, about.sub = p.Sub.Stream, p.Sub
		about.prove(proof{severity: x.rule.Severity, names: p.Names, seqs: p.Seqs, cause: p.Cause, message: p.Message})
	}
}
