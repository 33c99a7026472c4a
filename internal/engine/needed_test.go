package engine

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/session"
)

// sotw builds the bytes of a DiscoveryRequest or DiscoveryResponse: type_url
// 4, nonce 5, and either node 2 and error_detail 6 or resources 2.
func sotw(typeURL, nonce string, more ...[]byte) session.Chunks {
	b := protowire.AppendTag(nil, 4, protowire.BytesType)
	b = protowire.AppendString(b, typeURL)
	b = protowire.AppendTag(b, 5, protowire.BytesType)
	b = protowire.AppendString(b, nonce)
	return append(session.Chunks{b}, more...)
}

var (
	rejection = []byte{6<<3 | 2, 2, 8, 13} // error_detail{code: 13}
	resource  = []byte{2<<3 | 2, 3, 1<<3 | 2, 1, 'x'}
)

const (
	clusterURL  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	listenerURL = "type.googleapis.com/envoy.config.listener.v3.Listener"
	adsPath     = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
)

func TestNeeded(t *testing.T) {
	c := New(Options{Names: true})
	var seq session.Seq
	step := func(e session.Entry) session.Seq {
		seq++
		e.Seq = seq
		c.Step(&e)
		return seq
	}
	message := func(stream session.StreamID, side session.Side, data session.Chunks) session.Seq {
		return step(session.Entry{Conn: 1, Stream: stream, Side: side, Kind: session.KindMessage, Message: &session.Message{Data: data}})
	}
	want := func(what string, seqs ...session.Seq) {
		t.Helper()
		slices.Sort(seqs)
		if got := c.Needed(); !slices.Equal(got, slices.Compact(seqs)) {
			t.Errorf("%s: needed are %v, want %v", what, got, seqs)
		}
	}
	want("nothing")
	static := step(session.Entry{Kind: session.KindNote, Note: StaticNote([]string{"xds"})})
	want("a bootstrap", static)
	c, seq = New(Options{Names: true}), 0
	conn := step(session.Entry{Conn: 1, Kind: session.KindConnect})
	open := step(session.Entry{Conn: 1, Stream: 1, Kind: session.KindOpen, Method: adsPath})
	first := message(1, session.Client, sotw(clusterURL, ""))
	header := step(session.Entry{Conn: 1, Stream: 1, Side: session.Server, Kind: session.KindHeader})
	good := message(1, session.Server, sotw(clusterURL, "a", resource))
	want("unanswered", conn, open, first, header, good)
	ack := message(1, session.Client, sotw(clusterURL, "a"))
	want("accepted", conn, open, first, header, good, ack)
	bad := message(1, session.Server, sotw(clusterURL, "b", resource))
	nack := message(1, session.Client, sotw(clusterURL, "b", rejection))
	want("rejected", conn, open, first, header, good, ack, bad, nack)
	listeners := message(1, session.Client, sotw(listenerURL, ""))
	want("another type", conn, open, first, header, good, ack, bad, nack, listeners)
	fixed := message(1, session.Server, sotw(clusterURL, "c", resource))
	ack = message(1, session.Client, sotw(clusterURL, "c"))
	// The rejection is still the last one that there was.
	want("accepted again", conn, open, first, header, nack, fixed, ack, listeners)

	other := step(session.Entry{Conn: 1, Stream: 2, Kind: session.KindOpen, Method: adsPath})
	want("two streams", conn, open, first, header, nack, fixed, ack, listeners, other)
	step(session.Entry{Conn: 1, Stream: 1, Kind: session.KindCancel})
	want("one stream left", conn, other)
	step(session.Entry{Conn: 1, Kind: session.KindDisconnect})
	want("all over")
}
