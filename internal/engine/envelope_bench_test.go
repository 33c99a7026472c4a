package engine

import (
	"strconv"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// A response and its ACK, as the writer of a log follows them.
func BenchmarkEnvelopes(b *testing.B) {
	k := New(Options{Envelopes: true})
	now := time.Unix(1e9, 0)
	var seq session.Seq
	step := func(e session.Entry) {
		seq++
		e.Seq, e.Conn, e.Stream, e.Time = seq, 1, 1, now
		k.Step(&e)
	}
	step(session.Entry{Kind: session.KindConnect})
	step(session.Entry{Kind: session.KindOpen, Side: session.Client, Method: adsPath})
	step(session.Entry{Kind: session.KindMessage, Side: session.Client, Message: &session.Message{Data: sotw(clusterURL, "")}})
	nonces := make([][2]session.Chunks, 4096)
	for i := range nonces {
		nonces[i] = [2]session.Chunks{sotw(clusterURL, strconv.Itoa(i), resource), sotw(clusterURL, strconv.Itoa(i))}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n := nonces[i%len(nonces)]
		step(session.Entry{Kind: session.KindMessage, Side: session.Server, Message: &session.Message{Data: n[0]}})
		step(session.Entry{Kind: session.KindMessage, Side: session.Client, Message: &session.Message{Data: n[1]}})
	}
}
