package engine

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// fill makes a map have so many keys.
func fill[K comparable, V any](m map[K]V, n int, key func(i int) K, value V) {
	for i := 0; len(m) < n; i++ {
		m[key(i)] = value
	}
}

func word(i int) string { return "w" + strconv.Itoa(i) }

func counted[T ~uint64](i int) T { return T(i) + 1000 }

func is[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// lastAndMore are one that there is room for still, and one more.
func lastAndMore() []string { return []string{"last", "one more"} }

// referring is a resource that refers to others.
func referring(typ string, names ...string) *Resource {
	facts := &inspect.Facts{}
	for _, name := range names {
		facts.Refs = append(facts.Refs, inspect.Ref{Type: typ, Name: name})
	}
	return &Resource{Name: "by", Content: &Content{Facts: facts}}
}

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

func TestTypesOfAClientThatLeftAreBounded(t *testing.T) {
	s := newScript(t)
	s.line("C> type=CDS V= N= R=[] node=n1")
	sub := s.tracker.Streams[1].Sub("CDS")
	c := &client{left: make(map[string]left)}
	fill(c.left, maxTypes-1, word, left{})
	for _, sub.Key = range lastAndMore() {
		c.leaveType(s.tracker, sub)
		is(t, sub.Key, len(c.left), maxTypes)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	k := New(Options{})
	fill(k.conns, maxStreams-1, counted[session.ConnID], nil)
	for id := range session.ConnID(2) {
		first := k.conn(id)
		is(t, fmt.Sprint("known again ", id), k.conn(id) == first, id == 0)
	}
}

// No connection has more than twice the streams that it leaves to others.
func TestStreamsAreBounded(t *testing.T) {
	for has, room := range map[int]bool{3: true, 4: false} {
		k := New(Options{})
		fill(k.Streams, maxStreams-2, counted[session.StreamID], nil)
		fill(k.conn(1).streams, has, counted[session.StreamID], struct{}{})
		is(t, fmt.Sprint("room beside ", has), k.begin(&session.Entry{Conn: 1, Stream: 1}) != nil, room)
	}
}

// A gap that lists as many streams as one can may have touched others.
func TestStreamsOfAGapAreBounded(t *testing.T) {
	for listed, all := range map[int]bool{maxGapStreams - 1: false, maxGapStreams: true} {
		e := session.Entry{Seq: 9, Gap: &session.Gap{Streams: make([]session.StreamID, listed)}}
		k, st := New(Options{}), &Stream{Types: newTypes()}
		k.Streams[1] = st
		k.gap(e.Gap)
		is(t, fmt.Sprint("lost with ", listed), st.Lost, all)
		x, quoted := NewExcerpt(), &quotedStream{}
		x.streams[1] = quoted
		x.gap(&e)
		is(t, fmt.Sprint("hurt with ", listed), quoted.hurt == e.Seq, all)
	}
}

func TestHeadersOfAStreamAreBounded(t *testing.T) {
	x, st := NewExcerpt(), &Stream{}
	for i := range session.Seq(maxHeaders + 2) {
		e := session.Entry{Seq: i + 1, Conn: 1, Stream: 1, Kind: session.KindHeader}
		st.headers(&e)
		x.Step(&e, &Change{}, false)
	}
	is(t, "headers", len(st.headerSeqs), maxHeaders)
	is(t, "headers of an excerpt", len(x.streams[1].headers), maxHeaders)
}

// Connections that never end take no more room in an excerpt than elsewhere.
func TestConnectionsOfAnExcerptAreBounded(t *testing.T) {
	x := NewExcerpt()
	fill(x.conns, maxStreams-1, counted[session.ConnID], nil)
	for i, known := range []bool{true, false} {
		e := session.Entry{Seq: 1, Conn: session.ConnID(i + 1), Stream: session.StreamID(i + 1), Kind: session.KindOpen}
		x.Step(&e, &Change{}, true)
		is(t, fmt.Sprint("connection ", i), x.conns[e.Conn] != nil, known)
		is(t, fmt.Sprint("stream ", i), x.streams[e.Stream] != nil, known)
	}
}

func TestStreamsOfAnExcerptAreBounded(t *testing.T) {
	x := NewExcerpt()
	fill(x.streams, maxStreams-1, counted[session.StreamID], nil)
	for id, known := range []bool{true, false} {
		is(t, fmt.Sprint("known ", id), x.stream(&session.Entry{Conn: 1, Stream: session.StreamID(id + 1)}) != nil, known)
	}
	x = NewExcerpt()
	for id := range session.StreamID(maxLate + 1) {
		x.end(1, id+1, x.stream(&session.Entry{Conn: 1, Stream: id + 1}))
		is(t, fmt.Sprint("known after ", id, " others"), x.streams[1] != nil, id < maxLate)
	}
}

// Of what one client said that it holds the oldest changes are forgotten, and not the
// whole that they are changes of.
func TestWhatIsHeldInAnExcerptIsBounded(t *testing.T) {
	say := func(x *Excerpt, address string, whole bool, seq session.Seq) []session.Seq {
		x.holds(&session.Entry{Seq: seq, Held: &session.Held{Address: address, Whole: whole}}, false)
		return x.held[session.Held{Address: address}]
	}
	x := NewExcerpt()
	for seq := range session.Seq(maxLate) {
		say(x, "a", seq == 0, seq+1)
	}
	of := x.held[session.Held{Address: "a"}]
	is(t, "entries", fmt.Sprint(len(of), of[:2]), fmt.Sprint(maxLate, " [1 2]"))
	of = say(x, "a", false, maxLate+1)
	is(t, "entries", fmt.Sprint(len(of), of[:2]), fmt.Sprint(maxLate, " [1 3]"))

	fill(x.held, maxStreams-1, func(i int) session.Held { return session.Held{Address: word(i)} }, nil)
	for i, address := range lastAndMore() {
		is(t, address, len(say(x, address, true, 1)), 1-i)
	}
}

// Routes that listeners named once are remembered up to a bound. That there are others is
// remembered, too.
func TestFormerRoutesAreBounded(t *testing.T) {
	s := Subscription{Type: "LDS", former: former{names: make(map[string]struct{})}}
	fill(s.former.names, maxFormer-1, word, struct{}{})
	for i, name := range lastAndMore() {
		s.retire(referring("RDS", name))
		is(t, name, len(s.former.names), maxFormer)
		is(t, name+": lost", s.former.lost, i == 1)
	}
}

func TestNameListsAreBounded(t *testing.T) {
	for more, kept := range []bool{true, false} {
		l := newLists()
		l.bytes = maxNameBytes - len("a") - 16 + more
		is(t, fmt.Sprint("bytes, and ", more), l.keep([]string{"a"}) != nil, kept)
		l.bytes = 0
		is(t, fmt.Sprint("names, and ", more), l.keep(make([]string, maxNameList+more)) != nil, kept)
	}
}

// That a client may have been told that a resource is not there is no word of the server.
func TestMayBeGoneIsNotDenied(t *testing.T) {
	s, next := &Subscription{Stream: &Stream{}, Key: "CDS"}, &Subscription{Key: "CDS"}
	s.markGone("told", true)
	s.markGone("told", false)
	s.markGone("perhaps", false)
	next.Stream = &Stream{Previous: &Stream{Types: &Types{Subs: map[string]*Subscription{"CDS": s}}}}
	New(Options{}).recall(next, []string{"told", "perhaps", "fresh"})
	for _, of := range []*Subscription{s, next} {
		is(t, "told", fmt.Sprint(of.MayBeGone("told"), of.Denied("told")), "true true")
		is(t, "perhaps", fmt.Sprint(of.MayBeGone("perhaps"), of.Denied("perhaps")), "true false")
		is(t, "fresh", fmt.Sprint(of.MayBeGone("fresh"), of.Denied("fresh")), "false false")
	}
	k := New(Options{})
	k.Peers.forgotten = map[uint64]struct{}{}
	fill(k.Peers.forgotten, maxForgotten, counted[uint64], struct{}{})
	unsure := &Subscription{Stream: &Stream{}}
	k.recall(unsure, []string{"x"})
	is(t, "of one who may have been there", fmt.Sprint(unsure.MayBeGone("x"), unsure.Denied("x")), "true false")
}

// Of more clients than are remembered as forgotten, each may have been.
func TestForgottenClientsAreBounded(t *testing.T) {
	p := newPeers()
	p.forgotten = make(map[uint64]struct{})
	fill(p.forgotten, maxForgotten-1, counted[uint64], struct{}{})
	other := &Stream{Server: "other"}
	is(t, "one less than are remembered", p.hadMore(other), false)
	for _, name := range lastAndMore() {
		p.forget(&Stream{Server: name})
		is(t, name, len(p.forgotten), maxForgotten)
	}
	is(t, "as many as are remembered", p.hadMore(other), true)
}

func TestEndedStreamsOfAClientAreBounded(t *testing.T) {
	p, first := newPeers(), &Stream{Previous: &Stream{}}
	of := &peer{Ended: []*Stream{first}}
	p.ByKey[KeyOf(first)] = of
	for range maxEnded - 1 {
		p.ended(&Stream{})
	}
	is(t, "the first", of.Ended[0] == first && first.Previous != nil, true)
	p.ended(&Stream{})
	is(t, "the first of one more", of.Ended[0] == first || first.Previous != nil, false)
	is(t, "ended", len(of.Ended), maxEnded)
}

// A client that polls for other names each time forgets what it asked for first; one more
// client than there is room for is not followed.
func TestPollsAreBounded(t *testing.T) {
	k := New(Options{})
	by, types := poller{client: "a"}, newTypes()
	for i := range maxLists - 1 {
		k.pollers[by] = append(k.pollers[by], &polls{Types: types, key: pollKey{by, uint64(i)}, last: session.Seq(i + 1)})
	}
	first := k.pollers[by][0]
	for _, forgotten := range []bool{false, true} {
		k.newPolls(pollKey{by, 9}).last = maxLists
		is(t, "conversations of one", len(k.pollers[by]), maxLists)
		is(t, "the first is forgotten", !slices.Contains(k.pollers[by], first), forgotten)
	}
	for n, room := range map[int]bool{maxPolls - 1: true, maxPolls: false} {
		k := New(Options{})
		fill(k.polls, n, func(i int) pollKey { return pollKey{names: uint64(i)} }, nil)
		is(t, fmt.Sprint("room beside ", n), k.newPolls(pollKey{by, 9}) != nil, room)
	}
}

// Clients that poll and leave, one after the other: those that are gone take no room of
// those that come.
func TestPollsOfClientsThatLeft(t *testing.T) {
	k, last := New(Options{Past: DefaultPast}), (*polls)(nil)
	poll := func(client string, conn session.ConnID, name string) *polls {
		s := &Stream{Conn: conn, client: client, Method: xds.Method{Variant: xds.VariantREST, Path: "/v3/discovery:clusters"}}
		k.joinPolls(s, &decode.Message{Names: []string{name}}, session.Seq(conn))
		if s.polls == nil {
			t.Fatalf("the polls of client %s are none", client)
		}
		return s.polls
	}
	for i := range session.ConnID(maxPolls + 2) {
		last = poll(fmt.Sprint(i), i+1, "a")
		k.hangUp(last, i+1, "")
	}
	again := poll(fmt.Sprint(maxPolls+1), 1<<20, "a")
	is(t, "who comes back goes on", again == last, true)
	is(t, "polls of who is gone", k.gonePolls, maxPolls+1)
	k.hangUp(again, 1<<20, "")
	for i := range session.ConnID(maxLists + 2) { // what is forgotten for this is not forgotten twice
		k.hangUp(poll("one", 2<<20+i, word(int(i))), 2<<20+i, "")
	}
	k.past.budget = 0
	k.past.fit()
	is(t, "bytes of the past", k.past.used, 0)
	is(t, "polls", len(k.polls)+len(k.pollers)+k.gonePolls, 0)
	is(t, "forgotten", k.past.forgotten, maxPolls+2+maxLists)
}

func TestDepthOfATreeIsBounded(t *testing.T) {
	for depth, children := range map[int]int{maxTreeDepth - 1: 1, maxTreeDepth: 0} {
		s := &Subscription{Type: "LDS", Stream: &Stream{}}
		s.Have.put(referring("RDS", "r"))
		g := &grower{
			subs: map[string][]*Subscription{"LDS": {s}}, shown: make(map[typedName]bool), missing: make(map[typedName]*Node),
			states: make(map[*Subscription]states), carriers: make(map[*Subscription]carriers),
		}
		n := g.node("LDS", "by", depth)
		is(t, fmt.Sprint("children at depth ", depth), len(n.Children), children)
		is(t, fmt.Sprint("shown elsewhere at depth ", depth), n.Again, children == 0)
	}
}

// What is not accepted is forgotten where there is too much of it. Then it is known only
// of what is accepted later, up to the same bound.
func TestUnsettledResourcesAreBounded(t *testing.T) {
	u := unsettled{byName: make(map[string]*changes)}
	by := &Response{details: &details{}}
	fill(u.byName, maxUnsettled-1, word, nil)
	for i, want := range []int{maxUnsettled, 1} {
		u.add(by, lastAndMore()[i], nil, nil)
		is(t, "resources", len(u.byName), want)
		is(t, "unsure", u.unsure, i == 1)
	}
	u.sure = make(map[string]bool)
	fill(u.sure, maxUnsettled-1, word, true)
	for i, name := range lastAndMore() {
		by.Added = []*Resource{{Name: name}}
		u.accept(by, false)
		is(t, name, u.sure[name], i == 0)
	}
	for range maxChanges + 2 {
		u.add(by, "web", nil, nil)
	}
	is(t, "changes", len(u.byName["web"].list), maxChanges)
}

func TestUsedNoncesAreBounded(t *testing.T) {
	var u used
	for i := range uint64(MaxNonces) {
		is(t, fmt.Sprint("full with ", i), u.Full(), false)
		u.add(i)
	}
	is(t, "full", u.Full(), true)
	is(t, "the first", u.has(0), true)
	u.add(MaxNonces)
	is(t, "the first of one more", u.has(0), false)
	is(t, "nonces", len(u.ring), MaxNonces)
}

// Names that were given up are forgotten all at once, and a request that gives up more
// than are remembered is remembered in part.
func TestNamesGivenUpAreBounded(t *testing.T) {
	k, s := New(Options{}), &Subscription{Type: "CDS", Stream: &Stream{Types: newTypes()}, Dropped: make(map[string]dropped), gone: make(map[string]bool)}
	fill(s.Dropped, MaxDropped-1, word, dropped{})
	fill(s.gone, MaxDropped-1, word, true)
	for i, want := range []int{MaxDropped, 1} {
		name := lastAndMore()[i]
		k.drop(s, &Request{Removed: []string{name}})
		is(t, "given up "+name, len(s.Dropped), want)
		s.markGone(name, true)
		is(t, "gone "+name, s.Denied(name), i == 0)
		is(t, "may be gone", fmt.Sprint(s.MayBeGone(name), s.MayBeGone("any")), fmt.Sprint(true, i == 1))
	}
	many := &Request{}
	for i := range MaxDropped + 1 {
		many.Removed = append(many.Removed, word(i))
	}
	k.drop(s, many)
	is(t, "given up at once", len(s.Dropped), MaxDropped)
}

// Aliases are not learned without end, and those that are known go on.
func TestAliasesAreBounded(t *testing.T) {
	s := &Subscription{aliases: aliases{}}
	fill(s.aliases, MaxDropped-1, word, "r")
	s.Have.put(&Resource{Name: "a"})
	for i, name := range lastAndMore() {
		s.learnAliases(&decode.Message{Resources: []decode.Resource{{Name: "a", Aliases: []string{name, word(1)}}}})
		is(t, "aliases", len(s.aliases), MaxDropped)
		is(t, "given for "+name, s.Given(name) != nil, i == 0)
	}
	is(t, "given for one before", s.Given(word(1)) != nil, true)
	is(t, "given for another", s.Given(word(2)) != nil, false)
	is(t, "bytes", aliases{"ab": "c"}.bytes(), 67)
}

func TestStaticNotesOfARecordingAreBounded(t *testing.T) {
	e := session.Entry{Kind: session.KindNote, Note: StaticNote([]string{"a"})}
	for more, known := range []int{1, 0} {
		s := static{size: maxStatic - len(e.Note.Text) + more}
		s.note(&e)
		is(t, fmt.Sprint("names, and ", more), len(s.names), known)
	}
}
