package chunk_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/session"
)

// push is a response with n clusters, cut into chunks as a tap would.
func push(n, size int) (session.Chunks, []byte) {
	data := handmade.Msg(handmade.Str(1, "v1"))
	for i := range n {
		data = append(data, handmade.AnyOf(2, handmade.ClusterURL, handmade.Str(1, fmt.Sprintf("outbound|8080||service-%05d.default.svc.cluster.local", i)),
			handmade.Num(2, 3), handmade.Sub(3, handmade.Sub(1, handmade.Sub(3, nil)), handmade.Str(2, "outbound")), handmade.Sub(4, handmade.Num(1, 5)),
			handmade.Sub(24, handmade.Str(1, "envoy.transport_sockets.tls"), handmade.AnyOf(3, "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", handmade.Str(2, "sni.example"))))...)
	}
	data = append(data, handmade.Msg(handmade.Str(4, handmade.ClusterURL), handmade.Str(5, "nonce"))...)
	return slices.Collect(slices.Chunk(data, size)), data
}

func TestSplitKeepsEveryByte(t *testing.T) {
	for _, size := range []int{1, 2, 3, 7, 50, 101, 1000, 1 << 20} {
		chunks, data := push(20, size)
		for name, transform := range map[string]func(*session.Entry){"splitter": chunk.NewSplitter().Transform, "masker": mask.New().Transform} {
			transform(&session.Entry{Kind: session.KindOpen, Stream: 1, Method: handmade.ADSPath})
			e := session.Entry{Kind: session.KindMessage, Side: session.Server, Stream: 1, Message: &session.Message{Data: chunks, Size: int64(len(data))}}
			transform(&e)
			if !bytes.Equal(e.Message.Data.Bytes(), data) || e.Message.Masked || len(e.Problems) > 0 {
				t.Fatalf("%s, chunks of %d: changed", name, size)
			}
			resources := 0
			for _, c := range e.Message.Data {
				s := protoscan.Of(c)
				for s.Next() {
					if s.Num == 2 && len(c) == s.Off {
						resources++
					}
				}
				if s.Err != "" {
					t.Errorf("%s, chunks of %d: a chunk ends inside a field: %s", name, size, s.Err)
				}
			}
			if resources != 20 {
				t.Errorf("%s, chunks of %d: %d chunks are one resource, want 20", name, size, resources)
			}
		}
	}
}

// What a client says again and again is in chunks of its own, whatever is around
// it, and however the tap cut it.
func TestSplitRequests(t *testing.T) {
	var names []byte
	for i := range 40 {
		names = append(names, handmade.Str(3, fmt.Sprintf("outbound|8080||service-%05d.default.svc.cluster.local", i))...)
	}
	node := handmade.Sub(2, handmade.Str(1, "node"), handmade.Str(2, "cluster"), handmade.Sub(3, handmade.Str(1, fmt.Sprintf("%0600d", 0))))
	for name, c := range map[string]struct {
		parts []([]byte)
		cut   [][]byte // the parts that are chunks
	}{
		"first":        {[][]byte{node, names, handmade.Str(4, handmade.ClusterURL)}, [][]byte{node, names}},
		"acknowledged": {[][]byte{handmade.Str(1, "17"), names, handmade.Msg(handmade.Str(4, handmade.ClusterURL), handmade.Str(5, "n"))}, [][]byte{names}},
		"short":        {[][]byte{handmade.Str(1, "17"), handmade.Sub(2, handmade.Str(1, "node")), handmade.Str(3, "a"), handmade.Str(4, handmade.ClusterURL)}, nil},
	} {
		data := handmade.Msg(c.parts...)
		for _, size := range []int{7, 100, 700, len(data)} {
			for by, transform := range map[string]func(*session.Entry){"splitter": chunk.NewSplitter().Transform, "masker": mask.New().Transform} {
				transform(&session.Entry{Kind: session.KindOpen, Stream: 1, Method: handmade.ADSPath})
				e := session.Entry{Kind: session.KindMessage, Side: session.Client, Stream: 1, Message: &session.Message{Data: slices.Collect(slices.Chunk(data, size))}}
				transform(&e)
				if !bytes.Equal(e.Message.Data.Bytes(), data) || e.Message.Masked {
					t.Fatalf("%s, %s, chunks of %d: changed", name, by, size)
				}
				for i, want := range c.cut {
					if !slices.ContainsFunc(e.Message.Data, func(got []byte) bool { return bytes.Equal(got, want) }) {
						t.Errorf("%s, %s, chunks of %d: part %d is no chunk", name, by, size, i)
					}
				}
			}
		}
	}
}

// What is cut off in the middle is left alone by a Splitter.
func TestSplitLeavesWhatIsBroken(t *testing.T) {
	_, data := push(3, 100)
	k := chunk.NewSplitter()
	k.Transform(&session.Entry{Kind: session.KindOpen, Stream: 1, Method: handmade.ADSPath})
	for n := range data {
		for _, size := range []int{5, 90, n + 1} {
			chunks := slices.Collect(slices.Chunk(data[:n], size))
			e := session.Entry{Kind: session.KindMessage, Side: session.Server, Stream: 1, Message: &session.Message{Data: chunks}}
			k.Transform(&e)
			if !bytes.Equal(e.Message.Data.Bytes(), data[:n]) {
				t.Fatalf("cut at %d, chunks of %d: changed", n, size)
			}
		}
	}
}

func BenchmarkTransform(b *testing.B) {
	chunks, data := push(20000, 64<<10)
	k := mask.New()
	k.Transform(&session.Entry{Kind: session.KindOpen, Stream: 1, Method: handmade.ADSPath})
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		k.Transform(&session.Entry{Kind: session.KindMessage, Side: session.Server, Stream: 1, Message: &session.Message{Data: chunks}})
	}
}

func BenchmarkContent(b *testing.B) {
	chunks, _ := push(1, 1<<20)
	k := mask.New()
	var c chunk.Cutter
	c.Response(decode.SotwResponse, chunks)
	b.SetBytes(int64(len(c.Chunks[1])))
	for b.Loop() {
		k.Content(c.Chunks[1])
	}
}
