package xdstest

import (
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/proto"
)

// versions are those of the types of one world, by type URL.
type versions map[string]version

type version struct {
	name    string
	content [sha256.Size]byte // what it stands for: all resources of the type
}

func versionsOf(s *cache.Snapshot) (versions, error) {
	out := versions{}
	for i, r := range s.Resources {
		typeURL, err := cache.GetResponseTypeURL(types.ResponseType(i))
		if err != nil {
			return nil, err
		}
		var all []byte
		for _, name := range slices.Sorted(maps.Keys(r.Items)) {
			one, err := proto.MarshalOptions{Deterministic: true}.Marshal(r.Items[name].Resource)
			if err != nil {
				return nil, err
			}
			sum := sha256.Sum256(one)
			all = append(all, sum[:]...)
		}
		out[typeURL] = version{r.Version, sha256.Sum256(all)}
	}
	return out, nil
}

// keep gives every type that is as it was before its old version, in the
// snapshot too. Endpoints are only as before if the clusters are.
func (v versions) keep(s *cache.Snapshot, before versions) {
	for typeURL, old := range before {
		same := v[typeURL].content == old.content
		if typeURL == resource.EndpointType {
			same = same && v[resource.ClusterType].content == before[resource.ClusterType].content
		}
		if same {
			v[typeURL] = old
			s.Resources[cache.GetResponseType(typeURL)].Version = old.name
		}
	}
}
