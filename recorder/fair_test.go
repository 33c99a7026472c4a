package recorder

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/recorder/internal/queue"
	"github.com/xdsproxy/xdsproxy/session"
)

// of is a message of a connection.
func of(conn session.ConnID, stream session.StreamID, size int) session.Entry {
	e := message(stream, strings.Repeat("x", size))
	e.Conn = conn
	return e
}

// While nothing is written, a connection that floods the queue leaves room for
// others and for notes, and so do several. Gaps name the streams that lost
// something, one by one, and no others.
func TestFloodLeavesRoom(t *testing.T) {
	f := newFlaky(t)
	l := startOn(t, f, Options{QueueBytes: 8 << 20, NoTicks: true})
	const floods, others = 2, 50
	f.gate.Lock()
	stream := session.StreamID(others)
	lost := make(map[session.StreamID]bool)
	flood := func(conn session.ConnID) (lostNow int) {
		for range 20_000 {
			stream++
			before := l.Stats().Lost
			l.Append(of(conn, stream, 100))
			if l.Stats().Lost > before {
				lost[stream] = true
				lostNow++
			}
		}
		return lostNow
	}
	for conn := range session.ConnID(floods) {
		if flood(conn+1) == 0 {
			t.Errorf("connection %d has lost nothing: this was no flood", conn+1)
		}
		for i := range session.ConnID(others) {
			before := l.Stats().Lost
			l.Append(of(100+i, session.StreamID(i+1), 2000))
			if conn == 0 {
				l.Append(of(100+i, session.StreamID(i+1), 20_000))
			}
			if l.Stats().Lost > before {
				t.Fatalf("after %d floods, what connection %d said found no room", conn+1, 100+i)
			}
		}
	}
	for i := range session.ConnID(10_000) { // each holds little, and together they fill it
		l.Append(of(1000+i, 1, 10_000))
	}
	before := l.Stats()
	l.Append(session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: &session.Note{Text: "something to know"}})
	if l.Stats().Lost > before.Lost {
		t.Error("a note found no room")
	}
	lost[1] = true
	f.gate.Unlock()
	until(t, "the queue is empty", func() bool { return l.Stats().Queued == 0 })
	before = l.Stats()
	l.Append(of(1, stream+1, 3<<20)) // as if it had never flooded
	l.Append(of(1, stream+1, 2<<20))
	if l.Stats().Lost > before.Lost {
		t.Error("what was written is still held against who flooded")
	}
	closeLog(t, l)

	all, _ := readAll(t, f.Name())
	for _, e := range explained(t, all) {
		if len(e.Gap.Streams) >= format.MaxGapStreams {
			t.Errorf("the gap in entry %d names %d streams, which stands for all", e.Seq, len(e.Gap.Streams))
		}
		for _, id := range e.Gap.Streams {
			if !lost[id] {
				t.Fatalf("the gap in entry %d names stream %d, which has lost nothing", e.Seq, id)
			}
		}
		for _, id := range e.Gap.Streams {
			delete(lost, id)
			if id == 1 {
				lost[1] = true
			}
		}
	}
	if len(lost) > 1 {
		t.Errorf("%d streams lost something, and no gap says so", len(lost)-1)
	}
}

// Floods at the same time share alike.
func TestFloodsShareAlike(t *testing.T) {
	f := newFlaky(t)
	l := startOn(t, f, Options{QueueBytes: 1 << 20, NoTicks: true})
	const floods = 4
	f.gate.Lock()
	var kept [floods]int
	for i := range 10_000 {
		before := l.Stats().Lost
		l.Append(of(session.ConnID(i%floods+1), 1, 100))
		if l.Stats().Lost == before {
			kept[i%floods]++
		}
	}
	f.gate.Unlock()
	closeLog(t, l)
	for _, n := range kept {
		if want := 2 * (1 << 20) / (2*floods + 1) / (queue.EntryCost + 100); n < want*9/10 || n > want*11/10 {
			t.Errorf("kept %v, want about %d each", kept, want)
		}
	}
}
