package engine

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/decode/inspect"
)

// Elsewhere are the clusters that a client has, or gets, although they are not
// among those that are sent to it, as far as that can be told.
type Elsewhere struct {
	names map[string]struct{}
	// onDemand says that a cluster is asked for once a request is for it, so that
	// it may be any.
	onDemand bool
}

// Has says whether a cluster is one of them.
func (e *Elsewhere) Has(name string) bool {
	_, is := e.names[name]
	return is || e.onDemand
}

// Elsewhere asks what the client of a stream was sent there.
func (k *Engine) Elsewhere(t *Stream) Elsewhere {
	e := k.known()
	for _, s := range t.Order {
		e.learn(s)
	}
	return e
}

// placeholders are names for where what is for no service goes, or for a service
// that there is not: of Istio, of Envoy Gateway, and of kgateway and Gloo. The
// latter are in routes on purpose, and nobody sends them.
var placeholders = [...]string{
	"PassthroughCluster", "InboundPassthroughCluster", "BlackHoleCluster",
	"invalid-backend-cluster", "blackhole-cluster", "blackhole_cluster",
}

// known are the clusters of bootstraps, as the user or the recording names them.
func (k *Engine) known() Elsewhere {
	e := Elsewhere{names: make(map[string]struct{})}
	for _, list := range [][]string{placeholders[:], k.o.Static, k.static.names} {
		for _, n := range list {
			e.names[n] = struct{}{}
		}
	}
	return e
}

// learn takes what resources of a type tell: which services they name, whose
// clusters are mostly of the bootstrap; and which clusters an Envoy must have
// found when it accepted them.
func (e *Elsewhere) learn(s *Subscription) {
	var open states
	for name, it := range s.Have.All() {
		if it.Content == nil {
			continue
		}
		f := it.Content.Facts
		e.onDemand = e.onDemand || f.OnDemand
		for i := range f.Refs {
			if f.Refs[i].Use == inspect.UseService {
				e.names[f.Refs[i].Name] = struct{}{}
			}
		}
		if len(f.Proven) == 0 || !s.Stream.EnvoyClient() || !s.open.knows(name) {
			continue
		}
		if open == nil {
			open = s.states()
		}
		if _, is := open[name]; !is {
			for _, n := range f.Proven {
				e.names[n] = struct{}{}
			}
		}
	}
}

// Refused says that the client may have rejected a resource as it was sent last.
func (s *Subscription) Refused(name string) bool {
	c := s.open.byName[name]
	return s.Lost || !s.open.knows(name) || c != nil && c.by().rejected()
}

// Names are the names of all that there is, sorted.
func (v *inventory) Names() []string {
	out := make([]string, 0, v.Len())
	for name := range v.All() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
