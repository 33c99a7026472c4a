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

// Each part of an entry costs exactly what it holds.
func TestCostOf(t *testing.T) {
	for _, c := range []struct {
		e    session.Entry
		want int64
	}{
		{session.Entry{}, EntryCost},
		{session.Entry{Message: &session.Message{Data: session.Chunks{make([]byte, 30), make([]byte, 12)}}}, EntryCost + 42},
		{session.Entry{Status: &session.Status{Message: "gone"}}, EntryCost + 4},
		{session.Entry{GoAway: &session.GoAway{Debug: "bye"}}, EntryCost + 3},
		{session.Entry{Gap: &session.Gap{Streams: make([]session.StreamID, 5)}}, EntryCost + 40},
		{session.Entry{Headers: []session.Field{{Name: "ab", Value: "cde"}, {}}, Sent: []session.Field{{Name: "x"}}}, EntryCost + 2*fieldCost + 5 + fieldCost + 1},
	} {
		if got := CostOf(&c.e); got != c.want {
			t.Errorf("%+v costs %d, not %d", c.e, got, c.want)
		}
	}
}

// Of a queue of 1600 bytes each takes what is fair: at the bounds, one more and
// one less.
func TestQueueIsFair(t *testing.T) {
	const limit = 1600
	for name, c := range map[string]struct {
		held  map[session.ConnID]int64 // what connections put before
		conn  session.ConnID
		cost  int64
		large bool
		room  bool
	}{
		"all but half":             {nil, 1, limit / 2, false, true},
		"more than half":           {nil, 1, limit/2 + 1, true, true}, // is charged half
		"a large one after small":  {map[session.ConnID]int64{2: 100}, 1, limit, true, true},
		"the log itself":           {map[session.ConnID]int64{1: 800, 2: 800}, 0, 100, false, true},
		"the log itself, too much": {map[session.ConnID]int64{1: 800, 2: 800}, 0, 101, false, false},
		"what is left":             {map[session.ConnID]int64{1: 600, 2: 600}, 3, 400, false, true},
		"one more than is left":    {map[session.ConnID]int64{1: 600, 2: 600}, 3, 401, false, false},
		// It holds 800; twice what is left free is then at least that: 400.
		"twice what is left":            {map[session.ConnID]int64{1: 800, 2: 100}, 1, 300, false, true},
		"more than twice what is left":  {map[session.ConnID]int64{1: 802, 2: 100}, 1, 298, false, false},
		"one holds little":              {map[session.ConnID]int64{1: 800, 2: 100}, 2, 600, false, true},
		"a little more than that":       {map[session.ConnID]int64{1: 800, 2: 100}, 2, 651, false, false},
		"little is charged":             {map[session.ConnID]int64{1: 798}, 1, 402, false, true},
		"a little more than is charged": {map[session.ConnID]int64{1: 800}, 1, 402, false, false},
	} {
		q := New(limit)
		for _, conn := range []session.ConnID{1, 2} {
			if n := c.held[conn]; n > 0 {
				q.Put(session.Entry{Conn: conn}, n, false)
			}
		}
		before := q.Charged
		charged, large, room := q.Charge(c.conn, c.cost)
		if room != c.room || large != c.large || charged != min(c.cost, limit/2) || q.Charged != before {
			t.Errorf("%s: is charged %d, large %v, room %v", name, charged, large, room)
		}
	}
}

// What was taken and released is free again, a connection at a time; and one
// record at a time may be larger than half.
func TestQueueReleases(t *testing.T) {
	q := New(1600)
	for i, conn := range []session.ConnID{1, 1, 2, 1} {
		q.Put(session.Entry{Seq: session.Seq(i), Conn: conn}, 100, i == 2)
	}
	if q.Charged != 400 || q.Bytes != 400 || q.held[1] != 300 || q.held[2] != 100 {
		t.Errorf("%+v", q)
	}
	if _, large, room := q.Charge(3, 5000); !large || room {
		t.Error("there is room for a second large one")
	}
	spare := make([]Record, 0, 4)
	batch := q.Take(spare)
	if len(batch) != 4 || len(q.Waiting) != 0 || cap(q.Waiting) != 4 || q.Bytes != 0 || q.Charged != 400 {
		t.Errorf("%d records were taken, %+v", len(batch), q)
	}
	q.Release(batch[:2])
	if q.Charged != 200 || q.held[1] != 100 || q.held[2] != 100 || !q.large {
		t.Errorf("%+v", q)
	}
	q.Release(batch[2:])
	if q.Charged != 0 || len(q.held) != 0 || q.large {
		t.Errorf("%+v", q)
	}
	if charged, large, room := q.Charge(3, 5000); charged != 800 || !large || !room {
		t.Errorf("%d, %v, %v", charged, large, room)
	}
}

