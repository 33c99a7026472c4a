package index

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/fold"
	"github.com/xdsproxy/xdsproxy/session"
)

// So many resources are compared in depth, and so many bytes; after that it is only
// said that they differ.
func TestRoomToCompare(t *testing.T) {
	for _, c := range []struct {
		compared, weighed, bytes int
		want                     bool
	}{
		{maxCompared - 1, 0, 1, true},
		{maxCompared, 0, 1, false},
		{0, maxWeighed - 1, 1, true},
		{0, maxWeighed, 1, false},
		{0, 0, maxWeighed + 1, false},
	} {
		v := versus{compared: c.compared, weighed: c.weighed}
		if v.room(c.bytes) != c.want {
			t.Errorf("after %d of %d bytes there is room for %d more: %v", c.compared, c.weighed, c.bytes, !c.want)
		}
	}
}

// So many responses are read for one comparison, the oldest ones; of the others it is
// said that they were let go.
func TestOriginsThatAreRead(t *testing.T) {
	f := NewFetcher(New(), nil)
	for n, gone := range map[int]bool{maxOrigins: false, maxOrigins + 1: true} {
		v := versus{f: f, had: make(map[string]found), from: origins{by: make(map[uint64]origin, n)}}
		for i := range n {
			seq := session.Seq(i + 1)
			f.cache[seq] = &Fetched{Entry: session.Entry{Seq: seq}, Change: check.Change{Change: engine.Change{Message: &decode.Message{}}}}
			v.from.by[uint64(i)] = origin{seq: seq}
		}
		if err := v.read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if last := session.Seq(n); v.gone[last] != gone || len(v.gone) != n-maxOrigins {
			t.Errorf("of %d responses %d were let go, the newest: %v", n, len(v.gone), v.gone[last])
		}
	}
}

// A text that comes again is found among those that came lately, and has one place.
// After so many others it is not looked for any more.
func TestTextsThatCameLately(t *testing.T) {
	for others, again := range map[int]bool{maxRecent - 1: true, maxRecent: false} {
		var a arena
		at := a.add("first")
		for i := range others {
			a.add(fmt.Sprint(i))
		}
		if found := a.add("first") == at; found != again {
			t.Errorf("after %d others it is found: %v", others, found)
		}
	}
	var a arena
	for n, want := range map[int]int{maxText: maxText, maxText + 1: maxText + len("…")} {
		if got := len(a.text(a.add(strings.Repeat("x", n)))); got != want {
			t.Errorf("of a text of %d bytes %d are kept, not %d", n, got, want)
		}
	}
}

// The room for the names of a response is used again unless it became too large.
func TestRoomForNames(t *testing.T) {
	c := newCarried()
	for n, kept := range map[int]bool{maxKept: true, maxKept + 1: false} {
		c.names = make([]uint64, 0, n)
		c.add(1, &check.Change{Change: engine.Change{Type: "EDS", Message: &decode.Message{Kind: decode.DeltaResponse, Removed: []string{"a"}}}})
		if (c.names != nil) != kept {
			t.Errorf("room for %d names is kept: %v", n, !kept)
		}
	}
	// All lists together have a bound, up to which none is let go.
	for more, let := range []session.Seq{0, 1} {
		c := newCarried()
		c.most = 2*(carrierBytes+listBytes+8) - more
		for seq, name := range []string{"a", "b"} {
			c.add(session.Seq(seq+1), &check.Change{Change: engine.Change{Type: "EDS", Message: &decode.Message{Kind: decode.DeltaResponse, Removed: []string{name}}}})
		}
		if c.let != let {
			t.Errorf("%d bytes too many: %d was let go, not %d", more, c.let, let)
		}
	}
}

// So many rows have something folded under them. What comes then stands for itself.
func TestRowsThatHaveFolds(t *testing.T) {
	x, _ := play(t, "C> type=CDS V= N= R=[] node=n1\n"+rounds(9, "S< type=CDS V=2 N=n%d res=[c1]", `C> type=CDS V= N=n%d R=[] err="bad"`))
	if len(x.folds.under) == 0 {
		t.Fatal("nothing is folded")
	}
	f := folds{heads: make(map[session.Seq]*fold.Run, maxHeads)}
	for i := range maxHeads - 1 {
		f.heads[session.Seq(1000+i)] = nil
	}
	at := fold.Place{Under: x.folds.under[0]}
	f.add(7, at)
	if len(f.rows) != 1 || len(f.heads) != maxHeads {
		t.Errorf("%d rows are folded under %d", len(f.rows), len(f.heads))
	}
	delete(f.heads, at.Under.Head())
	f.heads[1] = nil
	if f.add(8, at); len(f.rows) != 1 || len(f.heads) != maxHeads {
		t.Errorf("%d rows are folded under %d", len(f.rows), len(f.heads))
	}
}

