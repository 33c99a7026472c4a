package chunk

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Brief is what it takes to file a message without reading it: which type it
// is about, and what it answers.
type Brief struct {
	Kind     decode.Kind
	TypeURL  string
	Nonce    string // nonce, or response_nonce of a request
	Version  string // version_info, none of delta
	NodeID   string // of a request that names its node
	Rejected bool   // a request with an error_detail
}

// Glance reads the Brief of a discovery message from its bytes. It looks at no
// resource, so that it costs a few nanoseconds for each, and joins no chunks
// if each begins at a field of the message, as those of a split message do.
// What is no discovery message in protobuf form has the zero Brief.
func Glance(m xds.Method, side session.Side, c session.Chunks) Brief {
	kind, _ := decode.KindOf(m, side, c)
	at, ok := briefFields[kind]
	if !ok {
		return Brief{}
	}
	b, whole := at.read(c)
	if !whole && len(c) > 1 {
		b, _ = at.read(session.Chunks{c.Bytes()})
	}
	b.Kind = kind
	return b
}

// briefNumbers are the field numbers of a Brief in one kind of message.
type briefNumbers struct {
	typeURL, nonce, version, node, rejection protowire.Number
}

// briefFields come from envoy/service/discovery/v3/discovery.proto; those of
// version 2 are the same.
var briefFields = map[decode.Kind]briefNumbers{
	decode.SotwRequest:   {typeURL: 4, nonce: 5, version: 1, node: 2, rejection: 6},
	decode.SotwResponse:  {typeURL: 4, nonce: 5, version: 1},
	decode.DeltaRequest:  {typeURL: 2, nonce: 6, node: 1, rejection: 7},
	decode.DeltaResponse: {typeURL: 4, nonce: 5},
}

// read takes each chunk for a sequence of whole fields and says whether that
// was so.
func (at briefNumbers) read(c session.Chunks) (b Brief, whole bool) {
	for _, chunk := range c {
		if at.node == 0 && isResource(chunk) {
			continue
		}
		s := protoscan.Of(chunk)
		for s.Next() {
			body, ok := s.Bytes()
			if !ok {
				continue
			}
			switch s.Num {
			case at.typeURL:
				b.TypeURL = string(body)
			case at.nonce:
				b.Nonce = string(body)
			case at.version:
				b.Version = string(body)
			case at.node:
				b.NodeID = string(protoscan.First(body, 1))
			case at.rejection:
				b.Rejected = true
			}
		}
		if s.Err != "" {
			return b, false
		}
	}
	return b, true
}

// isResource says whether a chunk of a response is field 2 and nothing else.
func isResource(chunk []byte) bool {
	if len(chunk) < minChunk || chunk[0] != 2<<3|2 {
		return false
	}
	n, size := protowire.ConsumeVarint(chunk[1:])
	return size > 0 && n == uint64(len(chunk)-1-size)
}
