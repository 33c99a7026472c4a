package index

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

func sessionPath(name string) string {
	return filepath.Join("..", "..", "check", "testdata", "sessions", name+".xdsp")
}

// readSession indexes a recorded session.
func readSession(tb testing.TB, name string) *Index {
	tb.Helper()
	r, err := recorder.Open(sessionPath(name))
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	x := New()
	f := NewFeed(x, check.Options{})
	f.Run(tb.Context(), r, false, nil)
	if err := f.Err(); err != nil {
		tb.Fatal(err)
	}
	return x
}

// What is counted is what stands in the rows.
func TestStatsCountRows(t *testing.T) {
	for _, name := range []string{"demo", "envoy-sotw-nack", "server-resends-what-was-rejected", "grpc-go"} {
		x := readSession(t, name)
		s := x.Stats()
		var messages, bytes [2]uint64
		var acks, nacks, seconds, waits uint64
		biggest, longest := uint32(0), time.Duration(0)
		perType := make(map[string]uint64)
		for i := range x.Len() {
			r, _ := x.Row(i)
			if r.Kind != session.KindMessage {
				continue
			}
			to := ToServer
			if r.Side == session.Server {
				to = ToClient
			}
			messages[to]++
			bytes[to] += uint64(r.Size)
			perType[x.Words(&r).Type]++
			biggest = max(biggest, r.Size)
			switch r.What {
			case ACK:
				acks++
			case NACK:
				nacks++
			}
			if !r.What.Response() && r.Waited() > 0 {
				waits++
				longest = max(longest, r.Waited())
			}
		}
		if s.Messages != messages || s.Bytes != bytes || s.Acks != acks || s.Nacks != nacks {
			t.Errorf("%s: %v messages, %v bytes, %d ACKs, %d NACKs; the rows have %v, %v, %d, %d",
				name, s.Messages, s.Bytes, s.Acks, s.Nacks, messages, bytes, acks, nacks)
		}
		if len(s.Types) != len(perType) {
			t.Errorf("%s: %d types, the rows have %d", name, len(s.Types), len(perType))
		}
		for _, ty := range s.Types {
			if n := ty.Messages[ToServer] + ty.Messages[ToClient]; n != perType[ty.Type] {
				t.Errorf("%s: %d messages of %s, the rows have %d", name, n, ty.Type, perType[ty.Type])
			}
		}
		for _, sec := range s.Recent {
			seconds += uint64(sec.Messages[ToServer]) + uint64(sec.Messages[ToClient])
		}
		if all := messages[ToServer] + messages[ToClient]; s.Long < StatSeconds*time.Second && seconds != all {
			t.Errorf("%s: %d messages in all seconds, %d in all", name, seconds, all)
		}
		if len(s.Biggest) == 0 || s.Biggest[0].Row.Size != biggest {
			t.Errorf("%s: the biggest message is not first in %v", name, s.Biggest)
		}
		for i := 1; i < len(s.Biggest); i++ {
			if s.Biggest[i].Row.Size > s.Biggest[i-1].Row.Size {
				t.Errorf("%s: message %d is bigger than the one before", name, i)
			}
		}
		if s.Wait.Count() != waits || s.Wait.Max() != longest {
			t.Errorf("%s: %d answers, the longest took %v; the rows have %d and %v", name, s.Wait.Count(), s.Wait.Max(), waits, longest)
		}
	}
}

// A response that a server sends again as it was is counted, one that differs
// is not.
func TestStatsTellWhatComesAgain(t *testing.T) {
	if s := readSession(t, "envoy-sotw"); s.Stats().Again != 0 {
		t.Errorf("%d responses came again where none did", s.Stats().Again)
	}
	if s := readSession(t, "server-resends-what-was-rejected"); s.Stats().Again < 2 {
		t.Errorf("%d responses came again, at least 2 did", s.Stats().Again)
	}
}

