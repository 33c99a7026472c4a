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

// referred finds, for names of a type, a resource on the stream that refers to
// each, as it was sent last.
func (t *talk) referred(typ string, names map[string]struct{}) map[string]referrer {
	var out map[string]referrer
	for _, p := range parents(typ) {
		s := t.sub(p)
		if s == nil {
			continue
		}
		for _, it := range s.have.all() {
			for _, ref := range it.refs() {
				if ref.Type != typ {
					continue
				}
				if _, asked := names[ref.Name]; !asked {
					continue
				}
				old, found := out[ref.Name]
				if found && (old.sub.typ < p || old.sub.typ == p && old.item.name <= it.name) {
					continue
				}
				if out == nil {
					out = make(map[string]referrer)
				}
				out[ref.Name] = referrer{sub: s, item: it, ref: ref}
			}
		}
	}
	return out
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
