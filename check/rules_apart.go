package check

import (
	"maps"
	"slices"

	"github.com/xdsproxy/xdsproxy/check/apart"
	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// removalAccepted looks at the order of types where each has a stream of its own.
// Messages of two streams may overtake each other, so that the order in which they
// were sent proves nothing. That the client accepted a removal of clusters, and was
// sent nothing else in their place for some time, does.
func removalAccepted(x *event) {
	n := x.req.Echoed
	if x.sub.Type != "CDS" || x.stream.ADS() || x.req.Verdict != engine.ACKed || n == nil || len(apart.LeadingTo(x.k.Engine, x.client(), x.sub, n)) == 0 {
		return
	}
	later := *x
	later.resp, later.req = n, nil
	later.after(x.flight(), stillLeadingTo)
}

// stillLeadingTo reports removed clusters that traffic goes to on other streams.
func stillLeadingTo(x *event) {
	if x.stream.Ended || x.sub.Lost {
		return
	}
	if by := apart.LeadingTo(x.k.Engine, x.client(), x.sub, x.resp); len(by) > 0 {
		names := slices.Sorted(maps.Keys(by))
		first := by[names[0]]
		x.provef(proof{severity: Info, names: names, seqs: []session.Seq{first.Sub.LastWith(first.Sub.Carrier(first.Item)), x.resp.Seq}},
			"%s removed and accepted, and %v later %s %q, on a stream of its own, still refers to %q",
			words.List(names), words.Round(x.flight()), first.Sub.Type, first.Item.Name, names[0])
	}
}
