package engine

import (
	"fmt"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// What a hostile server makes a Tracker remember is bounded over all streams,
// is given back, and what had to be forgotten makes later words uncertain.
func TestTrackerForgetsWithinBounds(t *testing.T) {
	tr := NewTracker()
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
	if used := tr.lists.sentBytes; used <= 0 || used > MaxNonces*(264+64) {
		t.Errorf("%d bytes are charged", used)
	}
	if c := message(session.Client, sotw(clusterURL, fmt.Sprintf("%d-%0200d", 3, 3))); !c.Uncertain {
		t.Errorf("an ACK of a forgotten response is %+v", c)
	}
	step(session.Entry{Kind: session.KindDisconnect})
	if used := tr.lists.sentBytes; used != 0 {
		t.Errorf("%d bytes are charged for nothing", used)
	}
}
