package bootstrap

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// Merge writes in JSON what Envoy makes of a bootstrap and of what its
// --config-yaml has: lists are added to, single values replaced. All types in
// them have to be linked.
func Merge(name string, data []byte, over string) ([]byte, error) {
	base, err := message(name, data)
	if err != nil {
		return nil, err
	}
	more, err := message("x.yaml", []byte(over))
	if err != nil {
		return nil, err
	}
	proto.Merge(base, more)
	return protojson.MarshalOptions{UseProtoNames: true, AllowPartial: true}.Marshal(base)
}

// message reads a bootstrap of Envoy. What Envoy does not know there it refuses.
func message(name string, data []byte) (proto.Message, error) {
	form, err := formatOf(name, data)
	if err != nil {
		return nil, err
	}
	mt, err := protoregistry.GlobalTypes.FindMessageByName("envoy.config.bootstrap.v3.Bootstrap")
	if err != nil {
		return nil, fmt.Errorf("the type of Envoy's bootstrap: %w", err)
	}
	text, fault := lenient.JSON(data), (*lenient.Fault)(nil)
	if form == inYAML {
		text, fault = lenient.YAML(data, maxValues)
	}
	m := mt.New().Interface()
	if fault == nil {
		fault = text.Whole(m, protoregistry.GlobalTypes)
	}
	if fault != nil {
		return nil, fault
	}
	return m, nil
}
