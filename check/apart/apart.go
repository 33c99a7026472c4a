// Package apart looks across the streams of one client, where each type has a stream
// of its own.
package apart

import (
	"maps"

	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// LeadingTo finds, for the clusters that a response of clusters removed and that did
// not come again, what refers to each on the other streams of the connection: those
// are of the same process. Routes count if a listener there refers to them, for a
// client that drains a listener still asks for its routes.
func LeadingTo(k *engine.Engine, client string, clusters *engine.Subscription, n *engine.Response) map[string]engine.Referrer {
	gone := make(map[string]struct{})
	for _, it := range n.Removed {
		if clusters.Have.Get(it.Name) == nil {
			gone[it.Name] = struct{}{}
		}
	}
	if len(gone) == 0 {
		return nil
	}
	found := make(map[string]engine.Referrer)
	used := make(map[string]struct{}) // routes
	for s := range k.TypesOfClient(client) {
		if s.Stream.Conn != clusters.Stream.Conn || s.Stream.Ended || s.Lost {
			continue
		}
		if s.Type == "LDS" {
			for _, it := range s.Have.All() {
				for _, ref := range it.Refs() {
					if ref.Type == "RDS" {
						used[ref.Name] = struct{}{}
					}
				}
			}
		}
		for name, by := range s.Stream.Referred("CDS", gone) {
			if old, is := found[name]; !is || by.Sub.Type < old.Sub.Type {
				found[name] = by
			}
		}
	}
	maps.DeleteFunc(found, func(_ string, by engine.Referrer) bool {
		_, is := used[by.Item.Name]
		return by.Sub.Type != "LDS" && !is
	})
	return found
}
