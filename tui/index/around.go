package index

import (
	"context"
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

// Around is what one needs to say what a message means: the entry it answers or
// that answers it, and who it was sent to.
type Around struct {
	Partner *Fetched // nil: there is none
	Held    *Row     // the response that the client had accepted before
	None    bool     // it had accepted none
	Peer    *session.Peer
}

// Around reads what is around an entry.
func (f *Fetcher) Around(ctx context.Context, seq session.Seq) Around {
	var a Around
	if at := f.index.Connection(seq); at != 0 {
		if got, err := f.fetchOne(ctx, at); err == nil {
			a.Peer = got.Entry.Peer
		}
	}
	r, ok := f.index.BySeq(seq)
	if !ok {
		return a
	}
	if p := r.Partner(); p != 0 {
		a.Partner, _ = f.fetchOne(ctx, p)
	}
	last, none := f.index.Accepted(&r)
	a.None = none
	if held, ok := f.index.BySeq(last); ok {
		a.Held = &held
	}
	return a
}

// Findings are those of all that involve an entry.
func Findings(all []check.Finding, seq session.Seq) []check.Finding {
	var out []check.Finding
	for i := range all {
		if f := &all[i]; f.LastSeq == seq || slices.Contains(f.Seqs, seq) {
			out = append(out, *f)
		}
	}
	return out
}
