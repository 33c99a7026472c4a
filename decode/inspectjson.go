package decode

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// fromJSON translates a resource of a REST message. It is false, and the facts
// say why, where the wire format cannot say the same.
func (in *Inspector) fromJSON(f *Facts, body []byte, masked bool) ([]byte, bool) {
	types := &missingTypes{resolver: in.registry}
	options := protojson.UnmarshalOptions{AllowPartial: true, Resolver: types, RecursionLimit: maxDepth}
	var a anypb.Any
	err := options.Unmarshal(body, &a)
	if err == nil {
		return a.Value, true
	}
	options.DiscardUnknown = true
	switch again := options.Unmarshal(body, &a); {
	case again == nil:
		f.Unknown = append(f.Unknown, jsonProblem(err))
		return a.Value, true
	case types.missing != "":
		f.Unknown = append(f.Unknown, "unknown type "+strconv.Quote(short([]byte(types.missing))))
	case !masked: // a mask is no base64
		f.Undecodable = jsonProblem(again)
	}
	return nil, false
}

// jsonProblem is the text of an error of protojson, which varies its spaces so
// that nobody compares it.
func jsonProblem(err error) string {
	text := strings.TrimSpace(strings.ReplaceAll(err.Error(), "\u00a0", " "))
	return strings.TrimSpace(strings.TrimPrefix(text, "proto:"))
}

// missingTypes remembers a type that was looked for in vain.
type missingTypes struct {
	resolver
	missing string
}

func (m *missingTypes) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	mt, err := m.resolver.FindMessageByURL(url)
	if err == protoregistry.NotFound {
		m.missing = xds.TypeName(url)
	}
	return mt, err
}
