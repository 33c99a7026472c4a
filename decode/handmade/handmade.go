// Package handmade has messages that are written field by field, for tests of who
// reads the wire format. It knows no type, and is read by tests alone.
package handmade

import (
	"bytes"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/session"
)

// Paths of streams, and type URLs.
const (
	ADSPath      = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	DeltaADSPath = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
	ClusterURL   = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	SecretURL    = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
	WrapperURL   = "type.googleapis.com/envoy.service.discovery.v3.Resource"
)

// Msg is a message of these fields.
func Msg(fields ...[]byte) []byte { return bytes.Join(fields, nil) }

// Str is a field that holds a text.
func Str(num protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), v)
}

// Sub is a field that holds a message.
func Sub(num protowire.Number, fields ...[]byte) []byte { return Str(num, string(Msg(fields...))) }

// Num is a field that holds a varint.
func Num(n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
}

// AnyOf is a field that holds an Any.
func AnyOf(field protowire.Number, url string, body ...[]byte) []byte {
	return Sub(field, Str(1, url), Sub(2, body...))
}

// Node is a node, SotwResponse a response with all that one can have.
var (
	Node = Msg(Str(1, "n1"), Str(2, "front"), Sub(4, Str(1, "eu"), Str(2, "a")), Str(6, "envoy"),
		Sub(8, Sub(1, Num(1, 1), Num(2, 40))), Str(10, "f1"))
	SotwResponse = Msg(Str(1, "v2"), AnyOf(2, ClusterURL, Str(1, "c1"), Num(4, 1)),
		AnyOf(2, WrapperURL, Str(1, "w1"), AnyOf(2, ClusterURL, Str(1, "inner")), Str(3, "c2"), Str(4, "al"), Sub(6, Num(1, 5))),
		AnyOf(2, WrapperURL, Str(1, "w1"), Str(3, "c3")),
		Str(4, ClusterURL), Str(5, "n8"), Sub(6, Str(1, "cp")), Sub(7, Sub(1, Str(1, "gone")), Sub(2, Num(1, 5), Str(2, "not found"))))
)

// Clusters is a state-of-the-world push of n clusters of about 220 bytes.
func Clusters(n int) []byte {
	b := Str(1, "v1")
	for i := range n {
		b = append(b, AnyOf(2, ClusterURL, Str(1, fmt.Sprintf("outbound|80||service-%05d.default.svc.cluster.local", i)), Str(28, strings.Repeat("x", 110)))...)
	}
	return append(b, Msg(Str(4, ClusterURL), Str(5, "n1"))...)
}

// Sample is a message on its stream.
type Sample struct {
	Path string
	Side session.Side
	Data []byte
}

// Samples are a message of each kind: DiscoveryRequest, DiscoveryResponse, and
// these of delta.
var Samples = []Sample{
	{ADSPath, session.Client, Msg(Str(1, "v1"), Sub(2, Node), Str(3, "a"), Str(3, "b"), Str(4, ClusterURL), Str(5, "n7"),
		Sub(6, Num(1, 13), Str(2, "no")), Sub(7, Str(1, "c")))},
	{ADSPath, session.Server, SotwResponse},
	{DeltaADSPath, session.Client, Msg(Sub(1, Node), Str(2, ClusterURL), Str(3, "a"), Str(4, "b"),
		Sub(5, Str(1, "c"), Str(2, "9")), Str(6, "n9"), Sub(8, Str(1, "d")), Sub(9, Str(1, "e")))},
	{DeltaADSPath, session.Server, Msg(Str(1, "sys"), Sub(2, Str(1, "1"), AnyOf(2, ClusterURL, Str(1, "c1")), Str(3, "c1")),
		Sub(2, Str(1, "2"), AnyOf(2, ClusterURL, Str(1, "c2")), Sub(8, Str(1, "xdstp://c2"))),
		Str(4, ClusterURL), Str(5, "n10"), Str(6, "gone"), Sub(8, Str(1, "gone2")), Sub(7, Str(1, "cp")), Sub(9, Sub(1, Str(1, "bad"))))},
}
