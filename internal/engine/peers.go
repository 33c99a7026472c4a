package engine

import (
	"hash/maphash"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// peerKey is what streams of one client to one server have in common.
type peerKey struct {
	id, Cluster, Server, method string
}

// maxEnded bounds the ended streams of one client that a new one may reconnect.
const maxEnded = 16

// peers finds the streams of one client.
type peers struct {
	forgotten map[uint64]struct{} // hashes of those of which a stream was
	unnamed   bool                // responses went to somebody whose name was not seen
	seed      maphash.Seed
	ByKey     map[peerKey]*peer
	Order     []peerKey // oldest first
}

type peer struct {
	Live  []*Stream
	Ended []*Stream // oldest first
	// quickEnds counts the streams in a row that the server ended soon after
	// their first response.
	QuickEnds int
	// Refused counts the streams in a row that the server ended before any
	// response, with a status that says more than that it is not there.
	Refused int
}

func newPeers() peers { return peers{ByKey: make(map[peerKey]*peer), seed: maphash.MakeSeed()} }

func KeyOf(t *Stream) peerKey {
	k := peerKey{Server: t.Server, method: t.Method.Path}
	if t.Node != nil {
		k.id, k.Cluster = t.Node.ID, t.Node.Cluster
	}
	return k
}

// joined enters a stream whose node is known now, and finds the one that it
// reconnects: the latest of the same client that had ended before it opened.
func (p *peers) joined(t *Stream, s *Subscription, given []string) {
	key := KeyOf(t)
	if key.id == "" {
		return
	}
	of := p.ByKey[key]
	if of == nil {
		of = &peer{}
		p.ByKey[key] = of
		p.Order = append(p.Order, key)
	}
	if old := of.resumedBy(t, s, given); old != nil {
		t.Previous, t.was, old.resumed = old, old.program(), true
		old.Previous = nil // chains are not followed
	}
	of.Live = append(of.Live, t)
}

// resumedBy finds the stream that a new one of the same client reconnects: the
// latest that had ended before, of those with a name in common if there are
// any. One client may have several streams at a time: gRPC has one for each
// channel target, Envoy one for each resource that does not come over ADS.
func (p *peer) resumedBy(t *Stream, s *Subscription, given []string) *Stream {
	var latest *Stream
	for i := len(p.Ended) - 1; i >= 0; i-- {
		old := p.Ended[i]
		if old.resumed || old.EndedAt.After(t.Opened) || old.endSeq >= t.OpenAt {
			continue
		}
		was := old.Subs[s.Key]
		if len(given) == 0 || was == nil {
			if latest == nil && (t.ADS() || was != nil) {
				latest = old
			}
			continue
		}
		if slices.ContainsFunc(given, was.Names.Has) {
			return old
		}
		if latest == nil && (t.ADS() || !s.Named()) {
			latest = old
		}
	}
	return latest
}

// maxForgotten bounds the clients that are known to have had a stream that was
// forgotten; of more it is assumed. That is of ten thousand new ones a day for a month,
// in some 5 MB.
const maxForgotten = 1 << 18

// hadMore says whether a stream of the same client may have been forgotten.
func (p *peers) hadMore(t *Stream) bool {
	_, had := p.forgotten[maphash.Comparable(p.seed, KeyOf(t))]
	return had || len(p.forgotten) >= maxForgotten
}

// forget lets go of a stream that has ended, and of a client that has no other.
func (p *peers) forget(t *Stream) {
	key := KeyOf(t)
	if p.forgotten == nil {
		p.forgotten = make(map[uint64]struct{})
	}
	if len(p.forgotten) < maxForgotten {
		p.forgotten[maphash.Comparable(p.seed, key)] = struct{}{}
	}
	of := p.ByKey[key]
	if of == nil {
		return
	}
	if of.Ended = without(of.Ended, t); len(of.Ended)+len(of.Live) > 0 {
		return
	}
	delete(p.ByKey, key)
	if i := slices.Index(p.Order, key); i >= 0 {
		p.Order = slices.Delete(p.Order, i, i+1)
	}
}

// without is a list without one of its elements, in new memory.
func without[T comparable](list []T, gone T) []T {
	i := slices.Index(list, gone)
	if i < 0 {
		return list
	}
	return append(list[:i:i], list[i+1:]...)
}

func (p *peers) ended(t *Stream) {
	of := p.ByKey[KeyOf(t)]
	if of == nil {
		return
	}
	of.Live = without(of.Live, t)
	if len(of.Ended) >= maxEnded {
		of.Ended[0].Previous = nil
		of.Ended = of.Ended[1:]
	}
	of.Ended = append(of.Ended, t)
}

// refusedWithin is how soon a server ends a stream that it does not want. One
// that lived for longer may have had nothing to be sent.
const refusedWithin = 10 * time.Second

// Brief says whether a stream ended so soon that it may have been refused.
func (t *Stream) Brief(end time.Time) bool { return end.Sub(t.Opened) <= refusedWithin }

// refusal counts a stream that is about to end to those that were refused, or
// begins to count anew, as the first response on a stream does.
func (p *peers) refusal(t *Stream, e *session.Entry, now time.Time) {
	const unavailable = 14
	of := p.ByKey[KeyOf(t)]
	switch {
	case of == nil || t.Lost && t.Responses == 0: // it may have been answered
	case t.Responses > 0: // it began the count anew
	case t.Brief(now) && e.Side == session.Server && e.Status != nil && e.Status.Code >= 0 && e.Status.Code != unavailable:
		of.Refused++
	default:
		of.Refused = 0
	}
}

// Others are the streams of the same client, server and method, live ones
// first, then those that ended, newest first.
func (p *peers) Others(t *Stream) []*Stream {
	of := p.ByKey[KeyOf(t)]
	if of == nil {
		return nil
	}
	var out []*Stream
	for _, l := range of.Live {
		if l != t {
			out = append(out, l)
		}
	}
	for i := len(of.Ended) - 1; i >= 0; i-- {
		out = append(out, of.Ended[i])
	}
	return out
}
