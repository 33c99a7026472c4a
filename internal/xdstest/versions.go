package xdstest

import (
	"crypto/sha256"

	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/proto"
)

// versions are those of the types of one world, by type URL.
type versions map[string]version

type version struct {
	name     string
	contents contents // what it stands for
}

// contents are sums of resources, by name.
type contents map[string][sha256.Size]byte

func versionsOf(s *cache.Snapshot) (versions, error) {
	out := versions{}
	for i, r := range s.Resources {
		typeURL, err := cache.GetResponseTypeURL(types.ResponseType(i))
		if err != nil {
			return nil, err
		}
		sums := make(contents, len(r.Items))
		for name, item := range r.Items {
			data, err := proto.MarshalOptions{Deterministic: true}.Marshal(item.Resource)
			if err != nil {
				return nil, err
			}
			sums[name] = sha256.Sum256(data)
		}
		out[typeURL] = version{r.Version, sums}
	}
	return out, nil
}

// keep gives every type that has no news its old version, in the snapshot too.
// Where endpoints follow clusters, a cluster that changed is news of them.
func (v versions) keep(s *cache.Snapshot, before versions, follow bool) {
	for typeURL, old := range before {
		now := v[typeURL]
		news := !now.contents.within(old.contents)
		switch typeURL {
		case resource.ClusterType, resource.ListenerType:
			// What is not in a response is gone; of other types it is not.
			news = news || len(now.contents) < len(old.contents)
		case resource.EndpointType:
			c := resource.ClusterType
			news = news || follow && v[c].contents.changed(before[c].contents)
		}
		if !news {
			now.name = old.name
			v[typeURL] = now
			s.Resources[cache.GetResponseType(typeURL)].Version = old.name
		}
	}
}

// within says whether all of c is in other, as it is.
func (c contents) within(other contents) bool {
	for name, sum := range c {
		if was, ok := other[name]; !ok || was != sum {
			return false
		}
	}
	return true
}

// changed says whether something that is in both is not the same.
func (c contents) changed(other contents) bool {
	for name, sum := range c {
		if was, ok := other[name]; ok && was != sum {
			return true
		}
	}
	return false
}