// Seconds of long ago are forgotten, whatever the clock does.
func TestStatsForgetSeconds(t *testing.T) {
	x := New()
	at := func(sec int64) {
		e := session.Entry{
			Seq: session.Seq(x.Len() + 1), Time: time.Unix(sec, 0), Kind: session.KindMessage, Side: session.Client,
			Message: &session.Message{Size: 10},
		}
		x.add(&e, &check.Change{})
	}
	count := func() (n uint32) {
		s := x.Stats()
		for i := range s.Recent {
			n += s.Recent[i].Messages[ToServer]
		}
		for _, ty := range s.Types {
			for _, sec := range ty.Recent {
				n -= uint32(sec[ToServer])
			}
		}
		if n != 0 {
			t.Errorf("%d messages more in all types than in each", int32(n))
		}
		for i := range s.Recent {
			n += s.Recent[i].Messages[ToServer]
		}
		return n
	}
	for _, c := range []struct {
		second int64
		want   uint32
	}{
		{1000, 1},
		{1000, 2},
		{1000 + StatSeconds - 1, 3},
		{1000 + StatSeconds, 2},         // the first second is gone
		{990, 3},                        // older than the newest: counted with it
		{1 << 33, 1},                    // all are gone
		{1<<33 + 10*StatSeconds + 7, 1}, // and again
		{-5, 2},
	} {
		at(c.second)
		if n := count(); n != c.want {
			t.Errorf("after second %d: %d messages, want %d", c.second, n, c.want)
		}
	}
}

// More types than are told apart are counted together.
func TestStatsBoundTypes(t *testing.T) {
	x := New()
	for i := range 10 * maxStatTypes {
		e := session.Entry{Seq: session.Seq(i + 1), Time: time.Unix(1000, 0), Kind: session.KindMessage, Message: &session.Message{Size: 10}}
		x.add(&e, &check.Change{Change: engine.Change{Type: "T" + time.Duration(i).String()}})
	}
	s := x.Stats()
	if len(s.Types) != maxStatTypes+1 || s.Types[0].Type != Others {
		t.Errorf("%d types, of which %q is the biggest", len(s.Types), s.Types[0].Type)
	}
	n := uint64(0)
	for _, ty := range s.Types {
		n += ty.Messages[ToServer]
	}
	if n != 10*maxStatTypes {
		t.Errorf("%d messages of all types", n)
	}
}

// A quantile is never less than the wait, and at most a quarter more.
func TestWaits(t *testing.T) {
	for us := uint64(0); us < 1<<32; us += us/7 + 1 {
		var w Waits
		w.add(uint32(us))
		w.max = 1<<32 - 1
		got := uint64(w.Quantile(0.5) / time.Microsecond)
		if got < us || got > us+us/4 {
			t.Fatalf("%dµs is said to be %dµs", us, got)
		}
	}
	var w Waits
	if w.Quantile(0.99) != 0 || w.Max() != 0 {
		t.Error("no waits took time")
	}
	for us := range uint32(1000) {
		w.add(us + 1)
	}
	for _, c := range []struct {
		share float64
		least time.Duration
	}{{0.5, 500 * time.Microsecond}, {0.99, 990 * time.Microsecond}, {1, time.Millisecond}} {
		if got := w.Quantile(c.share); got < c.least || got > c.least*5/4 {
			t.Errorf("the quantile of %v is %v", c.share, got)
		}
	}
	counts, from := w.Buckets()
	n := uint64(0)
	for _, c := range counts {
		n += c
	}
	if n != w.Count() || from != time.Microsecond {
		t.Errorf("%d waits in %v, from %v", n, counts, from)
	}
}

