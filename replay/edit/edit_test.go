package edit

import (
	"bytes"
	"testing"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// An edit changes the fields that it names and leaves all others as they were,
// unknown ones included.
func TestEdits(t *testing.T) {
	m := &discovery.DiscoveryRequest{VersionInfo: "7", TypeUrl: "t", ResponseNonce: "old", ResourceNames: []string{"a", "b"}}
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	unknown := protowire.AppendString(protowire.AppendTag(nil, 999, protowire.BytesType), "what nobody knows")
	data = append(data, unknown...)
	out, ok := Set{NonceOfRequest: "new", VersionOfRequest: ""}.Apply(data)
	if !ok || !bytes.Contains(out, unknown) {
		t.Fatalf("%v, %x", ok, out)
	}
	var got discovery.DiscoveryRequest
	if err := proto.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if got.GetResponseNonce() != "new" || got.GetVersionInfo() != "" || got.GetTypeUrl() != "t" || len(got.GetResourceNames()) != 2 {
		t.Errorf("%v", &got)
	}
	same, ok := Set{NonceOfRequest: "old"}.Apply(data)
	if !ok || !bytes.Equal(same, data) {
		t.Errorf("an edit that changes nothing gives %x of %x", same, data)
	}
	if _, ok := (Set{NonceOfRequest: "x"}).Apply(data[:len(data)-3]); ok {
		t.Error("a torn message can be edited")
	}
}

func TestInitialVersions(t *testing.T) {
	data, err := proto.Marshal(&discovery.DeltaDiscoveryRequest{
		TypeUrl: "t", InitialResourceVersions: map[string]string{"a": "1", "b": "2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	out, ok := InitialVersions(data, func(n string) (string, bool) { return "live", n == "a" })
	var got discovery.DeltaDiscoveryRequest
	if err := proto.Unmarshal(out, &got); err != nil || !ok {
		t.Fatal(err, ok)
	}
	if v := got.GetInitialResourceVersions(); len(v) != 2 || v["a"] != "live" || v["b"] != "2" {
		t.Errorf("%v", v)
	}
}

// Whatever bytes are edited, the result has the new value, and editing ends.
func FuzzEdits(f *testing.F) {
	data, err := proto.Marshal(&discovery.DeltaDiscoveryRequest{
		TypeUrl: "t", ResponseNonce: "n", InitialResourceVersions: map[string]string{"a": "1"},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte{0x32, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		out, ok := Set{NonceOfDeltaRequest: "fresh"}.Apply(data)
		if !ok {
			return
		}
		found := 0
		Each(out, func(num protowire.Number, typ protowire.Type, _, body []byte) {
			if num == NonceOfDeltaRequest && typ == protowire.BytesType {
				found++
				if string(body) != "fresh" {
					t.Fatalf("%q", body)
				}
			}
		})
		if found != 1 {
			t.Fatalf("%d nonces in %x of %x", found, out, data)
		}
		if _, ok := InitialVersions(out, func(string) (string, bool) { return "v", true }); !ok {
			t.Fatalf("cannot rewrite %x", out)
		}
	})
}
