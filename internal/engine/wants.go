package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
)

// wantSotw enters the list of a state-of-the-world request.
func (k *Engine) wantSotw(s *Subscription, r *Request, c *Change, first bool) {
	star := false
	for _, n := range r.Message.Names {
		star = star || n == "*"
	}
	var known bool
	c.Added, c.Removed, known = k.lists.change(s, r.Message.Names, first)
	c.Uncertain = c.Uncertain || !known
	list := s.list
	if list == nil {
		if len(r.Message.Names) > 0 || !s.Lost {
			s.lose() // there was no room for the list
		}
		list = &NameList{Names: r.Message.Names}
	}
	r.List = s.list
	if list != s.Names.base {
		for _, n := range c.Added {
			if n != "*" && n != "" {
				n = decode.NormalName(n)
				if !s.Names.Has(n) {
					r.Added = append(r.Added, n)
				}
			}
		}
		for _, n := range c.Removed {
			if n = decode.NormalName(n); n != "*" && n != "" && s.Names.Has(n) && !list.has(n) {
				r.Removed = append(r.Removed, n)
			}
		}
		s.Names = names{base: list, size: len(list.index())}
	}
	switch {
	case star:
		s.Wild, s.EverNamed = ExplicitWild, true
	case len(r.Message.Names) > 0:
		s.Wild, s.EverNamed = NotWild, true
	case !s.EverNamed:
		s.Wild = LegacyWild
	default:
		s.Wild = NotWild
	}
	k.drop(s, r)
	r.Given = r.Added
}

// wantDelta enters what a delta request subscribes to and what it gives up.
// A nonce in the first request is a mistake, and makes no verdict of it.
func (k *Engine) wantDelta(s *Subscription, r *Request, c *Change, first bool) {
	m := r.Message
	c.Added, c.Removed = m.Subscribe, m.Unsubscribe
	if r.Ordinal == 0 && len(m.Subscribe) > 64 {
		if l := k.lists.keep(m.Subscribe); l != nil {
			s.Names = names{base: l, size: len(l.index())}
			r.Added = slices.Sorted(maps.Keys(l.index()))
		}
	}
	for _, n := range m.Subscribe {
		switch n {
		case "*":
			s.Wild, s.EverNamed = ExplicitWild, true
			continue
		case "":
			continue
		}
		n = decode.NormalName(n)
		s.EverNamed = true
		r.Given = append(r.Given, n)
		if s.Names.add(n) {
			r.Added = append(r.Added, n)
		}
	}
	if first && len(m.Subscribe) == 0 {
		s.Wild = LegacyWild
	}
	for _, n := range m.Unsubscribe {
		if n == "*" {
			s.Wild = NotWild
			s.EverNamed = true
			continue
		}
		if n = decode.NormalName(n); s.Names.remove(n) {
			r.Removed = append(r.Removed, n)
		}
	}
	k.drop(s, r)
}

// swept are the resources that a client has for a wildcard or a collection only that
// it gives up with a request. It drops them, and nobody tells it to.
func (s *Subscription) swept(r *Request) (out []string) {
	all := r.Before.Wild != NotWild
	globs := slices.DeleteFunc(slices.Clone(r.Removed), func(n string) bool { return !IsGlob(n) })
	if s.Wild != NotWild || s.Lost || !all && len(globs) == 0 {
		return nil // where part was not seen, it may have named others
	}
	was := names{own: make(map[string]bool)}
	for _, n := range globs {
		was.add(n)
	}
	named := make(map[string]bool) // by another name that it has
	for alias, name := range s.aliases {
		named[name] = named[name] || s.Names.Has(alias)
	}
	for name := range s.Have.All() {
		if (all || was.Covers(name)) && !s.Names.Has(name) && !s.Names.Covers(name) && !named[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out) // the same in each reading
	return out
}

// MaxDropped bounds the names given up that a type remembers.
const MaxDropped = 1 << 16

// drop remembers the names that a client gave up, and takes what it had of them from it.
func (k *Engine) drop(s *Subscription, r *Request) {
	gone := r.Removed
	if swept := s.swept(r); len(swept) > 0 {
		gone = slices.Concat(gone, swept)
	}
	if len(gone) > 0 && s.Dropped == nil {
		s.Dropped = make(map[string]dropped)
	}
	if len(s.Dropped)+len(gone) > MaxDropped {
		clear(s.Dropped)
	}
	for _, n := range gone {
		it := s.Have.Get(n)
		if len(s.Dropped) < MaxDropped {
			was := s.Dropped[n]
			was.At, was.Delivered = k.Now, it != nil
			if s.SentHere(n) {
				was.Here, was.Version, was.Hash = true, s.versionOf(it), it.Content.Facts.Hash
				was.Decoded = it.Content.Facts.Undecodable == ""
			}
			s.Dropped[n] = was
		}
		delete(s.aliases, n)
		if s.Wild == NotWild {
			s.Stream.Moved++
			s.retire(it)
			s.Have.remove(n)
			s.open.drop(n)
		}
	}
	switch {
	case s.Wild != NotWild:
		s.WildEnded = time.Time{}
	case r.Before.Wild != NotWild:
		s.WildEnded = k.Now
	}
	switch {
	case s.Active():
		s.Cleared = time.Time{}
	case s.EverNamed && s.Cleared.IsZero():
		s.Cleared, s.ClearedAt = k.Now, r.Seq
	}
}
