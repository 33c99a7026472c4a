package check

import (
	"github.com/xdsproxy/xdsproxy/check/aftermath"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

func nackUnresolved(x *event) {
	if x.req.Verdict == engine.NACKed && aftermath.Await(x.sub) {
		x.after(aftermath.Patience, stillUnresolved)
	}
}

func stillUnresolved(x *event) {
	p, more := aftermath.Unresolved(x.sub, x.now)
	if more > 0 {
		x.after(more, stillUnresolved)
	}
	x.proveAftermath(p)
}

func contentReverted(x *event) { x.proveAftermath(x.k.aftermath.Reverted(x.sub, x.resp)) }
func fallbackDiffers(x *event) { x.proveAftermath(x.k.aftermath.Fallback(x.k.Engine, x.sub, x.resp)) }

func (x *event) proveAftermath(p *aftermath.Proof) {
	if p != nil {
		x.prove(proof{severity: x.rule.Severity, names: p.Names, seqs: p.Seqs, cause: p.Cause, same: p.Same, message: p.Message})
	}
}
