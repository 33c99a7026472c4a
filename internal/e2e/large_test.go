package e2e

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/session"
)

// raw is a codec for messages that are bytes already.
type raw struct{}

func (raw) Name() string { return "" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// largeResponse is a DiscoveryResponse of at least size bytes: clusters of 10
// KB, none like another. Their text is letters only, so that nothing in it looks
// like a credential.
func largeResponse(size int) []byte {
	out := make([]byte, 0, size+1<<20)
	random := rand.New(rand.NewPCG(3, 4))
	out = protowire.AppendTag(out, 1, protowire.BytesType)
	out = protowire.AppendString(out, "v1")
	text, cluster, packed := make([]byte, 10_000), []byte(nil), []byte(nil)
	for n := 0; len(out) < size; n++ {
		for i := 0; i < len(text); i += 8 {
			for j, r := 0, random.Uint64(); j < 8; j, r = j+1, r>>8 {
				text[i+j] = 'a' + byte(r)%26
			}
		}
		cluster = protowire.AppendTag(cluster[:0], 1, protowire.BytesType) // name
		cluster = protowire.AppendString(cluster, fmt.Sprintf("cluster-%05d", n))
		cluster = protowire.AppendTag(cluster, 28, protowire.BytesType) // alt_stat_name
		cluster = protowire.AppendBytes(cluster, text)
		packed = protowire.AppendTag(packed[:0], 1, protowire.BytesType)
		packed = protowire.AppendString(packed, resource.ClusterType)
		packed = protowire.AppendTag(packed, 2, protowire.BytesType)
		packed = protowire.AppendBytes(packed, cluster)
		out = protowire.AppendTag(out, 2, protowire.BytesType)
		out = protowire.AppendBytes(out, packed)
	}
	out = protowire.AppendTag(out, 4, protowire.BytesType)
	out = protowire.AppendString(out, resource.ClusterType)
	out = protowire.AppendTag(out, 5, protowire.BytesType)
	return protowire.AppendString(out, "n1")
}

// gives is a control plane that answers every stream with these bytes.
func gives(t *testing.T, response []byte) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(raw{}), grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
			var request []byte
			if err := s.RecvMsg(&request); err != nil {
				return err
			}
			if err := s.SendMsg(&response); err != nil {
				return err
			}
			<-s.Context().Done()
			return nil
		}))
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() { server.Stop(); <-served })
	return l.Addr().String()
}

// A response of 200 MB arrives as it was sent and is recorded, in less than
// three times its size, which is given back. It runs alone: others would
// take part in what it measures.
func TestLargeResponse(t *testing.T) {
	t.Parallel()
	const size = 200 << 20
	response := largeResponse(size)
	want := sha256.Sum256(response)
	p := startProxy(t, gives(t, response))
	conn, err := grpc.NewClient("passthrough:///"+p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{}), grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, adsMethod)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.SendMsg(&[]byte{}); err != nil {
		t.Fatal(err)
	}
	var got []byte
	if err := stream.RecvMsg(&got); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(response) || sha256.Sum256(got) != want {
		t.Errorf("%d bytes arrived of %d, or others", len(got), len(response))
	}
	got = nil

	if runtime.GOOS == "linux" {
		peak := p.memory(t, "VmHWM")
		t.Logf("message %d MB, peak memory %d MB, now %d MB", len(response)>>20, peak>>20, p.memory(t, "VmRSS")>>20)
		eventually(t, "the memory of the proxy is given back", func() bool { return p.memory(t, "VmRSS") < size/2 })
		// Held are the message, what was read last, and what the collector has not
		// come to yet; the last depends on what else the machine does.
		if peak >= 4*size {
			t.Errorf("peak memory of the proxy: %d MB for a message of %d MB", peak>>20, len(response)>>20)
		}
	}
	conn.Close()
	p.stop(t)
	found := 0
	for _, e := range p.entries(t) {
		if e.Kind != session.KindMessage || e.Side != session.Server {
			continue
		}
		found++
		sum := sha256.New()
		for _, chunk := range e.Message.Data {
			sum.Write(chunk)
		}
		if e.Message.Truncated || e.Message.Size != int64(len(response)) || [sha256.Size]byte(sum.Sum(nil)) != want {
			t.Errorf("recorded: %d bytes, truncated %v, or others", e.Message.Size, e.Message.Truncated)
		}
	}
	if found != 1 {
		t.Errorf("%d responses in the recording", found)
	}
	if f := p.info(t); !f.Complete || f.Gaps != 0 {
		t.Errorf("info: %+v", f)
	}
}

// memory reads a field of the proxy's status, in bytes. Linux only.
func (p *proxy) memory(t *testing.T, field string) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for s := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(s, field+":"); ok {
			kb, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatalf("no %s in the status of the proxy", field)
	return 0
}
