package shadow

import (
	"encoding/base64"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/session"
)

// request is a discovery request of the shadow. Its fields have the same numbers
// in versions 2 and 3.
type request struct {
	delta          bool
	node           []byte // encoded; nil: none
	url            string
	version, nonce string
	names, unnames []string
	rejects        *decode.Error // nil: nothing
}

func (r *request) encode() []byte {
	var out []byte
	text := func(num protowire.Number, s string) {
		if s != "" {
			out = protowire.AppendString(protowire.AppendTag(out, num, protowire.BytesType), s)
		}
	}
	list := func(num protowire.Number, names []string) {
		for _, n := range names {
			out = protowire.AppendString(protowire.AppendTag(out, num, protowire.BytesType), n)
		}
	}
	node := func(num protowire.Number) {
		if r.node != nil {
			out = protowire.AppendBytes(protowire.AppendTag(out, num, protowire.BytesType), r.node)
		}
	}
	refusal := func(num protowire.Number) {
		if r.rejects == nil {
			return
		}
		status := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(max(r.rejects.Code, 1)))
		status = protowire.AppendString(protowire.AppendTag(status, 2, protowire.BytesType), r.rejects.Message)
		out = protowire.AppendBytes(protowire.AppendTag(out, num, protowire.BytesType), status)
	}
	if r.delta {
		node(1)
		text(2, r.url)
		list(3, r.names)
		list(4, r.unnames)
		text(6, r.nonce)
		refusal(7)
		return out
	}
	text(1, r.version)
	node(2)
	list(3, r.names)
	text(4, r.url)
	text(5, r.nonce)
	refusal(6)
	return out
}

// nodeOf is the node of a request as it was encoded, nil if it has none.
func nodeOf(data []byte, delta bool) []byte {
	num := protowire.Number(2)
	if delta {
		num = 1
	}
	for s := protoscan.Of(data); s.Next(); {
		if s.Num == num && s.Type == protowire.BytesType {
			return append([]byte{}, s.Body...)
		}
	}
	return nil
}

// metadataOf is what the shadow says of the header fields of a recorded request:
// those that belong to neither HTTP nor gRPC. masked are the names of those that
// cannot be said, since the recording has a mask in their place.
func metadataOf(fields []session.Field) (md metadata.MD, masked []string) {
	md = metadata.MD{}
	for _, f := range fields {
		value := f.Value
		switch {
		case !sayable(f.Name):
			continue
		case strings.Contains(value, "[masked:"):
			masked = append(masked, f.Name)
			continue
		case strings.HasSuffix(f.Name, "-bin"):
			raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
			if err != nil {
				continue
			}
			value = string(raw)
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
			continue
		}
		md.Append(f.Name, value)
	}
	return md, masked
}

func sayable(name string) bool {
	switch name {
	case "", "te", "content-type", "content-length", "user-agent", "host", "connection", "accept-encoding", "transfer-encoding":
		return false
	}
	return !strings.HasPrefix(name, "grpc-") && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}
