package engine

import (
	"iter"
	"maps"
	"slices"
)

// unsettled is what a client was sent of a type and has not accepted: of each
// resource concerned what it had accepted before.
//
// The changes of the newest response are not entered one by one until another
// one comes before its verdict, or that is a rejection. Mostly they never are.
type unsettled struct {
	newest *Response
	byName map[string]*changes
	// unsure says that it is known of the resources in sure only, until the
	// client accepts a response that has everything.
	unsure bool
	sure   map[string]bool
}

// changes are those of one resource, oldest first.
type changes struct {
	accepted *Resource // nil: the client has none
	list     []change
}

type change struct {
	by *Response
	to *Resource // nil: it is gone
}

// maxUnsettled bounds the resources of a type on a stream that are known not to
// be accepted.
const maxUnsettled = 1 << 17

// maxChanges bounds the changes of one resource that wait for a verdict.
const maxChanges = 8

// sent takes a response that has just come.
func (u *unsettled) sent(n *Response) {
	u.enter()
	u.newest = n
}

// enter takes the changes of the newest response one by one.
func (u *unsettled) enter() {
	n := u.newest
	if u.newest = nil; n == nil {
		return
	}
	for _, it := range n.Added {
		u.add(n, it.Name, nil, it)
	}
	for i, it := range n.Changed {
		u.add(n, it.Name, n.Before[i], it)
	}
	for _, it := range n.Removed {
		u.add(n, it.Name, it, nil)
	}
	if len(u.byName) == 0 {
		return
	}
	for name := range n.names() { // also what it has as it was sent before
		if c := u.byName[name]; c != nil {
			if last := c.list[len(c.list)-1]; last.by != n {
				u.add(n, name, nil, last.to)
			}
		}
	}
}

func (u *unsettled) add(by *Response, name string, was, is *Resource) {
	c := u.byName[name]
	if c == nil {
		if len(u.byName) >= maxUnsettled {
			u.byName, u.unsure = nil, true
		}
		if u.byName == nil {
			u.byName = make(map[string]*changes)
		}
		c = &changes{accepted: was}
		u.byName[name] = c
	}
	// What was rejected, and is not what was sent last, matters no more.
	kept := c.list[:0]
	for _, o := range c.list {
		if o.by.Verdict != NACKed || o.to == is && !slices.ContainsFunc(kept, func(k change) bool { return k.by.Verdict == NACKed }) {
			kept = append(kept, o)
		}
	}
	if len(kept) >= maxChanges {
		kept = append(kept[:1], kept[2:]...)
	}
	c.list = append(kept, change{by, is})
}

// reject notes that what a response has was rejected, also where an older one
// without a verdict had brought it first.
func (u *unsettled) reject(n *Response) {
	u.enter()
	for name := range n.names() {
		if c := u.byName[name]; c != nil {
			if last := c.list[len(c.list)-1]; last.by != n && last.by.Ordinal < n.Ordinal {
				c.list = append(c.list, change{n, last.to})
			}
		}
	}
}

// accept settles what a response has, and where it is all there is of the type
// whatever came before it.
func (u *unsettled) accept(n *Response, all bool) {
	if u.newest == n && len(u.byName) == 0 {
		u.newest = nil
	}
	if u.newest == n {
		u.enter()
	}
	if all {
		u.unsure, u.sure = false, nil
	}
	if u.unsure && len(u.sure) < maxUnsettled {
		if u.sure == nil {
			u.sure = make(map[string]bool)
		}
		for name := range n.names() {
			u.sure[name] = true
		}
	}
	if len(u.byName) == 0 {
		return
	}
	if !all && (n.Count == 0 || len(n.Resolved)+len(n.Added)+len(n.Changed) > 0) {
		for name := range n.names() {
			u.settle(name, n)
		}
		return
	}
	for name, c := range u.byName {
		if all && !n.beats[name] || slices.ContainsFunc(c.list, func(o change) bool { return o.by == n }) {
			u.settle(name, n)
		}
	}
}

// settle enters that the client has a resource as it was sent last up to n.
func (u *unsettled) settle(name string, n *Response) {
	c := u.byName[name]
	if c == nil {
		return
	}
	last := -1
	for i, o := range c.list {
		if o.by.Ordinal <= n.Ordinal {
			last = i
		}
	}
	if last < 0 {
		return
	}
	c.accepted, c.list = c.list[last].to, c.list[last+1:]
	for len(c.list) > 0 && c.list[0].to == c.accepted { // it stays accepted
		c.list = c.list[1:]
	}
	if len(c.list) == 0 {
		delete(u.byName, name)
	}
}

