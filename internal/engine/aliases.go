package engine

import "github.com/xdsproxy/xdsproxy/decode"

// aliases are resources by the other names that the server says they have: who asks
// by an alias, as Envoy does for the virtual host of a domain, gets a resource of
// another name.
type aliases map[string]string

// learnAliases takes the aliases that a response has. What comes with an alias and without a
// payload says that there is no such resource; with a TTL it is a heartbeat.
func (s *Subscription) learnAliases(m *decode.Message) {
	for i := range m.Resources {
		r := &m.Resources[i]
		for _, alias := range r.Aliases {
			alias = decode.NormalName(alias)
			_, known := s.aliases[alias]
			switch {
			case r.Empty && !r.HasTTL:
				delete(s.aliases, alias)
			case r.Empty, !known && len(s.aliases) >= MaxDropped:
			case s.aliases == nil:
				s.aliases = aliases{alias: decode.NormalName(r.Name)}
			default:
				s.aliases[alias] = decode.NormalName(r.Name)
			}
		}
	}
}

// bytes is what they take, about.
func (a aliases) bytes() (n int64) {
	for alias, name := range a {
		n += int64(64 + len(alias) + len(name))
	}
	return n
}

// Given is what the client has been given for a name that it may ask for: the resource
// of that name, or the one that it is an alias of; nil if there is none.
func (s *Subscription) Given(name string) *Resource {
	if it := s.Have.Get(name); it != nil {
		return it
	}
	if of, is := s.aliases[name]; is {
		return s.Have.Get(of)
	}
	return nil
}
