package engine

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// Payloads of another type than their response are foreign, on purpose, but where the
// response is of a type of Envoy's: there they are a mistake.
func TestForeignPayloads(t *testing.T) {
	for _, c := range []struct {
		of      string
		payload []string
		foreign bool
	}{
		{"Addr", []string{"Addr"}, false},
		{"Addr", []string{"CDS"}, true},
		{"Addr", []string{"CDS", "Addr"}, true},
		{"Addr", nil, false},
		{"Addr", []string{""}, false},
		{"CDS", []string{"EDS"}, false},
		{"CDS", nil, false},
	} {
		s := newScript(t)
		s.line("C> type=" + c.of + " V= N= R=[] node=n1")
		out := lenField(1, "1") + lenField(4, typeURLs[c.of]) + lenField(5, "a")
		for _, typ := range c.payload {
			out += lenField(2, opt(1, typeURLs[typ])+lenField(2, lenField(1, "x")))
		}
		got := s.step(message(1, session.Server, []byte(out)))
		if got.Response == nil || got.Response.Foreign != c.foreign {
			t.Errorf("%q in a response of %s: %+v", c.payload, c.of, got.Response)
		}
	}
}

// A stream that names no node is of the client that its connection named last, and one that
// does is of that.
func TestAccountsOfAConnection(t *testing.T) {
	s := newScript(t)
	for id, c := range []struct{ line, want string }{
		{"C> type=CDS V= N= R=[]", ""},
		{"C> type=CDS V= N= R=[] node=n1", "n1"},
		{"C> type=CDS V= N= R=[]", "n1"},
		{"C> type=CDS V= N= R=[] node=n2", "n2"},
		{"C> type=CDS V= N= R=[]", "n2"},
	} {
		s.open(session.StreamID(id+1), adsMethod)
		s.line(c.line)
		is(t, c.line, s.tracker.Streams[session.StreamID(id+1)].account, c.want)
	}
	// The last one names itself late, and stays then.
	last := s.tracker.Streams[5]
	s.line("C> type=LDS V= N= R=[] node=n3")
	is(t, "named late", last.account, "n3")
	s.line("C> type=RDS V= N= R=[a] node=n4")
	is(t, "named anew", last.account, "n3")
	if of := s.tracker.clients.byID["n2"]; len(of.live) != 1 {
		t.Errorf("%d streams are those of n2", len(of.live))
	}
}

// A client whose last stream turns out to be that of another is gone, and counts to
// what is remembered.
func TestStreamThatWasTakenForAnothers(t *testing.T) {
	s := newScript(t)
	s.open(1, adsMethod)
	s.line("C> type=CDS V= N= R=[] node=n1")
	s.open(2, adsMethod)
	s.line("C> type=CDS V= N= R=[]")
	s.step(session.Entry{Stream: 1, Conn: s.tracker.Streams[1].Conn, Kind: session.KindTrailer})
	of := s.tracker.clients.byID["n1"]
	if !of.here() || of.memento != nil {
		t.Fatalf("%+v", of)
	}
	s.line("C> type=LDS V= N= R=[] node=n2")
	if of.here() || of.memento == nil || !s.tracker.clients.byID["n2"].here() {
		t.Errorf("%+v", of)
	}
}

// Where the response was not seen, a rejection says where a type stands, and what a client
// says to another one does not.
func TestStatusOfWhatWasNotSeen(t *testing.T) {
	s := newScript(t)
	stands := func(line string, want State, seq session.Seq) {
		t.Helper()
		s.line(line)
		ts, asked := s.tracker.typeStatus(s.tracker.Streams[1].Sub("CDS"))
		if !asked || ts.State != want || ts.Seq != seq {
			t.Errorf("after %s it is %s by entry %d, want %s by %d", line, ts.State, ts.Seq, want, seq)
		}
	}
	stands("C> type=CDS V= N= R=[] node=n1", NotSent, 2)
	s.step(session.Entry{Kind: session.KindGap, Gap: &session.Gap{First: 3, Last: 9, Entries: 7, Streams: []session.StreamID{1}}})
	stands("C> type=CDS V= N=x R=[] err=bad", Nacked, 4)
	stands("C> type=CDS V=1 N=y R=[]", Unknown, 2)
	stands("C> type=CDS V=1 N=z R=[] err=bad", Nacked, 6)
}

// What was rejected is not forgotten for a heartbeat after it.
func TestRefusalsOutlastHeartbeats(t *testing.T) {
	for _, c := range []struct {
		of     refusal
		by     Response
		lasts  bool
		reason string
	}{
		{refusal{seq: 5, ordinal: 3}, Response{pulsed: true, Ordinal: 4}, true, "a heartbeat after it"},
		{refusal{seq: 5, ordinal: 3}, Response{pulsed: true, Ordinal: 3}, false, "itself"},
		{refusal{seq: 5, ordinal: 3}, Response{pulsed: true, Ordinal: 2}, false, "one before it"},
		{refusal{seq: 5, ordinal: 3}, Response{Ordinal: 4}, false, "what is no heartbeat"},
		{refusal{seq: 5, ordinal: 3, of: refused{pulse: true}}, Response{pulsed: true, Ordinal: 4}, false, "a heartbeat after one"},
		{refusal{ordinal: 3}, Response{pulsed: true, Ordinal: 4}, false, "of nothing"},
	} {
		is(t, c.reason, c.of.outlasts(&c.by), c.lasts)
	}
}

// What is remembered of what is over, and what is kept at hand, are together no more than
// the budget, and not much less.
func TestPartsOfTheBudget(t *testing.T) {
	for given, budget := range map[int64]int64{1 << 20: 1 << 20, 0: DefaultPast} {
		k := New(Options{Past: given})
		all := k.past.budget + k.cache.Bytes + k.Contents.limit + 4*k.bulks.limit // of these there are two, and moves count double
		if all > budget || all < budget*7/8 {
			t.Errorf("of %d bytes %d are given away", budget, all)
		}
		is(t, "budget", k.Memory().Budget, budget)
	}
	k := New(Options{Past: -1})
	is(t, "of nothing", k.past.budget+k.Contents.limit+k.bulks.limit, 0)
	is(t, "a cache", k.cache.Bytes > 0, false)
}
