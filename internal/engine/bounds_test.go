package engine

import (
	"fmt"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// What a hostile server makes an Engine remember of its responses is bounded,
// and what had to be forgotten makes later words uncertain.
func TestResponsesAreForgottenWithinBounds(t *testing.T) {
	tr := New(Options{})
	var seq session.Seq
	step := func(e session.Entry) Change {
		seq++
		e.Seq, e.Conn, e.Stream = seq, 1, 1
		return tr.Step(&e)
	}
	message := func(side session.Side, data session.Chunks) Change {
		return step(session.Entry{Side: side, Kind: session.KindMessage, Message: &session.Message{Data: session.Chunks{data.Bytes()}}})
	}
	step(session.Entry{Kind: session.KindConnect})
	step(session.Entry{Kind: session.KindOpen, Side: session.Client, Method: adsPath})
	message(session.Client, sotw(clusterURL, ""))
	for n := range MaxNonces + 10 {
		message(session.Server, sotw(clusterURL, fmt.Sprintf("%d-%0200d", n, n), resource))
	}
	if kept := tr.Streams[1].Sub("CDS").Sent; len(kept) > MaxNonces || len(kept[0].Nonce) > 300 {
		t.Errorf("%d responses are kept, the nonce of the first has %d bytes", len(kept), len(kept[0].Nonce))
	}
	if c := message(session.Client, sotw(clusterURL, fmt.Sprintf("%d-%0200d", 3, 3))); !c.Uncertain {
		t.Errorf("an ACK of a forgotten response is %+v", c)
	}
}
