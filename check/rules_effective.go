package check

import (
	"github.com/xdsproxy/xdsproxy/check/effective"
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/session"
)

// Effects is what became of what clients accepted.
func (k *Checker) Effects() *effect.Account { return &k.effects }

func acceptedNotEffective(x *event) {
	if c := x.heldBy(); c != "" {
		x.proveEffective(effective.Unused(&x.k.effects, x.k.Engine, c, x.seq(), x.now, x.k.timers.Warm))
	}
}

func effectiveNotSent(x *event) {
	if c := x.heldBy(); c != "" {
		x.proveEffective(effective.Foreign(&x.k.effects, x.k.Engine, c, x.seq(), x.now, x.k.timers.Warm))
	}
}

// heldBy is the client that says what it holds; "" for any other event.
func (x *event) heldBy() string {
	if x.entry == nil || x.entry.Kind != session.KindHeld || x.entry.Message == nil {
		return ""
	}
	return x.change.Client
}

func (x *event) proveEffective(all []effective.Proof) {
	for _, p := range all {
		about := *x
		about.stream, about.sub = p.Sub.Stream, p.Sub
		about.prove(proof{severity: x.rule.Severity, names: p.Names, seqs: p.Seqs, cause: p.Cause, message: p.Message})
	}
}
