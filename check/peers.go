package check

import "slices"

// peerKey is what streams of one client to one server have in common.
type peerKey struct {
	id, cluster, server, method string
}

// maxPeers bounds the clients whose ended streams are remembered, and
// maxEndedTalks the ended streams of one.
const (
	maxPeers      = 4096
	maxEndedTalks = 16
)

// peers finds the streams of one client.
type peers struct {
	byKey map[peerKey]*peer
	order []peerKey // oldest first
}

type peer struct {
	live  []*talk
	ended []*talk // oldest first
	// quickEnds counts the streams in a row that the server ended soon after
	// their first response.
	quickEnds int
}

func newPeers() peers { return peers{byKey: make(map[peerKey]*peer)} }

func keyOf(t *talk) peerKey {
	k := peerKey{server: t.server, method: t.method.Path}
	if t.node != nil {
		k.id, k.cluster = t.node.ID, t.node.Cluster
	}
	return k
}

// joined enters a stream whose node is known now, and finds the one that it
// reconnects: the latest of the same client that had ended before it opened.
func (p *peers) joined(t *talk, s *subscription, given []string) {
	key := keyOf(t)
	if key.id == "" {
		return
	}
	of := p.byKey[key]
	if of == nil {
		if len(p.order) >= maxPeers {
			p.forgetOldest()
		}
		of = &peer{}
		p.byKey[key] = of
		p.order = append(p.order, key)
	}
	if old := of.resumedBy(t, s, given); old != nil {
		t.previous, old.resumed = old, true
		old.previous = nil // chains are not followed
	}
	of.live = append(of.live, t)
}

// resumedBy finds the stream that a new one of the same client reconnects: the
// latest that had ended before, of those with a name in common if there are
// any. One client may have several streams at a time: gRPC has one for each
// channel target, Envoy one for each resource that does not come over ADS.
func (p *peer) resumedBy(t *talk, s *subscription, given []string) *talk {
	var latest *talk
	for i := len(p.ended) - 1; i >= 0; i-- {
		old := p.ended[i]
		if old.resumed || old.endedAt.After(t.opened) || old.endSeq >= t.openAt {
			continue
		}
		was := old.subs[s.key]
		if len(given) == 0 || was == nil {
			if latest == nil && (t.ads() || was != nil) {
				latest = old
			}
			continue
		}
		if slices.ContainsFunc(given, was.names.has) {
			return old
		}
		if latest == nil && (t.ads() || !s.named()) {
			latest = old
		}
	}
	return latest
}

// forgetOldest drops clients of which no stream lives.
func (p *peers) forgetOldest() {
	kept := p.order[:0]
	drop := max(1, len(p.order)/8)
	for _, key := range p.order {
		if drop > 0 && len(p.byKey[key].live) == 0 {
			delete(p.byKey, key)
			drop--
			continue
		}
		kept = append(kept, key)
	}
	if drop > 0 && len(kept) > 0 { // all of them live
		delete(p.byKey, kept[0])
		kept = kept[1:]
	}
	p.order = kept
}

func (p *peers) ended(t *talk) {
	of := p.byKey[keyOf(t)]
	if of == nil {
		return
	}
	for i, l := range of.live {
		if l == t {
			of.live = append(of.live[:i:i], of.live[i+1:]...)
			break
		}
	}
	if len(of.ended) >= maxEndedTalks {
		of.ended[0].previous = nil
		of.ended = append(of.ended[:0:0], of.ended[1:]...)
	}
	of.ended = append(of.ended, t)
}

// others are the streams of the same client, server and method, live ones
// first, then those that ended, newest first.
func (p *peers) others(t *talk) []*talk {
	of := p.byKey[keyOf(t)]
	if of == nil {
		return nil
	}
	var out []*talk
	for _, l := range of.live {
		if l != t {
			out = append(out, l)
		}
	}
	for i := len(of.ended) - 1; i >= 0; i-- {
		out = append(out, of.ended[i])
	}
	return out
}