// A note that silences a rule is about findings of that rule and client.
func TestSilenced(t *testing.T) {
	x := readSession(t, "demo")
	r, err := recorder.Open(sessionPath("demo"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	k := check.NewChecker(check.Options{})
	for e, err := range r.Entries(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		k.Step(&e)
	}
	last, at := x.Last()
	if n := len(k.Findings()); n < 2 {
		t.Fatalf("%d findings", n)
	}
	for i, f := range k.Findings() {
		for _, about := range []session.Seq{f.LastSeq, f.Seqs[0]} {
			y := New()
			for j := range x.Len() {
				row, _ := x.Row(j)
				e := session.Entry{Seq: row.Seq, Time: row.At(), Kind: session.KindNote, Note: &session.Note{}}
				y.add(&e, &check.Change{Change: engine.Change{Client: x.Words(&row).Client, Type: x.Words(&row).Type}})
			}
			e := session.Entry{Seq: last + 1, Time: at, Kind: session.KindNote, Note: &session.Note{Code: session.NoteSilenced, Text: f.Rule.ID, About: about}}
			y.add(&e, &check.Change{})
			for j, g := range k.Findings() {
				want := i == j
				if got := Silenced(&g, y.Silences()); got != want && (want || g.Rule != f.Rule || g.Client != f.Client) {
					t.Errorf("a note about %d silences %s of %s at %d: %v", about, g.Rule.ID, g.Client, g.LastSeq, got)
				}
			}
		}
	}
}

// A note is about what an entry has part in, and about what is between the first and
// the last of those and of the same type and client; nothing else.
func TestSilencedBetween(t *testing.T) {
	rule := &check.Rule{ID: "r"}
	f := check.Finding{Rule: rule, Client: "n1", Clients: []string{"n1", "n2"}, Type: "CDS", Seqs: []session.Seq{10, 15}, LastSeq: 20}
	for _, tc := range []struct {
		s    Silence
		want bool
	}{
		{Silence{"r", 20, "", ""}, true},
		{Silence{"r", 15, "", ""}, true},
		{Silence{"r", 10, "", ""}, true},
		{Silence{"x", 10, "n1", "CDS"}, false},
		{Silence{"r", 11, "n1", "CDS"}, true},
		{Silence{"r", 19, "n2", "CDS"}, true},
		{Silence{"r", 12, "n3", "CDS"}, false},
		{Silence{"r", 12, "n1", "EDS"}, false},
		{Silence{"r", 9, "n1", "CDS"}, false},
		{Silence{"r", 21, "n1", "CDS"}, false},
	} {
		if got := Silenced(&f, []Silence{tc.s}); got != tc.want {
			t.Errorf("%+v: %t", tc.s, got)
		}
	}
	of := check.Finding{Rule: rule, Client: "n1", Type: "CDS", LastSeq: 20}
	if Silenced(&of, []Silence{{"r", 12, "n1", "CDS"}}) {
		t.Error("it begins nowhere")
	}
}

// The response that brought a resource is found again.
func TestCarrier(t *testing.T) {
	x := readSession(t, "envoy-sotw-nack")
	f := NewFetcher(x, func() (Reader, error) { return recorder.Open(sessionPath("envoy-sotw-nack")) })
	defer f.Close()
	for _, c := range []struct {
		client, typ, name string
		want              session.Seq
	}{
		{"envoy", "CDS", "web", 19},
		{"envoy", "CDS", "broken", 19},
		{"envoy", "RDS", "routes", 14},
		{"envoy", "EDS", "broken", 21},
		{"envoy", "EDS", "none", 0},
		{"another", "CDS", "web", 0},
	} {
		if got := f.Carrier(t.Context(), c.client, c.typ, c.name); got != c.want {
			t.Errorf("%s %s of %s came with %d, want %d", c.typ, c.name, c.client, got, c.want)
		}
	}
}

// BenchmarkAdd is what an entry costs that the index takes.
func BenchmarkAdd(b *testing.B) {
	r, err := recorder.Open(sessionPath("demo"))
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	k := check.NewChecker(check.Options{})
	var entries []session.Entry
	var changes []check.Change
	for {
		e, err := r.Next(context.Background())
		if err != nil {
			break
		}
		entries, changes = append(entries, e), append(changes, k.Step(&e))
	}
	b.ReportAllocs()
	x := New()
	n := session.Seq(0)
	for i := 0; b.Loop(); i++ {
		if i%(1<<20) == 0 {
			x = New()
		}
		e := entries[i%len(entries)]
		n++
		e.Seq = n
		x.add(&e, &changes[i%len(entries)])
	}
}
