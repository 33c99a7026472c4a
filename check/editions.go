package check

import (
	"encoding/binary"
	"hash/maphash"
	"slices"

	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// editions are the versions that one resource of one server had, each with a
// hash of its content, oldest first. Clients that were sent the same share one
// list, and each knows which part of it it has seen. Lists are charged to the
// budget for what is over; those that are let go know nothing any more.
type editions struct {
	list    []edition
	memento *engine.Memento
}

type edition struct{ version, content uint64 }

// seen is the part of a list that one stream has seen: from since up to at.
type seen struct {
	*editions
	since, at int
}

type editionsKey struct{ server, typ, name string }

const (
	// maxEditions bounds the versions of one resource that are remembered.
	maxEditions = 1024
	// nearEditions is how far behind others a stream may be that begins to share
	// their list.
	nearEditions = 16
	editionBytes = 16
)

// editionOf makes an edition of what a resource was.
func (x *event) editionOf(version string, of *engine.Content) edition {
	return edition{maphash.String(x.k.Contents.Seeds[0], version), binary.LittleEndian.Uint64(of.Facts.Hash[:])}
}

// remember notes that a name, of which s is known, stood for an edition.
func (x *event) remember(c *contentState, s *seen, name string, e edition) *seen {
	if s != nil && !s.memento.Gone() {
		s.advance(x.k, e)
		return s
	}
	if c.seen == nil {
		c.seen = make(map[string]*seen)
	}
	s = x.begin(name, e)
	c.seen[name] = s
	return s
}

// begin finds the list of a resource where others have just been, or makes one.
func (x *event) begin(name string, e edition) *seen {
	k, key := x.k, editionsKey{x.stream.Server, x.sub.Key, name}
	known := k.editions[key]
	if known != nil {
		for i := len(known.list) - 1; i >= max(0, len(known.list)-nearEditions); i-- {
			if known.list[i] == e {
				return &seen{known, i, i}
			}
		}
		return &seen{editions: newEditions(k, nil, e)}
	}
	if k.editions == nil {
		k.editions = make(map[editionsKey]*editions)
	}
	l := newEditions(k, func() { delete(k.editions, key) }, e)
	k.editions[key] = l
	return &seen{editions: l}
}

func newEditions(k *Checker, let func(), list ...edition) *editions {
	l := &editions{list: list}
	l.memento = k.Keep(int64(256+cap(list)*editionBytes), func() {
		l.list = nil
		if let != nil {
			let()
		}
	})
	return l
}

// advance goes on to the next edition: that which others have seen there, or a
// new one.
func (s *seen) advance(k *Checker, e edition) {
	switch next := s.at + 1; {
	case s.list[s.at] == e:
	case next < len(s.list) && s.list[next] == e:
		s.at = next
		k.Touch(s.memento, 0)
	case next == len(s.list) && next < maxEditions:
		room := cap(s.list)
		if len(s.list) == room { // by less than append would, and it is charged
			grown := make([]edition, len(s.list), room+max(8, room/4))
			copy(grown, s.list)
			s.list = grown
		}
		s.list, s.at = append(s.list, e), next
		k.Touch(s.memento, int64(cap(s.list)-room)*editionBytes)
	default: // from here on it is another history than that of others
		mine := s.list[max(s.since, next-maxEditions/2):next]
		*s = seen{editions: newEditions(k, nil, append(slices.Clip(slices.Clone(mine)), e)...)}
		s.at = len(s.list) - 1
	}
}

// other says whether a version stood for another content when it was seen last.
func (s *seen) other(e edition) bool {
	if s == nil || s.memento.Gone() {
		return false
	}
	for i := s.at; i >= s.since; i-- {
		if s.list[i].version == e.version {
			return s.list[i].content != e.content
		}
	}
	return false
}
