package file

import (
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/internal/unmarshal"
)

// Source is a file that a client subscribes to.
type Source struct {
	Path      string
	Directory string // its watched_directory; "" if it has none
}

const (
	// maxSources bounds those of one response.
	maxSources = 1000

	configSource = "envoy.config.core.v3.ConfigSource"
	pathSource   = "envoy.config.core.v3.PathConfigSource"
)

// Sources are the files that the resources of a DiscoveryResponse, in binary
// protobuf, name as sources of others.
func Sources(response []byte) []Source {
	var r discovery.DiscoveryResponse
	if proto.Unmarshal(response, &r) != nil {
		return nil
	}
	var out []Source
	visit(r.ProtoReflect(), maxDepth, &out)
	return out
}

func visit(m protoreflect.Message, depth int, out *[]Source) {
	if depth == 0 || len(*out) >= maxSources {
		return
	}
	if packed, is := m.Interface().(*anypb.Any); is {
		if inner, err := unmarshal.Packed(packed); err == nil {
			visit(inner.ProtoReflect(), depth-1, out)
		}
		return
	}
	fields := m.Descriptor().Fields()
	text := func(m protoreflect.Message, name protoreflect.Name) string {
		return m.Get(m.Descriptor().Fields().ByName(name)).String()
	}
	switch m.Descriptor().FullName() {
	case configSource:
		if path := text(m, "path"); path != "" {
			*out = append(*out, Source{Path: path})
		}
	case pathSource:
		s := Source{Path: text(m, "path")}
		if at := fields.ByName("watched_directory"); m.Has(at) {
			s.Directory = text(m.Get(at).Message(), "path")
		}
		*out = append(*out, s)
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			if f.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					visit(v.Message(), depth-1, out)
					return true
				})
			}
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				visit(v.List().Get(i).Message(), depth-1, out)
			}
		default:
			visit(v.Message(), depth-1, out)
		}
		return true
	})
}
