package file

import (
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// Kind is what a file in a directory of configuration is.
type Kind int

const (
	// Response is a DiscoveryResponse, or what cannot be read as anything.
	Response  Kind = iota
	Bootstrap      // of Envoy
	Other          // of which a DiscoveryResponse has no field
)

// KindOf tells by the fields that stand at the top of a file in YAML or JSON what it
// is. Text and binary are taken for a DiscoveryResponse.
func KindOf(name string, data []byte) Kind {
	if len(data) > MaxSize {
		return Response
	}
	form := endings[ending(name)]
	if form != formatYAML && form != formatJSON {
		return Response
	}
	keys := lenient.Keys(data, form == formatJSON, maxValues)
	if len(keys) == 0 {
		return Response
	}
	kind := Other
	fields := (&discovery.DiscoveryResponse{}).ProtoReflect().Descriptor().Fields()
	for _, key := range keys {
		switch {
		case fields.ByName(protoreflect.Name(key)) != nil, fields.ByJSONName(key) != nil:
			return Response
		case key == "static_resources", key == "staticResources", key == "dynamic_resources", key == "dynamicResources":
			kind = Bootstrap
		}
	}
	return kind
}
