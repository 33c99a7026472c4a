package file

import (
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"go.yaml.in/yaml/v3"
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
	var (
		root *yaml.Node
		err  *lenient.Fault
	)
	switch endings[ending(name)] {
	case formatYAML:
		root, _, err = lenient.YAMLTree(data, maxValues)
	case formatJSON:
		root, err = lenient.JSONTree(data, maxValues)
	default:
		return Response
	}
	if err != nil || root == nil || root.Kind != yaml.MappingNode || len(root.Content) == 0 {
		return Response
	}
	kind := Other
	fields := (&discovery.DiscoveryResponse{}).ProtoReflect().Descriptor().Fields()
	for i := 0; i+1 < len(root.Content); i += 2 {
		switch key := root.Content[i].Value; {
		case fields.ByName(protoreflect.Name(key)) != nil, fields.ByJSONName(key) != nil:
			return Response
		case key == "static_resources", key == "staticResources", key == "dynamic_resources", key == "dynamicResources":
			kind = Bootstrap
		}
	}
	return kind
}