// Behind a gap comes what ended in it, but for what began in it, too.
func TestHolesTellWhatEnded(t *testing.T) {
	var h Holes
	for i, e := range []session.Entry{
		{Conn: 1, Stream: 1, Kind: session.KindMessage},
		{Conn: 1, Stream: 2, Kind: session.KindTrailer, Status: &session.Status{Code: 14, Message: "long", HTTP: 200}},
		{Conn: 1, Stream: 3, Kind: session.KindOpen},
		{Conn: 1, Stream: 3, Kind: session.KindCancel},
		{Conn: 2, Kind: session.KindConnect},
		{Conn: 2, Kind: session.KindDisconnect},
		{Conn: 1, Kind: session.KindDisconnect, Side: session.Client},
	} {
		e.Seq = session.Seq(i + 1)
		h.Add(&e)
	}
	if want := int64(3*EntryCost + 3*8); h.Cost() != want {
		t.Errorf("they cost %d, want %d", h.Cost(), want)
	}
	told := h.Close()
	if len(told) != 3 || told[0].Gap == nil || told[0].Gap.Entries != 7 {
		t.Fatalf("%d entries: %+v", len(told), told)
	}
	if want := (session.Entry{Conn: 1, Stream: 2, Kind: session.KindTrailer, Status: &session.Status{Code: 14, HTTP: 200}}); !reflect.DeepEqual(told[1], want) {
		t.Errorf("the end of the stream is %+v", told[1])
	}
	if want := (session.Entry{Conn: 1, Kind: session.KindDisconnect, Side: session.Client}); !reflect.DeepEqual(told[2], want) {
		t.Errorf("the end of the connection is %+v", told[2])
	}
	for i := range session.Seq(2 * format.MaxGapStreams) {
		if was := i >= format.MaxGapStreams-1; h.Full() != was {
			t.Fatalf("after %d ends it is full: %v", i, !was)
		}
		h.Add(&session.Entry{Seq: i + 1, Conn: session.ConnID(i + 1), Kind: session.KindDisconnect})
	}
	if n := len(h.Close()); n != 1+format.MaxGapStreams {
		t.Errorf("%d entries tell of it", n)
	}
	for i := range session.Seq(2 * format.MaxGapStreams) {
		h.Add(&session.Entry{Seq: i + 1, Conn: session.ConnID(i + 1), Kind: session.KindConnect})
	}
	if n := len(h[0].conns); n != format.MaxGapStreams {
		t.Errorf("%d connections are remembered", n)
	}
}

// How many streams a gap can still name, and which numbers are one hole.
func TestHoles(t *testing.T) {
	var h Holes
	if h.Open() || h.Full() {
		t.Error("nothing was lost yet")
	}
	for i := range format.MaxGapStreams - 2 {
		h.Add(&session.Entry{Seq: session.Seq(i + 10), Stream: session.StreamID(i + 1)})
	}
	h.Add(&session.Entry{Seq: 9, Stream: 1}) // again
	h.Add(&session.Entry{Seq: 8})            // of none
	if h.Full() || !h.Open() || len(h) != 1 {
		t.Errorf("%d holes, full %v", len(h), h.Full())
	}
	h.Add(&session.Entry{Seq: 7, Stream: 1 << 40})
	if !h.Full() {
		t.Error("there is room for two more streams")
	}
	h.Add(&session.Entry{Seq: 5}) // 6 was not lost
	gaps := h.Close()
	if len(gaps) != 2 || gaps[0].Gap.First != 7 || gaps[0].Gap.Last != format.MaxGapStreams+7 || gaps[1].Gap.First != 5 || gaps[1].Gap.Last != 5 {
		t.Errorf("%+v", gaps)
	}
	if n := len(gaps[0].Gap.Streams); n != format.MaxGapStreams-1 || gaps[0].Kind != session.KindGap || gaps[0].Side != session.Proxy {
		t.Errorf("%d streams, %+v", n, gaps[0])
	}
}
