package unmarshal_test

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/unmarshal"
)

// A map entry whose key comes again, as a number, is damage in a dynamic message, and no crash.
func TestKeyOfAnotherWireType(t *testing.T) {
	entry := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "k")
	whole := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), entry)
	entry = protowire.AppendVarint(protowire.AppendTag(entry, 1, protowire.VarintType), 1)
	twice := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), entry)
	dynamic := func() proto.Message {
		return dynamicpb.NewMessage((*structpb.Struct)(nil).ProtoReflect().Descriptor())
	}
	m := dynamic()
	if err := unmarshal.Message(whole, m); err != nil || proto.Size(m) == 0 {
		t.Errorf("a map with one key: %v, %v", m, err)
	}
	if err := unmarshal.Message(twice, dynamic()); err == nil || !strings.HasPrefix(err.Error(), "cannot read google.protobuf.Struct: ") {
		t.Errorf("a key that comes again: %v", err)
	}
	if err := unmarshal.With(proto.UnmarshalOptions{DiscardUnknown: true}, twice[:3], dynamic()); err == nil {
		t.Error("a map that is cut off is read")
	}
}

// The same in an Any, of a type that is registered as a dynamic one, as those of version 2 are.
func TestKeyWithinAny(t *testing.T) {
	const name = "envoy.api.v2.ClusterLoadAssignment"
	entry := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "k")
	whole := protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), entry) // named_endpoints
	entry = protowire.AppendVarint(protowire.AppendTag(entry, 1, protowire.VarintType), 1)
	twice := protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), entry)
	for _, c := range []struct {
		body []byte
		well bool
	}{{whole, true}, {twice, false}} {
		packed := &anypb.Any{TypeUrl: "type.googleapis.com/" + name, Value: c.body}
		if m, err := unmarshal.Packed(packed); (err == nil) != c.well || c.well && string(m.ProtoReflect().Descriptor().FullName()) != name {
			t.Errorf("%x: %v, %v", c.body, m, err)
		}
		if text, err := unmarshal.ToJSON(protojson.MarshalOptions{}, packed); (err == nil) != c.well || c.well && !bytes.Contains(text, []byte("namedEndpoints")) {
			t.Errorf("%x: %s, %v", c.body, text, err)
		}
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte("\n\x05\n\x01k\x08\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := dynamicpb.NewMessage((*structpb.Struct)(nil).ProtoReflect().Descriptor())
		_ = unmarshal.Message(b, m)
	})
}
