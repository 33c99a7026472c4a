package queue

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

func TestGapNamesManyStreams(t *testing.T) {
	var h Holes
	for i := range 3 * format.MaxGapStreams {
		h.Add(&session.Entry{Seq: session.Seq(i + 1), Stream: session.StreamID(i)})
	}
	gaps := h.Close()
	if g := gaps[0].Gap; len(gaps) != 1 || len(g.Streams) != format.MaxGapStreams || g.Entries != 3*format.MaxGapStreams || h.Open() {
		t.Errorf("%d gaps, %d streams, %d entries", len(gaps), len(g.Streams), g.Entries)
	}
}

// What was recorded between two losses is in no gap, though the Gap entry of
// the first was lost with the second.
func TestGapOfTwoLosses(t *testing.T) {
	var h Holes
	h.Add(&session.Entry{Seq: 5})
	h.Add(&session.Entry{Seq: 6, Gap: &session.Gap{First: 1, Last: 2, Entries: 2}})
	gaps := h.Close()
	if len(gaps) != 2 || !reflect.DeepEqual(*gaps[0].Gap, session.Gap{First: 5, Last: 6, Entries: 2}) ||
		!reflect.DeepEqual(*gaps[1].Gap, session.Gap{First: 1, Last: 2, Entries: 2}) {
		t.Errorf("%+v", gaps)
	}
	for i := range session.Seq(3 * MaxHoles) {
		h.Add(&session.Entry{Seq: 2 * i})
	}
	gaps = h.Close()
	if last := gaps[len(gaps)-1].Gap; len(gaps) != MaxHoles || last.Entries != 2*MaxHoles+1 || last.Last != 6*MaxHoles-2 {
		t.Errorf("%d gaps, the last is %+v", len(gaps), last)
	}
}

// A Gap entry that is lost itself takes what it told into the next one: entries,
// bytes and streams.
func TestGapOfALostGap(t *testing.T) {
	var h Holes
	h.Add(&session.Entry{Seq: 3, Gap: &session.Gap{First: 1, Last: 2, Entries: 2, Bytes: 700, Streams: []session.StreamID{5}}})
	h.Add(&session.Entry{Seq: 4, Stream: 7, Message: &session.Message{Data: session.Chunks{make([]byte, 30)}}})
	gaps := h.Close()
	want := session.Gap{First: 1, Last: 4, Entries: 4, Bytes: 730, Streams: []session.StreamID{5, 7}}
	if len(gaps) != 1 || !reflect.DeepEqual(*gaps[0].Gap, want) {
		t.Errorf("%+v, not %+v", *gaps[0].Gap, want)
	}
}

// There is always room in a queue without a limit.
func TestQueueWithoutLimit(t *testing.T) {
	q := New(math.MaxInt64)
	for conn := range session.ConnID(3) {
		for range 2 {
			charged, large, room := q.Charge(conn, 1<<50)
			if !room || large {
				t.Errorf("no room for connection %d", conn)
			}
			q.Put(session.Entry{Conn: conn}, charged, large)
		}
	}
}

// What peers choose freely is charged: else the queue would hold more than its
// limit says.
func TestWhatPeersChooseIsCharged(t *testing.T) {
	text := strings.Repeat("x", 10_000)
	for name, e := range map[string]session.Entry{
		"a message":      {Message: &session.Message{Data: session.Chunks{[]byte(text)}}},
		"short fields":   {Headers: make([]session.Field, 10_000/40)},
		"a long field":   {Headers: []session.Field{{Name: "x", Value: text}}},
		"a status":       {Status: &session.Status{Message: text}},
		"a GOAWAY":       {GoAway: &session.GoAway{Debug: text}},
		"lost streams":   {Gap: &session.Gap{Streams: make([]session.StreamID, 10_000/8)}},
		"written fields": {Sent: make([]session.Field, 10_000/40)},
	} {
		if cost := CostOf(&e); cost < 10_000 || cost > 10_600 {
			t.Errorf("%s is charged %d bytes", name, cost)
		}
	}
}
