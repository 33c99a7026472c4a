package index

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

const adsMethod = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"

// An entry may take so many bytes of the index: its row, and the share of a nonce
// of 36 bytes that a response and its answer have between them.
const (
	rowBytes   = 64
	entryBytes = rowBytes + 40
)

// A million entries fit on a small machine only while each of them takes little.
func TestBytesPerEntry(t *testing.T) {
	if size := unsafe.Sizeof(Row{}); size > rowBytes {
		t.Errorf("a row takes %d bytes, %d at most", size, rowBytes)
	}
	const clients, entries = 100, 1 << 17
	x, checker := New(), check.NewChecker(check.Options{})
	seq, at := session.Seq(0), time.Unix(1_700_000_000, 0)
	add := func(client int, side session.Side, kind session.Kind, data []byte) {
		seq, at = seq+1, at.Add(time.Millisecond)
		e := session.Entry{
			Seq: seq, Time: at, Conn: session.ConnID(client + 1), Stream: session.StreamID(client + 1),
			H2: 1, Side: side, Kind: kind, Method: adsMethod,
		}
		if kind == session.KindMessage {
			e.Method = ""
			e.Message = &session.Message{Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data))}
		}
		c := checker.Step(&e)
		x.add(&e, &c)
	}
	url := xds.TypeURL("CDS")
	push := func(n int) {
		for i := range clients {
			version, nonce := fmt.Sprint(n), fmt.Sprintf("%08x-8a3c-4b1e-9f00-%012x", n, i)
			response := synth.Response{TypeURL: url, Version: version, Nonce: nonce, Resources: []synth.Resource{
				{TypeURL: url, Payload: "backend", OwnName: true, Content: version},
			}}
			add(i, session.Server, session.KindMessage, response.Marshal())
			answer := synth.Request{TypeURL: url, Version: version, Nonce: nonce}
			add(i, session.Client, session.KindMessage, answer.Marshal())
		}
	}
	for i := range clients {
		add(i, session.Client, session.KindOpen, nil)
		first := synth.Request{TypeURL: url, Node: &decode.Node{ID: fmt.Sprintf("web-%03d", i)}}
		add(i, session.Client, session.KindMessage, first.Marshal())
	}
	for n := 1; x.Len() < entries; n++ {
		push(n)
	}
	rows, with := x.Len(), inUse()
	runtime.KeepAlive(x)
	x = nil // what goes with it is its own, and not that of the account and the rules
	per := float64(with-inUse()) / float64(rows)
	t.Logf("%.1f bytes an entry", per)
	if per < rowBytes*9/10 || per > entryBytes {
		t.Errorf("an entry takes %.1f bytes of the index, %d at most, and no less than its row", per, entryBytes)
	}
	runtime.KeepAlive(checker)
}

// inUse is how many bytes of the heap are.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // what was in a pool goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
