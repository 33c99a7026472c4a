package index

import (
	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/session"
)

type filterFinding = filter.Finding

// maxProofs bounds the entries of which it is known what they prove.
const maxProofs = 1 << 20

// prove notes what rules proved with an entry.
func (x *Index) prove(r *Row, found []check.Finding) {
	for i := range found {
		f := &found[i]
		r.Severity = max(r.Severity, Severity(f.Severity)+1)
		if len(x.proofs) < maxProofs {
			x.proofs[r.Seq] = append(x.proofs[r.Seq], filter.Finding{Rule: f.Rule.ID, Severity: f.Severity.String()})
		}
	}
}

// Proofs is what rules proved with an entry.
func (x *Index) Proofs(seq session.Seq) []filter.Finding {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.proofs[seq]
}
