package engine

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/session"
)

// maxHeaders bounds the headers of a stream that are known by their entries.
const maxHeaders = 8

// maxOpen is how many of the newest responses of a type may still be judged, as
// far as a part knows.
const maxOpen = 8

// Needed lists the entries that one needs to understand what comes next, in
// ascending order: the clusters of bootstraps, of each connection how it began,
// of each stream its headers, the request that names the node, and of each type
// the first and the last request, the responses that may still be judged, and
// the last ones that were accepted and rejected, with their verdicts.
func (k *Engine) Needed() []session.Seq {
	out := slices.Clone(k.static.seqs)
	for _, cn := range k.conns {
		out = append(out, cn.at)
	}
	for _, t := range k.Streams {
		out = append(append(out, t.headerSeqs...), t.firstSeq, t.NodeAt)
		for _, s := range t.Order {
			out = append(out, s.needed()...)
		}
	}
	for _, p := range k.polls {
		for _, s := range p.Order {
			out = append(append(out, s.needed()...), s.Stream.headerSeqs...)
			out = append(out, s.Stream.connSeq, s.Stream.firstSeq, s.Stream.endSeq)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > 0 && out[0] == 0 {
		out = out[1:]
	}
	return out
}

// needed are the entries that what is known of the type rests on; 0 for none.
func (s *Subscription) needed() []session.Seq {
	out := []session.Seq{s.namingSeq, s.unseenSeq}
	if s.First != nil && s.nackSeq > s.First.Seq { // else it was on the stream before
		out = append(out, s.nackSeq, s.refused.seq, s.refused.last)
	}
	for i := range s.refusals {
		out = append(out, s.refusals[i].seq, s.refusals[i].last)
	}
	for _, r := range []*Request{s.First, s.prior, s.Last} {
		if r != nil {
			out = append(out, r.Seq)
		}
	}
	for i, n := range s.Sent[max(0, len(s.Sent)-maxOpen):] {
		if n.Verdict == Unjudged || n.Verdict == Folded || i == min(len(s.Sent), maxOpen)-1 {
			out = append(out, n.seqs()...)
		}
	}
	for _, n := range []*Response{s.Accepted, s.told} {
		if n != nil {
			out = append(out, n.seqs()...)
		}
	}
	return out
}

// seqs are a response and the verdict on it.
func (n *Response) seqs() []session.Seq { return []session.Seq{n.Seq, n.judgedSeq} }
