package synth

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// unknownField is a field number that no type of Envoy uses.
const unknownField = 50_000

// Body returns the payload: the value of its Any.
func (r *Resource) Body() []byte {
	if r.Empty {
		return nil
	}
	if r.Corrupt {
		return r.corrupt()
	}
	var out []byte
	if k := kind(r.TypeURL); k != "" {
		m := &maker{r: r, name: r.payloadName(), label: label(r.Content), v2: v2(r.TypeURL)}
		if out = marshal(makers[k](m)); r.Dated {
			out = append(out, dated[k]...)
		}
	} else {
		out = r.generic()
	}
	if r.Unknown {
		out = appendText(out, unknownField, "unknown")
	}
	return out
}

// dated are deprecated fields as they stand on the wire: track_timeout_budgets,
// reuse_port, and append of one of response_headers_to_add.
var dated = map[string]string{
	"CDS": "\xf8\x02\x01", "LDS": "\xa8\x01\x01", "RDS": "\x22" + datedHeader, "VHDS": "\x52" + datedHeader,
}

const datedHeader = "\x0f\x0a\x09\x0a\x07x-dated\x12\x02\x08\x01"

// generic is the payload of a type that is not known here.
func (r *Resource) generic() []byte {
	var out []byte
	if n := r.payloadName(); n != "" {
		out = appendText(out, 1, n)
	}
	if r.Content != "" {
		out = appendText(out, 2, label(r.Content))
	}
	if r.Pad > 0 {
		out = appendText(out, 3, padding(r.Pad))
	}
	return out
}

// corrupt begins like the payload should, and ends in the middle of a field.
func (r *Resource) corrupt() []byte {
	var out []byte
	if n := r.payloadName(); n != "" && Named(r.TypeURL) {
		out = appendText(out, 1, n)
	}
	rest := label(r.Content) + padding(r.Pad)
	out = protowire.AppendTag(out, 2, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(len(rest)+1))
	return append(out, rest...)
}

// maker makes one payload.
type maker struct {
	r     *Resource
	name  string
	label string
	v2    bool
	spent bool // the padding was used
}

// makers is keyed by short type. Version 2 has the same field numbers as version
// 3 for everything that is made here, so its payloads are those of version 3
// but for the type URLs inside.
var makers map[string]func(*maker) proto.Message

// The functions refer to any, which refers to marshal and on to the map.
func init() {
	makers = map[string]func(*maker) proto.Message{
		"CDS": (*maker).cluster, "LDS": (*maker).listener, "RDS": (*maker).routes, "VHDS": (*maker).virtualHost,
		"EDS": (*maker).endpoints, "LEDS": (*maker).endpoint, "SDS": (*maker).secret, "RTDS": (*maker).runtime,
		"ECDS": (*maker).extension, "SRDS": (*maker).scope,
	}
}

// names2 gives the version 2 name of the types that payloads embed.
var names2 = map[string]string{
	"envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager": "envoy.config.filter.network.http_connection_manager.v2.HttpConnectionManager",
	"envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy":                            "envoy.config.filter.network.tcp_proxy.v2.TcpProxy",
	"envoy.extensions.filters.http.router.v3.Router":                                    "envoy.config.filter.http.router.v2.Router",
	"envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext":                      "envoy.api.v2.auth.UpstreamTlsContext",
	"envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext":                    "envoy.api.v2.auth.DownstreamTlsContext",
	"envoy.extensions.clusters.aggregate.v3.ClusterConfig":                              "envoy.config.cluster.aggregate.v2alpha.ClusterConfig",
}

// any packs a message.
func (m *maker) any(msg proto.Message) *anypb.Any {
	name := string(msg.ProtoReflect().Descriptor().FullName())
	if m.v2 {
		if two := names2[name]; two != "" {
			name = two
		}
	}
	return &anypb.Any{TypeUrl: xds.TypePrefix + name, Value: marshal(msg)}
}

// labelOr is the label, or a text that stands for none where a field must not
// be empty.
func (m *maker) labelOr(none string) string {
	if m.label == "" {
		return none
	}
	return m.label
}

// metadata holds the padding, if there is any that was not used yet.
func (m *maker) metadata() *corev3.Metadata {
	pad := m.pad()
	if pad == "" {
		return nil
	}
	return &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{
		"padding": {Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(pad)}},
	}}
}

// pad is the padding the first time it is asked for.
func (m *maker) pad() string {
	if m.spent {
		return ""
	}
	m.spent = true
	return padding(m.r.Pad)
}

func padding(n int) string { return strings.Repeat("x", max(n, 0)) }

// marshal never fails for messages with valid texts.
func marshal(m proto.Message) []byte {
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return b
}

func appendText(out []byte, num protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(out, num, protowire.BytesType), s)
}