// What who looks has said of an entry counts more than what the log says, for so many
// entries.
func TestMarksOfWhoLooks(t *testing.T) {
	x := New()
	for i := range maxMarks + maxRemarks - 1 {
		x.marks.own[session.Seq(1000+i)] = struct{}{}
	}
	for seq, stays := range map[session.Seq]bool{1: true, 2: false} {
		if seq == 2 {
			x.marks.own[3] = struct{}{}
		}
		x.Annotate(&session.Note{Code: session.NoteMark, About: seq})
		x.annotateFrom(&session.Note{Code: session.NoteUnmark, About: seq})
		if x.Marked(seq) != stays {
			t.Errorf("%d is marked: %v", seq, !stays)
		}
		delete(x.marks.own, 1)
		delete(x.marks.own, 3)
	}
}

// said adds a message of a client to an index.
func said(x *Index, client string, side session.Side, size int64, of engine.Change) {
	seq := session.Seq(x.Len() + 1)
	e := session.Entry{
		Seq: seq, Time: time.Unix(1, 0), Conn: 1, Stream: session.StreamID(seq), Side: side, Kind: session.KindMessage,
		Message: &session.Message{Size: size},
	}
	of.Client = client
	x.add(&e, &check.Change{Change: of})
}

// Of the biggest messages so many are kept, and of those of one size the first ones; of
// the clients those with the most bytes.
func TestBiggestAndTalkers(t *testing.T) {
	x := New()
	for i := range maxBiggest {
		said(x, fmt.Sprint("client", i), session.Client, int64(100+i), engine.Change{})
	}
	for _, c := range []struct {
		size   int64
		least  session.Seq // the last one that is kept
		talker string      // likewise
	}{{1, 1, "client0"}, {100, 1, "client0"}, {101, 13, "size101"}, {200, 2, "client1"}} {
		said(x, fmt.Sprint("size", c.size), session.Client, c.size, engine.Change{})
		s := x.Stats()
		if n := len(s.Biggest); n != maxBiggest || s.Biggest[n-1].Row.Seq != c.least {
			t.Errorf("after one of %d bytes: %d are kept, %d is the least of them", c.size, n, s.Biggest[n-1].Row.Seq)
		}
		if n := len(s.Talkers); n != maxTalkers || s.Talkers[n-1].Client != c.talker {
			t.Errorf("after one of %d bytes: %d clients, the last is %q", c.size, n, s.Talkers[n-1].Client)
		}
	}
}

// What a stream is sent again is counted, however many were there before it. Those that
// were quiet for longest are forgotten.
func TestSubscriptionsThatAreRemembered(t *testing.T) {
	x := New()
	e := session.Entry{Conn: 1, Side: session.Server, Kind: session.KindMessage, Message: &session.Message{Size: 10}}
	again := func(stream session.StreamID) bool {
		before := x.stats.total.Again
		e.Seq++
		e.Stream = stream
		x.add(&e, &check.Change{Change: engine.Change{Type: "CDS", What: engine.RESP, Message: &decode.Message{Version: "1"}}})
		return x.stats.total.Again > before
	}
	const many = 3 * maxSubscriptions / 2
	for id := range session.StreamID(many) {
		if again(2 + id) {
			t.Fatalf("the first of stream %d came again", 2+id)
		}
		if id%1000 == 0 && again(1) != (id > 0) {
			t.Fatalf("after %d streams it is not known what comes again on the first", id)
		}
		if all := x.stats.last.Cost(); all > maxSubscriptions {
			t.Fatalf("%d are remembered", all)
		}
	}
	if again(2) || !again(1+many) {
		t.Error("it is not the stream that was quiet for longest that is forgotten")
	}
}

// However many clients and content types came before it, a type is known by its name.
func TestTypesHaveNumbersOfTheirOwn(t *testing.T) {
	x := New()
	for i := range math.MaxUint16 {
		x.words.id(fmt.Sprint("node-", i), math.MaxInt32)
	}
	headers := session.Entry{
		Seq: 1, Time: time.Unix(1, 0), Conn: 1, Stream: 2, Side: session.Client, Kind: session.KindOpen,
		Headers: []session.Field{{Name: "content-type", Value: "application/one-more"}},
	}
	x.add(&headers, &check.Change{})
	said(x, "gw-0", session.Client, 1, engine.Change{Type: "CDS"})
	r, _ := x.Row(x.Len() - 1)
	if w := x.Words(&r); w.Type != "CDS" || w.Client != "gw-0" {
		t.Errorf("the type is %q, the client %q", w.Type, w.Client)
	}
	if s := x.Stats(); len(s.Types) != 1 || s.Types[0].Type != "CDS" {
		t.Errorf("counted are %v", s.Types)
	}
	if p := x.places.all[r.place]; x.words.list[p.content[0]] != "application/one-more" {
		t.Errorf("the content type is %q", x.words.list[p.content[0]])
	}
}
