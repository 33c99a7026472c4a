package file

import (
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// maxValues bounds the values in a file of YAML.
const maxValues = 2 << 20

func readYAML(data []byte) (Content, *Error) {
	text, err := lenient.YAML(data, maxValues)
	if err != nil {
		return Content{}, explained(err)
	}
	return readJSON(text)
}

func readJSON(text lenient.Text) (Content, *Error) {
	var r discovery.DiscoveryResponse
	notes, err := text.Into(&r, protoregistry.GlobalTypes)
	if err != nil {
		return Content{}, explained(err)
	}
	var warnings []*Error
	for _, n := range notes {
		warnings = append(warnings, explained(n))
	}
	return marshalled(&r, warnings)
}

// explained adds what Envoy makes of it, or what may help.
func explained(f *lenient.Fault) *Error {
	e := wrong("%s", f.Message).at(f.Line, f.Col)
	switch f.Kind {
	case lenient.UnknownField, lenient.UnknownEnum:
		return e.hint("Envoy leaves it out and counts it in server.dynamic_unknown_fields; with --reject-unknown-dynamic-fields it rejects the file")
	case lenient.UnknownType:
		return e.hint("a type that is not Envoy's own cannot be read as text; the binary form of the file can")
	case lenient.TwiceLast:
		return e.hint("Envoy takes the last one")
	case lenient.TwiceBoth:
		return e.hint("Envoy takes both, as one")
	case lenient.Documents:
		return e.hint("Envoy reads the first one only")
	}
	return e
}

// readText reads the text form of protobuf, in which Envoy forgives nothing.
func readText(data []byte) (Content, *Error) {
	var r discovery.DiscoveryResponse
	if err := (prototext.UnmarshalOptions{RecursionLimit: maxDepth}).Unmarshal(data, &r); err != nil {
		return Content{}, complaint(err)
	}
	return marshalled(&r, nil)
}
