package document_test

import (
	"fmt"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsproxy/xdsproxy/decode/document"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
)

const response = "envoy.service.discovery.v3.DiscoveryResponse"

func wireText(fields []document.WireField) string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%d+%d/%d %s%d %s %s %s %s\n", f.At, f.Head, f.Size, strings.Repeat(" ", f.Depth), f.Number, f.Name, f.Wire, f.Holds, f.Value)
	}
	return b.String()
}

func TestWire(t *testing.T) {
	body, err := anypb.New(&clusterv3.Cluster{Name: "web", ConnectTimeout: durationpb.New(1e9), LbPolicy: clusterv3.Cluster_MAGLEV})
	if err != nil {
		t.Fatal(err)
	}
	data, err := proto.Marshal(&discoveryv3.DiscoveryResponse{VersionInfo: "7", Resources: []*anypb.Any{body}, Canary: true})
	if err != nil {
		t.Fatal(err)
	}
	fields, problem := document.Decoder{}.Wire(response, data, 1000)
	want := `0+2/3 1 version_info len  "7"
3+2/68 2 resources len google.protobuf.Any 
5+2/53  1 type_url len  "type.googleapis.com/envoy.config.cluster.v3.Cluster"
58+2/13  2 value len envoy.config.cluster.v3.Cluster 
60+2/5   1 name len  "web"
65+2/4   4 connect_timeout len google.protobuf.Duration 
67+1/2    1 seconds varint  1
69+1/2   6 lb_policy varint  5 MAGLEV
71+1/2 3 canary varint  true
`
	if got := wireText(fields); problem != "" || got != want {
		t.Errorf("%q\n%s", problem, got)
	}
	if some, _ := (document.Decoder{}).Wire(response, data, 3); len(some) != 3 {
		t.Errorf("asked for 3 fields, there are %d", len(some))
	}
	_, problem = document.Decoder{}.Wire(response, data[:len(data)-5], 1000)
	if problem == "" {
		t.Error("nothing is wrong with half a message")
	}
}

// A field of each wire type: where its value begins, how long it is, and what it shows.
func TestWireTypes(t *testing.T) {
	data := []byte("\x08\x07" + "\x15\x01\x02\x03\x04" + "\x19\x01\x02\x03\x04\x05\x06\x07\x08" + "\x22\x00" + "\x2a\x02\xff\x00" + "\x33\x08\x01\x34" + "\xf8\x07\x01")
	fields, problem := document.Decoder{}.Wire("", data, 1000)
	want := `0+1/2 1  varint  7
2+1/5 2  i32  0x04030201
7+1/9 3  i64  0x0807060504030201
16+2/2 4  len  ""
18+2/4 5  len  2 bytes
22+1/4 6  group  
23+1/2  1  varint  1
26+2/3 127  varint  1
`
	if got := wireText(fields); problem != "" || got != want {
		t.Errorf("%q\n%s", problem, got)
	}
	// A message in which there is nothing has no fields of its own.
	fields, problem = document.Decoder{}.Wire(response, []byte("\x12\x00"), 1000)
	if want := "0+2/2 2 resources len google.protobuf.Any empty\n"; problem != "" || wireText(fields) != want || fields[0].Inner {
		t.Errorf("%q\n%s", problem, wireText(fields))
	}
}

// FuzzWire: the fields of a message cover it without a hole, as far as it can be
// read, and those within lie within.
func FuzzWire(f *testing.F) {
	f.Add([]byte("\x0a\x01a\x12\x02\x0a\x00"), true)
	f.Add([]byte("\x12\x7f\x01"), false)
	f.Add([]byte("\x0b\x0b\x0c\x0c\x1d\x01\x02\x03\x04"), true)
	f.Fuzz(func(t *testing.T, data []byte, typed bool) {
		name := ""
		if typed {
			name = response
		}
		fields, problem := document.Decoder{}.Wire(name, data, 1<<16)
		next := 0
		ends := []int{len(data)}
		for i, f := range fields {
			if f.Head <= 0 || f.Size < f.Head || f.At+f.Size > len(data) {
				t.Fatalf("field %d is at %d, %d of %d bytes, in %d", i, f.At, f.Head, f.Size, len(data))
			}
			ends = ends[:f.Depth+1]
			if f.At+f.Size > ends[f.Depth] {
				t.Fatalf("field %d at %d ends behind what it is in", i, f.At)
			}
			ends = append(ends, f.At+f.Size)
			if f.Depth == 0 {
				if f.At != next {
					t.Fatalf("field %d is at %d, the one before ends at %d", i, f.At, next)
				}
				next = f.At + f.Size
			}
		}
		if problem == "" && next != len(data) && len(fields) > 0 && len(fields) < 1<<16 {
			t.Fatalf("the fields end at %d of %d", next, len(data))
		}
	})
}
