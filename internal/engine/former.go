package engine

// former are the routes that listeners, or scopes, of a client named once. A
// client keeps the routes of a listener that it drains, and asks for them still,
// though no listener that was sent has them any more.
type former struct {
	names map[string]struct{}
	lost  bool // there may be others
}

// maxFormer bounds the routes of a type.
const maxFormer = 1 << 12

// retire notes what resources referred to that are gone, or have changed.
func (s *Subscription) retire(list ...*Resource) {
	if s.Type != "LDS" && s.Type != "SRDS" {
		return
	}
	for _, it := range list {
		for _, ref := range it.Refs() {
			switch f := &s.former; {
			case ref.Type != "RDS":
			case len(f.names) >= maxFormer:
				f.lost = true
			case f.names == nil:
				f.names = map[string]struct{}{ref.Name: {}}
			default:
				f.names[ref.Name] = struct{}{}
			}
		}
	}
}

// static yields the routes that the client asks for though no listener that was
// sent has ever named them: those of listeners that it has from its bootstrap.
// None if that is not known.
func (t *Stream) static(rds *Subscription) (out []string) {
	if rds == nil || rds.Lost || rds.lacksPast() {
		return nil
	}
	of := []*Subscription{t.Sub("LDS"), t.Sub("SRDS")}
	for _, s := range of {
		if s != nil && (s.Lost || s.former.lost || s.lacksPast()) {
			return nil
		}
	}
next:
	for name := range rds.Names.All() {
		for _, s := range of {
			if s != nil {
				if _, was := s.former.names[name]; was {
					continue next
				}
			}
		}
		out = append(out, name)
	}
	return out
}

// lacksPast says whether the client brought something of the type from a stream
// that is not known.
func (s *Subscription) lacksPast() bool {
	p := s.Stream.Previous
	return (s.announced || len(s.Initial) > 0) && (p == nil || p.Subs[s.Key] == nil)
}
