// Package whose says from which objects of a control plane the resources that a finding
// names were made. It asks the account about what was sent. If a resource is no longer
// there, its name may tell.
package whose

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/decode/origin"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// Of lists the sources of some resources of a type, as they were sent last: each
// once, at most origin.Most. More says that there are more. Sub is the
// conversation that it is about, and may be of another type; either may be nil.
func Of(t *engine.Stream, sub *engine.Subscription, typ string, names []string) (list []origin.Source, more bool) {
	if sub == nil || sub.Type != typ {
		sub = nil
		if t != nil {
			if i := slices.IndexFunc(t.Order, func(s *engine.Subscription) bool { return s.Type == typ }); i >= 0 {
				sub = t.Order[i]
			}
		}
	}
	for _, name := range names {
		for _, s := range ofOne(sub, typ, name, &more) {
			switch {
			case slices.Contains(list, s):
			case len(list) >= origin.Most:
				return list, true
			default:
				list = append(list, s)
			}
		}
	}
	return list, more
}

func ofOne(sub *engine.Subscription, typ, name string, more *bool) []origin.Source {
	if sub != nil {
		if it := sub.Have.Get(name); it != nil {
			found, rest := it.Sources()
			*more = *more || rest
			return found
		}
	}
	if s, is := origin.Named(typ, name); is {
		return []origin.Source{s}
	}
	return nil
}
