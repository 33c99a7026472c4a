package app

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/session"
)

// Large responses come in buffers that are used again as soon as the log is done
// with one. What is read of it, as it grows and afterwards, is what was sent.
func TestBuffersAreUsedAgainInTime(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	h := silent()
	rec, err := h.Record(filepath.Join(t.TempDir(), "x.xdsp"))
	if err != nil {
		t.Fatal(err)
	}
	seed := maphash.MakeSeed()
	live, err := rec.Source()
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan map[session.StreamID][]uint64)
	read := func(src *input.Source, pieces bool) map[session.StreamID][]uint64 {
		defer src.Close()
		if pieces {
			src.Pieces()
		}
		sums := map[session.StreamID][]uint64{}
		for e, err := range src.Entries(context.Background()) {
			if err != nil {
				t.Error(err)
				return nil
			}
			if e.Message != nil {
				sums[e.Stream] = append(sums[e.Stream], maphash.Bytes(seed, e.Message.Data.Bytes()))
			}
		}
		return sums
	}
	go func() { got <- read(live, true) }()

	const conns, pushes, resources = 4, 60, 3000
	sent := make([][]uint64, conns+1)
	var wg sync.WaitGroup
	for conn := range conns {
		id := conn + 1
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(id), 7))
			rec.Append(session.Entry{
				Kind: session.KindOpen, Conn: session.ConnID(id), Stream: session.StreamID(id),
				Method: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
			})
			all := make([][]byte, resources)
			kind := conn % 3 // the third is secrets: of these nothing is kept to compare with
			for i := range all {
				all[i] = someResource(kind, i, 0)
			}
			for push := range pushes {
				for rec.Stats().Queued > 2<<20 { // the writer is at work
					runtime.Gosched()
				}
				for range push % 3 {
					i := rng.IntN(len(all))
					all[i] = someResource(kind, i, push)
				}
				if id == conns { // another order each time
					rng.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
				}
				var data session.Chunks
				var whole []byte
				for _, field := range append(append([][]byte{text(1, fmt.Sprint(push))}, all...), text(4, someTypes()[kind]), text(5, "nonce")) {
					whole = append(whole, field...)
				}
				for rest := whole; len(rest) > 0; {
					chunk := rec.Buffers.Get(session.BufferSize)
					n := min(len(rest), cap(chunk))
					data, rest = append(data, append(chunk, rest[:n]...)), rest[n:]
				}
				sent[id] = append(sent[id], maphash.Bytes(seed, whole))
				rec.Append(session.Entry{
					Kind: session.KindMessage, Conn: session.ConnID(id), Stream: session.StreamID(id), Side: session.Server,
					Message: &session.Message{Data: data, Size: int64(len(whole)), WireSize: int64(len(whole))},
				})
			}
		})
	}
	wg.Wait()
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := (&input.Opener{Console: h.Console}).Open(rec.Path())
	if err != nil {
		t.Fatal(err)
	}
	for how, sums := range map[string]map[session.StreamID][]uint64{"as it grew": <-got, "afterwards": read(again, false)} {
		for id := 1; id <= conns; id++ {
			have := sums[session.StreamID(id)]
			if len(have) != pushes {
				t.Fatalf("%s: %d of %d messages of stream %d", how, len(have), pushes, id)
			}
			for i := range have {
				if have[i] != sent[id][i] {
					t.Fatalf("%s: message %d of stream %d is not what was sent", how, i, id)
				}
			}
		}
	}
}

// someResource is a resource without secrets, of one type or another.
func someResource(kind, i, generation int) []byte {
	name := fmt.Sprintf("outbound|8080||service-%06d.namespace.svc.cluster.local of generation %0100d", i, generation)
	return text(2, string(text(1, someTypes()[kind]))+string(text(2, string(text(1, name)))))
}

func someTypes() []string {
	return []string{
		"type.googleapis.com/envoy.config.cluster.v3.Cluster",
		"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
		"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
	}
}

func text(num protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), s)
}
