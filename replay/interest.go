package replay

import (
	"maps"

	"github.com/xdsproxy/xdsproxy/session"
)

// Interest is what one side of a conversation asks for, type by type: the names
// that it has asked for at any time, and those that it wants now.
type Interest struct{ Asked, Wanted map[string]struct{} }

func NewInterest() Interest {
	return Interest{map[string]struct{}{}, map[string]struct{}{}}
}

func (w Interest) Change(added, removed []string) {
	for _, n := range removed {
		delete(w.Wanted, n)
	}
	for _, n := range added {
		if len(w.Asked) >= maxAsked {
			return // a peer that means ill: what differs is known by now
		}
		w.Asked[n] = struct{}{}
		w.Wanted[n] = struct{}{}
	}
}

// InterestIn is what the recorded client asked for of a topic by the end. Names
// that it gave up after the last response are not counted as given up if the
// client then left: that was the leaving.
func (s *Stream) InterestIn(topic int32) Interest {
	last := len(s.Steps)
	if s.End == nil || s.End.Side == session.Client {
		for last > 0 {
			st := &s.Steps[last-1]
			if st.Server || st.Answers || len(st.Added) > 0 || len(st.Removed) == 0 {
				break
			}
			last--
		}
	}
	w := NewInterest()
	for i := range s.Steps[:last] {
		if st := &s.Steps[i]; !st.Server && st.Topic == topic {
			w.Change(st.Added, st.Removed)
		}
	}
	return w
}

// Kept is the interest of one who wants these names, too.
func (w Interest) Kept(names []string) Interest {
	kept := Interest{w.Asked, maps.Clone(w.Wanted)}
	for _, n := range names {
		kept.Wanted[n] = struct{}{}
	}
	return kept
}

// Same says whether two sides ask, and have asked, for the same.
func (w Interest) Same(o Interest) bool {
	return sameSet(w.Asked, o.Asked) && sameSet(w.Wanted, o.Wanted)
}

func sameSet(a, b map[string]struct{}) bool {
	if len(a) != len(b) {
		return false
	}
	for n := range a {
		if _, is := b[n]; !is {
			return false
		}
	}
	return true
}

// Came says whether w has come to what is expected, whatever else it asks for.
func (w Interest) Came(to Interest) bool {
	for n := range to.Asked {
		_, asked := w.Asked[n]
		_, wants := w.Wanted[n]
		if _, is := to.Wanted[n]; !asked || wants != is {
			return false
		}
	}
	return true
}
