package inspect

import (
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// fromJSON translates a resource of a REST message. It is false, and the facts
// say why, where the wire format cannot say the same.
func (in *Inspector) fromJSON(f *Facts, body []byte, masked bool) ([]byte, bool) {
	var a anypb.Any
	notes, err := lenient.JSON(body).Into(&a, in.known)
	for _, n := range notes {
		if n.LeftOut() {
			f.Unknown = append(f.Unknown, n.Message)
		}
	}
	switch {
	case err == nil:
		return a.Value, true
	case err.Kind == lenient.UnknownType:
		f.Unknown = append(f.Unknown, err.Message)
	case !masked: // a mask is no base64
		f.Undecodable = err.Message
	}
	return nil, false
}
