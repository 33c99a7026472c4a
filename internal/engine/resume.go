package engine

import (
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// resume fills what a reconnected client still has: it says so in delta by
// initial_resource_versions, in the state of the world by the version of its
// first request.
func (s *Subscription) resume(m *decode.Message) {
	s.Stream.Moved++
	var was *Subscription
	if p := s.Stream.Previous; p != nil {
		was = p.Subs[s.Key]
	}
	if was != nil && (len(m.InitialVersions) > 0 || m.Version != "" && (was.version == m.Version || was.version == Short(m.Version))) {
		s.last = was.last // it has that still
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

// accepted is the response that the client accepted last. Where that is 0, none
// says that the client has accepted nothing; else it is not known.
func (s *Subscription) accepted() (last session.Seq, none bool) {
	return s.last, s.last == 0 && s.First != nil && !s.Lost && s.Found.IsZero() && s.unseen == "" && s.version == "" && !s.Seeded
}
