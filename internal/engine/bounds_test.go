package engine

import (
	"fmt"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
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

// Of a nonce or a version that is very long only a part and a hash are kept, and
// it is found again all the same, by a client that reconnects, too.
func TestLongNonces(t *testing.T) {
	tr := New(Options{})
	var seq session.Seq
	step := func(stream session.StreamID, e session.Entry) Change {
		seq++
		e.Seq, e.Conn, e.Stream = seq, session.ConnID(stream), stream
		return tr.Step(&e)
	}
	say := func(stream session.StreamID, side session.Side, nonce string) Change {
		data := sotw(clusterURL, nonce, []byte(lenField(1, "v")))
		if side == session.Client {
			data = append(data, []byte(lenField(2, lenField(1, "a-node"))))
		}
		return step(stream, session.Entry{Side: side, Kind: session.KindMessage, Message: &session.Message{Data: session.Chunks{data.Bytes()}}})
	}
	long := fmt.Sprintf("%0999d", 7)
	step(1, session.Entry{Kind: session.KindOpen, Side: session.Client, Method: adsPath})
	say(1, session.Client, "")
	sent := say(1, session.Server, long)
	if c := say(1, session.Client, long); c.What != ACK || c.Answers != sent.Response.Seq {
		t.Errorf("its ACK is %s of entry %d, and not of %d", c.What, c.Answers, sent.Response.Seq)
	}
	for i := range 2 * keepSent {
		say(1, session.Server, fmt.Sprint(i))
		say(1, session.Client, fmt.Sprint(i))
	}
	if c := say(1, session.Client, long); !c.Request.EchoedPast {
		t.Error("it is not known as one that was used")
	}
	last := say(1, session.Server, long)
	if !last.Response.ReusedPast {
		t.Error("that it is used again is not known")
	}
	step(1, session.Entry{Kind: session.KindTrailer, Side: session.Server, Status: &session.Status{}})
	step(2, session.Entry{Kind: session.KindOpen, Side: session.Client, Method: adsPath})
	if s := say(2, session.Client, "").Stream.Previous.Sub("CDS"); s.WithNonce(long) != last.Response.Seq {
		t.Errorf("after the end of its stream it is of entry %d", s.WithNonce(long))
	}
}
