package decode

import (
	"mime"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Form is how the bytes of a message are written.
type Form uint8

// Discovery messages are protobuf on gRPC and JSON on REST.
const (
	FormProto Form = iota
	FormJSON
)

// FormOf derives the form from the method and the content type of the side
// that sent the message. The content type wins where it says something.
func FormOf(m xds.Method, contentType string) Form {
	if contentType == "application/grpc" || contentType == "" && m.Service != "" && m.Response != "" { // nearly always
		return FormProto
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	switch {
	case media == "application/json", media == "text/json", strings.HasSuffix(media, "+json"):
		return FormJSON
	case media == "application/x-protobuf", media == "application/protobuf", strings.HasPrefix(media, "application/grpc"):
		return FormProto
	}
	if m.Variant == xds.VariantREST || m.Variant != xds.VariantFile && strings.Contains(m.Path, "/discovery:") {
		return FormJSON
	}
	return FormProto
}
