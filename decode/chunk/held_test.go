package chunk_test

import (
	"bytes"
	"strings"
	"testing"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/session"
)

// What a client holds is in the same pieces whatever it says about them.
func TestHeldIsCutAroundContents(t *testing.T) {
	cut := func(seconds int64, more string) (session.Chunks, []byte) {
		config := new(statusv3.ClientConfig)
		for _, name := range []string{"one", "two"} {
			body, _ := anypb.New(&clusterv3.Cluster{Name: name, AltStatName: strings.Repeat(name, 20)})
			config.GenericXdsConfigs = append(config.GenericXdsConfigs, &statusv3.ClientConfig_GenericXdsConfig{
				TypeUrl: body.TypeUrl, Name: name, XdsConfig: body, ClientStatus: adminv3.ClientResourceStatus_ACKED,
				LastUpdated: &timestamppb.Timestamp{Seconds: seconds}, VersionInfo: more,
			})
		}
		data, _ := proto.Marshal(&statusv3.ClientStatusResponse{Config: []*statusv3.ClientConfig{config}})
		e := session.Entry{
			Kind: session.KindHeld, Side: session.Client, Held: new(session.Held),
			Message: &session.Message{Size: int64(len(data)), Data: session.Chunks{data}},
		}
		chunk.NewSplitter().Transform(&e)
		return e.Message.Data, data
	}
	a, whole := cut(1, "1")
	b, _ := cut(1<<40, "another version")
	if !bytes.Equal(a.Bytes(), whole) {
		t.Fatal("cutting changed bytes")
	}
	if len(a) != 5 || len(b) != 5 {
		t.Fatalf("there are %d and %d pieces", len(a), len(b))
	}
	for _, i := range []int{1, 3} {
		if !bytes.Equal(a[i], b[i]) {
			t.Errorf("piece %d differs, and what is held does not", i)
		}
	}
	for i := range whole {
		e := session.Entry{Kind: session.KindHeld, Side: session.Client, Message: &session.Message{Data: session.Chunks{whole[:i]}}}
		chunk.NewSplitter().Transform(&e)
		if !bytes.Equal(e.Message.Data.Bytes(), whole[:i]) {
			t.Fatalf("what was cut off after %d bytes is changed", i)
		}
	}
}
