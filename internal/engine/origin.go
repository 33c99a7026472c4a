package engine

import "github.com/xdsproxy/xdsproxy/session"

// Origin finds the response that has a nonce which no response of the type on its
// stream had: one of another type, or one of an earlier stream of the client, to
// whichever server. at is 0 where no more is known than that there was one. Where
// none is found, never says that there was none: nothing that the client was sent
// is forgotten or unseen.
func (k *Engine) Origin(s *Subscription, nonce string) (of *Subscription, at session.Seq, never bool) {
	t := s.Stream
	never = !t.Lost && !k.Peers.unnamed
	for _, o := range t.Order {
		if at, had := o.had(nonce); had && o != s {
			return o, at, false
		}
		never = never && !o.Forgotten
	}
	if t.Node == nil {
		return nil, 0, never
	}
	for _, key := range k.Peers.Order {
		if key.id != t.Node.ID {
			continue
		}
		for _, earlier := range append(k.Peers.ByKey[key].Ended, k.Peers.ByKey[key].Live...) {
			if earlier.ID >= t.ID {
				continue
			}
			for _, o := range earlier.Order {
				if seq, had := o.had(nonce); had && (of == nil || o.Key == s.Key) {
					of, at = o, seq
				}
				never = never && !o.Forgotten && (!earlier.Ended || o.Responses <= keepSent)
			}
		}
	}
	return of, at, never && of == nil && !k.Peers.hadMore(t)
}

// had says whether a response had a nonce, and which if that is known.
func (s *Subscription) had(nonce string) (session.Seq, bool) {
	at := s.WithNonce(nonce)
	return at, at != 0 || s.usedNonces.Has(Short(nonce))
}
