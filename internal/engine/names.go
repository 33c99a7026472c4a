package engine

import (
	"hash/maphash"
	"slices"
)

// NameList is the list of names of a state-of-the-world request, as sent. Many
// clients ask for the same: equal lists are one.
type NameList struct {
	Names []string
	bytes int
	Hash  uint64
	refs  int
	set   map[string]struct{} // see index

	past   shared // what streams that have ended hold of it
	Memory Slots  // of those who look at it
}

const (
	maxNameBytes = 256 << 20
	maxNameList  = 1 << 20
)

// lists holds all name lists in use, bounded in bytes.
type lists struct {
	seed   maphash.Seed
	byHash map[uint64]*NameList
	bytes  int
}

func newLists() lists {
	return lists{seed: maphash.MakeSeed(), byHash: make(map[uint64]*NameList)}
}

// change remembers the names that a request asks for and returns what it adds
// to and takes from those of the request before, if these are known.
func (l *lists) change(s *Subscription, names []string, first bool) (added, removed []string, known bool) {
	var before []string
	known = first
	if s.list != nil {
		before, known = s.list.Names, true
		if slices.Equal(before, names) {
			return nil, nil, true
		}
	}
	if known {
		added, removed = missing(names, before), missing(before, names)
	}
	l.release(s.list)
	s.list = l.keep(names)
	return added, removed, known
}

// missing returns the elements of a that are not in b, each once.
func missing(a, b []string) []string {
	if len(a) == 0 {
		return nil
	}
	seen := make(map[string]struct{}, len(b))
	for _, s := range b {
		seen[s] = struct{}{}
	}
	var out []string
	for _, s := range a {
		if _, ok := seen[s]; !ok {
			seen[s] = struct{}{}
			out = append(out, s)
		}
	}
	return out
}

// keep returns the one list that equals names, or nil if there is no room for
// it.
func (l *lists) keep(names []string) *NameList {
	var h maphash.Hash
	h.SetSeed(l.seed)
	size := 0
	for _, s := range names {
		h.WriteString(s)
		h.WriteByte(0)
		size += len(s) + 16
	}
	sum := h.Sum64()
	if have := l.byHash[sum]; have != nil && slices.Equal(have.Names, names) {
		if have.refs++; have.refs == 1 {
			l.bytes += have.bytes // only streams that have ended had it
		}
		return have
	}
	if l.bytes+size > maxNameBytes || len(names) > maxNameList {
		return nil
	}
	n := &NameList{Names: names, bytes: size, Hash: sum, refs: 1}
	l.bytes += size
	if l.byHash[sum] == nil {
		l.byHash[sum] = n
	}
	return n
}

func (l *lists) release(n *NameList) {
	if n == nil {
		return
	}
	if n.refs--; n.refs == 0 {
		l.bytes -= n.bytes
		l.drop(n)
	}
}

// drop forgets a list that nobody has any more, of the streams that are open or
// have ended.
func (l *lists) drop(n *NameList) {
	if n != nil && n.refs <= 0 && n.past.refs <= 0 && l.byHash[n.Hash] == n {
		delete(l.byHash, n.Hash)
	}
}
