package engine

import (
	"maps"
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/session"
)

// resume enters what a reconnected client rejected last, and fills what it still
// has: it says so in delta by initial_resource_versions, in the state of the
// world by the version of its first request.
func (k *Engine) resume(s *Subscription, m *decode.Message) {
	s.Stream.Moved++
	var was *Subscription
	if p := s.Stream.Previous; p != nil {
		was = p.Subs[s.Key]
	}
	if was != nil && (len(m.InitialVersions) > 0 || m.Version != "" && (was.version == m.Version || was.version == Short(m.Version))) {
		s.last = was.last // it has that still
	}
	if of, _ := k.toldBefore(s); of != nil && of.Stream.Ended {
		if s.nacks, s.nack, s.nackSeq = of.nacks, of.nack, of.nackSeq; k.rejects(of) {
			s.refused = of.refused
			s.refused.ordinal = 0
		}
	}
	if was != nil {
		s.former = former{maps.Clone(was.former.names), was.former.lost}
		for _, it := range was.Have.All() {
			s.retire(it)
		}
	}
	if m.Kind == decode.SotwRequest {
		if m.Version != "" && was != nil {
			s.Have, s.Seeded = was.Have.clone(), true
			was.open.enter()
			s.open = was.open.clone()
			for name := range was.Have.All() {
				if !s.Wants(name) {
					s.Have.remove(name)
				}
			}
		}
		s.Kept = s.Have.clone()
		return
	}
	if len(m.InitialVersions) == 0 {
		return
	}
	s.Initial, s.Seeded = make(map[string]string, len(m.InitialVersions)), true
	if was != nil {
		s.aliases = maps.Clone(was.aliases)
	}
	same := was != nil && was.Have.Len() == len(m.InitialVersions)
	for _, v := range m.InitialVersions {
		n := decode.NormalName(v.Name)
		s.Initial[n] = v.Version
		same = same && was.Have.Get(n) != nil && was.Have.Get(n).Version == v.Version
	}
	if same {
		s.Have = was.Have.clone()
	} else {
		accepted := make(map[string]*Resource) // where that is not what was sent last
		if was != nil {
			for name, u := range was.open.all() {
				accepted[name] = u.accepted
			}
		}
		for n, v := range s.Initial {
			it := &Resource{Name: n, Version: v}
			if was != nil {
				if old := was.Have.Get(n); old != nil && old.Version == v {
					it = old
				} else if old := accepted[n]; old != nil && old.Version == v {
					it = old
				}
			}
			s.Have.put(it)
		}
	}
	s.Kept = s.Have.clone()
}

// SentHere says whether what the client has of a name was sent on this stream.
func (s *Subscription) SentHere(name string) bool {
	it := s.Have.Get(name)
	return it != nil && (!s.Seeded || s.Kept.Get(name) != it)
}

// Declared says whether the client has named what it has of a name when its stream began,
// and nothing that is recorded shows it.
func (s *Subscription) Declared(name string) bool {
	it := s.Have.Get(name)
	return it != nil && it.Content == nil && s.Seeded && s.Kept.Get(name) == it && s.open.knows(name) && !s.Lost
}

// MayHaveAt says whether the client may have a resource that it was sent at a version
// of its own: it has accepted that, or may still. What it rejected left it with what
// it had.
func (s *Subscription) MayHaveAt(name, version string) bool {
	is := func(it *Resource) bool { return it != nil && it.Version == version }
	s.open.enter()
	c, last := s.open.byName[name], s.Have.Get(name)
	switch {
	case !s.open.knows(name), c != nil && is(c.accepted):
		return true
	case c != nil:
		return slices.ContainsFunc(c.list, func(o change) bool { return o.by.Verdict != NACKed && is(o.to) })
	}
	// Where the same came under another version, the one before is not known.
	return is(last) || last != nil && slices.ContainsFunc(s.Sent, func(o *Response) bool { return o.Seq == last.Seq && o.Verdict != ACKed })
}

// EverSent says whether a name was sent on this stream, though the client may
// have given it up since.
func (s *Subscription) EverSent(name string) bool { return s.SentHere(name) || s.Dropped[name].Here }

// versionOf is the version of a resource that was sent on this stream.
func (s *Subscription) versionOf(it *Resource) string {
	if n := s.Newest(); n.Kind == decode.SotwResponse && s.Full() {
		return n.Version
	}
	return it.Version
}

// accepted is the response that the client accepted last. Where that is 0, none
// says that the client has accepted nothing; else it is not known.
func (s *Subscription) accepted() (last session.Seq, none bool) {
	return s.last, s.last == 0 && s.First != nil && !s.Lost && s.Found.IsZero() && s.unseen == "" && s.version == "" && !s.Seeded
}

// recall enters which names of a request the server has said not to have on
// streams before. Names that are asked for again are told of once only by some.
func (k *Engine) recall(s *Subscription, names []string) {
	was, unsure := k.toldBefore(s)
	if was == nil && !unsure {
		return
	}
	for _, name := range names {
		if unsure {
			s.markGone(name, false)
		} else if was.MayBeGone(name) {
			s.markGone(name, was.gone[name])
		}
	}
}

// toldBefore is the type on the stream on which the same client had it before,
// nil if there was none. It is unsure what it was told if not all was seen.
func (k *Engine) toldBefore(s *Subscription) (was *Subscription, unsure bool) {
	t := s.Stream
	p := t.Previous
	if p == nil {
		return nil, k.Peers.hadMore(t)
	}
	if was = p.Subs[s.Key]; was == nil && !p.Lost {
		// It did not come up there, but perhaps before that.
		of := k.clients.byID[t.account]
		if of == nil {
			return nil, false
		}
		before, had := of.left[s.Key]
		if was = before.sub; was == nil {
			return nil, had
		}
		if was.Stream.Server != t.Server {
			return nil, false
		}
	}
	return was, was == nil || was.Lost
}

// markGone notes that the server has told the client that it does not have a resource,
// or, where that is not sure, may have.
func (s *Subscription) markGone(name string, sure bool) {
	if _, known := s.gone[name]; !known && len(s.gone) >= MaxDropped {
		s.goneMore = true
		return
	}
	if s.gone == nil {
		s.gone = make(map[string]bool)
	}
	s.gone[name] = s.gone[name] || sure
}

// MayBeGone says whether the server has told the client, on this stream or one
// before, that it does not have a resource, or may have.
func (s *Subscription) MayBeGone(name string) bool {
	_, gone := s.gone[name]
	return gone || s.goneMore
}

// Denied says whether the server has told the client that it does not have a
// resource: in a delta response, or by leaving it out of all that there is of the type,
// which the client accepted and has asked for nothing since.
func (s *Subscription) Denied(name string) bool {
	if s.gone[name] {
		return true
	}
	n := s.Newest()
	return n != nil && s.Last != nil && s.Whole() && n.Kind == decode.SotwResponse && n.Verdict == ACKed &&
		n.judgedSeq == s.Last.Seq && !slices.Contains(s.Last.Added, name)
}
