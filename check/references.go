package check

import "github.com/xdsproxy/xdsproxy/decode"

// parents are the types whose resources refer to those of a type.
func parents(typ string) []string {
	switch typ {
	case "CDS":
		return []string{"LDS", "RDS", "VHDS"}
	case "EDS":
		return []string{"CDS"}
	case "RDS":
		return []string{"LDS", "SRDS"}
	case "SDS", "ECDS":
		return []string{"LDS", "CDS"}
	case "SRDS":
		return []string{"LDS"}
	case "VHDS":
		return []string{"RDS"}
	}
	return nil
}

// referrers are what refers to the resources of one type on one stream. The
// last that were asked for are kept: of many names that are not answered in
// time each comes with a question of its own.
type referrers struct {
	talk  *talk
	typ   string
	moved uint64              // see talk.moved
	by    map[string]referrer // nil until they were asked for twice
}

// referred finds, for names of a type, a resource on the stream that refers to
// each, as it was sent last.
func (x *event) referred(typ string, names map[string]struct{}) map[string]referrer {
	r, t := &x.k.referrers, x.talk
	switch {
	case r.talk != t || r.typ != typ || r.moved != t.moved:
		*r = referrers{talk: t, typ: typ, moved: t.moved}
		return t.referred(typ, names)
	case r.by == nil:
		r.by = t.referred(typ, nil)
	}
	var out map[string]referrer
	for name := range names {
		if by, ok := r.by[name]; ok {
			if out == nil {
				out = make(map[string]referrer)
			}
			out[name] = by
		}
	}
	return out
}

// referred does the work. Without names it is about all there are.
func (t *talk) referred(typ string, names map[string]struct{}) map[string]referrer {
	out := make(map[string]referrer)
	for _, p := range parents(typ) {
		s := t.sub(p)
		if s == nil {
			continue
		}
		used := t.usedRoutes(p)
		for _, it := range s.have.all() {
			if _, is := used[it.name]; used != nil && !is {
				continue
			}
			for _, ref := range it.refs() {
				if ref.Type != typ || typ == "CDS" && ref.Use != decode.UseTraffic {
					continue
				}
				if _, asked := names[ref.Name]; names != nil && !asked {
					continue
				}
				old, found := out[ref.Name]
				if found && (old.sub.typ < p || old.sub.typ == p && old.item.name <= it.name) {
					continue
				}
				out[ref.Name] = referrer{sub: s, item: it, ref: ref}
			}
		}
	}
	return out
}

// usedRoutes are the routes that listeners and scopes refer to. It is nil for
// other types, and if the listeners are not known: then all may be in use. A
// client keeps the routes of a listener that it drains, and asks for them
// still, though no listener has them any more.
func (t *talk) usedRoutes(typ string) map[string]struct{} {
	lds := t.sub("LDS")
	if typ != "RDS" || lds == nil || lds.lost || lds.responses == 0 {
		return nil
	}
	used := make(map[string]struct{})
	for _, s := range []*subscription{lds, t.sub("SRDS")} {
		if s == nil {
			continue
		}
		for _, it := range s.have.all() {
			for _, ref := range it.refs() {
				if ref.Type == "RDS" {
					used[ref.Name] = struct{}{}
				}
			}
		}
	}
	return used
}

// referrer is a resource that refers to another.
type referrer struct {
	sub  *subscription
	item *item
	ref  decode.Ref
}

// refs are the resources that one refers to; none if its content is not known.
func (it *item) refs() []decode.Ref {
	if it == nil || it.content == nil {
		return nil
	}
	return it.content.facts.Refs
}

// nameSet makes a set of a list.
func nameSet(list []string) map[string]struct{} {
	set := make(map[string]struct{}, len(list))
	for _, n := range list {
		set[n] = struct{}{}
	}
	return set
}