// all yields each name of which what was sent is not what was accepted, with
// what was accepted, nil for nothing, and the response that changed it last.
func (u *unsettled) all() iter.Seq2[string, unaccepted] {
	if len(u.byName) > 0 {
		u.enter()
	}
	return func(yield func(string, unaccepted) bool) {
		if n := u.newest; n != nil {
			for _, it := range n.Added {
				if !yield(it.Name, unaccepted{nil, n}) {
					return
				}
			}
			for i, it := range n.Changed {
				if !yield(it.Name, unaccepted{n.Before[i], n}) {
					return
				}
			}
			for _, it := range n.Removed {
				if !yield(it.Name, unaccepted{it, n}) {
					return
				}
			}
		}
		for name, c := range u.byName {
			if !yield(name, unaccepted{c.accepted, c.by()}) {
				return
			}
		}
	}
}

// bury leaves what was accepted, and returns its bytes.
func (u *unsettled) bury(k *Engine) (bytes int64) {
	u.enter()
	left := make(map[*Response]*Response)
	for name, c := range u.byName {
		by := c.by()
		if left[by] == nil {
			left[by] = &Response{
				Verdict: by.Verdict, refused: by.refused, Kind: by.Kind, Version: by.Version, Seq: by.Seq, At: by.At,
				judgedSeq: by.judgedSeq, details: &k.bare,
			}
			bytes += int64(512 + len(by.Version))
		}
		*c = changes{list: []change{{by: left[by]}}, accepted: c.accepted}
		if it := c.accepted; it != nil {
			bytes += int64(160 + len(it.Version))
			if it.Content != nil {
				bytes += it.Content.bytes()
			}
		}
		bytes += int64(160 + len(name))
	}
	return bytes
}

// names yields the names that a response has or removes, as far as they are
// still known. A heartbeat says nothing of its resource.
func (n *Response) names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, list := range [][]*Resource{n.Resolved, n.Added, n.Changed, n.Removed} {
			for _, it := range list {
				if !n.beats[it.Name] && !yield(it.Name) {
					return
				}
			}
		}
		for _, name := range n.gone {
			if !yield(name) {
				return
			}
		}
	}
}

// Renewed are the resources that a response which has just come adds to what the
// client has, or changes. What was sent before and rejected the client does not
// have; what it has not answered yet it will have.
func (s *Subscription) Renewed(n *Response) []*Resource {
	if len(n.Changed)+len(s.open.byName) == 0 {
		return n.Added
	}
	var out []*Resource
	for _, it := range n.Added {
		if s.Renews(n, it) {
			out = append(out, it)
		}
	}
	for i, it := range n.Changed {
		if n.Before[i].Content != nil && s.Renews(n, it) {
			out = append(out, it)
		}
	}
	return out
}

// Renews says of one resource of a response that was new or changed whether the
// client had something else before, or nothing.
func (s *Subscription) Renews(n *Response, it *Resource) bool {
	if it == nil {
		return true
	}
	c := s.open.byName[it.Name]
	if c == nil {
		return true
	}
	had := c.accepted
	for _, o := range c.list {
		if o.by.Verdict != NACKed && o.by.Seq != 0 && o.by.Seq < n.Seq {
			had = o.to
		}
	}
	return had == nil || !had.Content.SameAs(it.Content)
}

// drop forgets a resource that the client has given up.
func (u *unsettled) drop(name string) {
	u.enter()
	delete(u.byName, name)
}

// clone is the same for a stream that takes over from one that has ended.
func (u *unsettled) clone() unsettled {
	out := unsettled{unsure: u.unsure, sure: maps.Clone(u.sure), byName: make(map[string]*changes, len(u.byName))}
	for name, c := range u.byName {
		out.byName[name] = &changes{c.accepted, c.list[:len(c.list):len(c.list)]}
	}
	return out
}

// unaccepted is what a client has accepted of a resource in place of what it
// was sent last.
type unaccepted struct {
	accepted *Resource // nil: nothing
	// by is the response that was rejected, if what was sent last was, and it may
	// have come again since; else the one that had it last.
	by *Response
}

func (u *unaccepted) rejected() bool { return u.by.rejected() }

// unclear says that its answer does not tell.
func (u *unaccepted) unclear() bool { return u.by.Verdict == Unclear }

// rejected says whether a response was rejected, or has not been answered and is
// what was rejected on the stream before.
func (n *Response) rejected() bool {
	return n.Verdict == NACKed || n.Verdict == Unjudged && n.refused
}

// by is the response that was rejected with the resource as it was sent last, or
// else the one that had it last.
func (c *changes) by() *Response {
	last := c.list[len(c.list)-1]
	for i := len(c.list) - 1; i >= 0 && c.list[i].to == last.to; i-- {
		if c.list[i].by.rejected() {
			return c.list[i].by
		}
	}
	return last.by
}

// knows says whether it is known what the client has accepted of a resource.
func (u *unsettled) knows(name string) bool { return !u.unsure || u.sure[name] }
