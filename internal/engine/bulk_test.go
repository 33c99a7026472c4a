package engine

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/session"
)

// A configuration that stays as it is comes in other memory with each part of
// a long recording. The batches that it came in are let go.
func TestBatchesAreLetGo(t *testing.T) {
	k := New(Options{})
	var seq session.Seq
	step := func(e session.Entry) {
		seq++
		e.Seq, e.Conn, e.Stream = seq, 1, 1
		k.Step(&e)
	}
	step(session.Entry{Kind: session.KindOpen, Side: session.Client, Method: adsPath})
	const items = 64
	m := &decode.Message{Kind: decode.DeltaResponse, TypeURL: clusterURL}
	for i := range items {
		m.Resources = append(m.Resources, decode.Resource{Name: string(rune('a' + i)), Version: "1", TypeURL: clusterURL})
	}
	s := k.subOf(k.Streams[1], m)
	n := &Response{Kind: m.Kind, Count: items, details: &details{Message: m}}
	for range 4 * k.bulks.limit / items / bulkItemBytes {
		if k.bulkOf(s, n, &chunk.Batch{Resources: m.Resources}, false) == nil {
			t.Fatal("there is no bulk")
		}
	}
	if kept := k.bulks.byBatch.Cost(); kept > k.bulks.limit {
		t.Errorf("%d bytes of batches are kept", kept)
	}
}

// What was open on a connection when that was closed ends in the order in which
// it was opened, so that the next stream is always held against the same one.
func TestDisconnectEndsStreamsInOrder(t *testing.T) {
	for range 20 {
		k := New(Options{})
		var seq session.Seq
		step := func(id session.StreamID, e session.Entry) {
			seq++
			e.Seq, e.Conn, e.Stream = seq, 1, id
			k.Step(&e)
		}
		const streams = 8
		for id := session.StreamID(1); id <= streams; id++ {
			step(id, session.Entry{Kind: session.KindOpen, Side: session.Client, Method: adsPath})
			step(id, session.Entry{Side: session.Client, Kind: session.KindMessage, Message: &session.Message{Data: sotw(clusterURL, "", []byte{2<<3 | 2, 4, 1<<3 | 2, 2, 'n', '1'})}})
		}
		step(0, session.Entry{Kind: session.KindDisconnect, Side: session.Client})
		step(streams+1, session.Entry{Kind: session.KindOpen, Side: session.Client, Method: adsPath})
		step(streams+1, session.Entry{Side: session.Client, Kind: session.KindMessage, Message: &session.Message{Data: sotw(clusterURL, "", []byte{2<<3 | 2, 4, 1<<3 | 2, 2, 'n', '1'})}})
		if p := k.Streams[streams+1].Previous; p == nil || p.ID != streams {
			t.Fatalf("it is held against %+v", p)
		}
	}
}
