package engine

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// editions are the versions that one resource of one server had, each with a
// hash of its content, oldest first. Clients that were sent the same share one
// list, and each knows which part of it it has seen. Lists are charged to the
// budget for what is over; those that are let go know nothing any more.
type editions struct {
	list    []edition
	memento *memento
}

type edition struct{ version, content uint64 }

// seen is the part of a list that one stream has seen: from since up to at. It is charged,
// too: a stream that stays for weeks meets names without end.
type seen struct {
	*editions
	since, at int
	place     *memento // among what the stream has seen
}

type editionsKey struct{ server, typ, name string }

const (
	// maxEditions bounds the versions of one resource that are remembered.
	maxEditions = 1024
	// nearEditions is how far behind others a stream may be that begins to share
	// their list.
	nearEditions = 16
	editionBytes = 16
	seenBytes    = 256 // of a stream's part, beside the name
)

// Editions are what one stream has seen of the versions that resources of a type
// had, by their names.
type Editions map[string]*seen

// Remember notes that a resource had a version while its content was that one.
func (k *Engine) Remember(of *Editions, s *Subscription, name, version string, content *Content) {
	e := k.editionOf(version, content)
	was := (*of)[name]
	if was != nil && !was.memento.gone() {
		was.advance(k, e)
		k.past.touch(was.place, 0)
		return
	}
	if was != nil {
		k.past.drop(was.place)
	}
	if *of == nil {
		*of = make(Editions)
	}
	all, is := *of, k.beginEditions(editionsKey{s.Stream.Server, s.Key, name}, e)
	is.place = k.past.add(int64(seenBytes+len(name)), func() { delete(all, name) })
	all[name] = is
}

// Reused says whether a version of a resource stood for another content when it
// was seen last.
func (k *Engine) Reused(of Editions, name, version string, content *Content) bool {
	s := of[name]
	if s == nil || s.memento.gone() {
		return false
	}
	e := k.editionOf(version, content)
	for i := s.at; i >= s.since; i-- {
		if s.list[i].version == e.version {
			return s.list[i].content != e.content
		}
	}
	return false
}

func (k *Engine) editionOf(version string, of *Content) edition {
	return edition{maphash.String(k.Contents.Seeds[0], version), binary.LittleEndian.Uint64(of.Facts.Hash[:])}
}

// beginEditions finds the list of a resource where others have just been, or
// makes one.
func (k *Engine) beginEditions(key editionsKey, e edition) *seen {
	known := k.editions[key]
	if known != nil {
		for i := len(known.list) - 1; i >= max(0, len(known.list)-nearEditions); i-- {
			if known.list[i] == e {
				return &seen{editions: known, since: i, at: i}
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

func newEditions(k *Engine, let func(), list ...edition) *editions {
	l := &editions{list: list}
	l.memento = k.past.add(int64(256+cap(list)*editionBytes), func() {
		l.list = nil
		if let != nil {
			let()
		}
	})
	return l
}

// advance goes on to the next edition: that which others have seen there, or a
// new one.
func (s *seen) advance(k *Engine, e edition) {
	switch next := s.at + 1; {
	case s.list[s.at] == e:
	case next < len(s.list) && s.list[next] == e:
		s.at = next
		k.past.touch(s.memento, 0)
	case next == len(s.list) && next < maxEditions:
		room := cap(s.list)
		if len(s.list) == room { // by less than append would, and it is charged
			grown := make([]edition, len(s.list), room+max(8, room/4))
			copy(grown, s.list)
			s.list = grown
		}
		s.list, s.at = append(s.list, e), next
		k.past.touch(s.memento, int64(cap(s.list)-room)*editionBytes)
	default: // from here on it is another history than that of others
		mine := s.list[max(s.since, next-maxEditions/2):next]
		s.since, s.editions = 0, newEditions(k, nil, append(slices.Clip(slices.Clone(mine)), e)...)
		s.at = len(s.list) - 1
	}
}
