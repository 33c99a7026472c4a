package engine

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/session"
)

// A resource of a response is found by its name, one of a xdstp name in whatever order
// its parameters stand.
func TestResourceOfAResponse(t *testing.T) {
	const cluster = "xdstp://a/envoy.config.cluster.v3.Cluster/c?x=1&y=2"
	s := newScript(t)
	s.line("C> type=CDS V= N= R=[] node=n1")
	c := s.line("S< type=CDS V=1 N=a res=[c1,c2," + cluster + "]")
	for name, want := range map[string]string{
		"c1": "c1", "c2": "c2", cluster: cluster, "xdstp://a/envoy.config.cluster.v3.Cluster/c?y=2&x=1": cluster,
		"c": "", "": "", "xdstp://a/envoy.config.cluster.v3.Cluster/c": "",
	} {
		got := ""
		if r := c.Resource(name); r != nil {
			got = r.Name
		}
		is(t, name, got, want)
	}
	is(t, "of no message", (&Change{}).Resource("c1") == nil, true)
}

// What is remembered of a client is the same on each of its streams, and of one that is
// not known it is nothing.
func TestRememberedOfAClient(t *testing.T) {
	s := newScript(t)
	s.line("C> type=CDS V= N= R=[] node=n1")
	s.open(2, adsMethod)
	s.line("C> type=LDS V= N= R=[] node=n1")
	s.open(3, adsMethod)
	s.line("C> type=LDS V= N= R=[] node=n2")
	k := s.tracker
	of := k.Remembered(k.Streams[1])
	is(t, "one client", k.Remembered(k.Streams[2]) == of, true)
	is(t, "another", k.Remembered(k.Streams[3]) == of, false)
	is(t, "nobody", *k.Remembered(&Stream{account: "n3"}) == nil, true)
	for client, want := range map[string][]string{"n1": {"CDS", "LDS"}, "n2": {"LDS"}, "n3": nil} {
		var got []string
		for s := range k.TypesOfClient(client) {
			got = append(got, s.Type)
		}
		slices.Sort(got)
		is(t, "types of "+client, fmt.Sprint(got), fmt.Sprint(want))
	}
}

// A type that another stream took over since is not let go with the one before.
func TestWhatAStreamLeaves(t *testing.T) {
	old, last := &Subscription{Key: "CDS"}, &Subscription{Key: "CDS"}
	c := &client{left: map[string]left{"CDS": {status: TypeStatus{Version: "1"}, sub: last}}}
	for of, kept := range map[*Subscription]bool{old: true, {Key: "LDS"}: true} {
		c.let(of)
		is(t, "what an older one left", c.left["CDS"].sub == last, kept)
	}
	c.let(last)
	is(t, "what the last one left", c.left["CDS"].sub == nil, true)
	is(t, "where it stood", c.left["CDS"].status.Version, "1")
	is(t, "types", len(c.left), 1)
}

// Where only envelopes are read, names and resources are not, and what is said of the
// conversation is the same. A message of another service is read in full.
func TestEnvelopes(t *testing.T) {
	for _, envelopes := range []bool{false, true} {
		s := newScript(t)
		s.tracker = New(Options{Envelopes: envelopes})
		names := func(c Change) int { return len(c.Message.Names) + len(c.Message.Resources) }
		c := s.line("C> type=CDS V= N= R=[c1,c2] node=n1")
		is(t, "client", c.Client, "n1")
		is(t, "names", names(c), map[bool]int{false: 2, true: 0}[envelopes])
		c = s.line("S< type=CDS V=1 N=a res=[c1,c2]")
		is(t, "type", c.Type, "CDS")
		is(t, "resources", names(c), map[bool]int{false: 2, true: 0}[envelopes])
		for line, want := range map[string]string{"C> type=CDS V=1 N=a R=[c1,c2]": ACK, "C> type=CDS V= N=a R=[c1,c2] err=no": NACK} {
			other := newScript(t)
			other.tracker = New(Options{Envelopes: envelopes})
			other.line("C> type=CDS V= N= R=[c1,c2] node=n1")
			other.line("S< type=CDS V=1 N=a res=[c1,c2]")
			c := other.line(line)
			is(t, line, c.What, want)
			is(t, "an error", c.Message.Error != nil, want == NACK)
			is(t, "a node", c.Message.Node != nil, false)
		}
		s.open(2, "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats")
		c = s.step(message(2, session.Client, []byte(lenField(1, lenField(1, "n2")))))
		is(t, "client of another service", c.Client, "n2")
	}
}

// A delta client may accept a response that is no longer known in detail: what it had, and
// nothing else had since, is accepted with it.
func TestAcceptedLate(t *testing.T) {
	s := newScript(t)
	s.line("D> type=CDS N= sub=[*] node=n1")
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.line("d< type=CDS N=" + name + " res=[" + name + "]")
	}
	of := s.tracker.Streams[1].Sub("CDS")
	offered := func() string { return fmt.Sprint(slices.Sorted(maps.Keys(maps.Collect(of.Offered())))) }
	is(t, "offered", offered(), "[a b c d e]")
	s.line("D> type=CDS N=b")
	is(t, "the second is accepted", offered(), "[a c d e]")
	s.line("D> type=CDS N=a")
	is(t, "the first is accepted", offered(), "[c d e]")
	s.line("D> type=CDS N=e")
	is(t, "the last is accepted", offered(), "[c d]")
	is(t, "unsure", of.Unsure(), false)
}

// What has no name is told apart by what it is, one after the other.
func TestRefusedWithoutNames(t *testing.T) {
	of := func(contents ...uint64) refused {
		n := &Response{details: &details{}}
		for _, c := range contents {
			n.Nameless = append(n.Nameless, &Content{raw: [2]uint64{c}})
		}
		return refusedOf(n)
	}
	for _, other := range [][]uint64{{3, 4}, {4, 3}, {3}, {4}, {3, 5}, {5, 4}, nil} {
		is(t, fmt.Sprint(other), of(other...) == of(3, 4), slices.Equal(other, []uint64{3, 4}))
	}
}

// A client that asks for more names than there is room for is followed no more, and with
// each such list less is known. That nothing is asked for needs no room.
func TestNoRoomForNames(t *testing.T) {
	k := New(Options{})
	k.lists.bytes = maxNameBytes + 1
	s := &Subscription{Type: "CDS", Stream: &Stream{Types: newTypes()}}
	for _, c := range []struct {
		names  []string
		losses int
	}{{nil, 1}, {nil, 1}, {[]string{"a"}, 2}, {nil, 2}, {[]string{"a", "b"}, 3}} {
		k.wantSotw(s, &Request{Message: &decode.Message{Kind: decode.SotwRequest, Names: c.names}}, &Change{}, false)
		is(t, fmt.Sprint("lost with ", c.names), s.Losses, c.losses)
		is(t, "names", s.Names.Len(), len(c.names))
	}
	for room, bytes := range map[bool]int{true: 0, false: maxNameBytes + 1} {
		for _, n := range []int{64, 65} {
			k := New(Options{})
			k.lists.bytes = bytes
			s, r := &Subscription{Type: "CDS", Stream: &Stream{Types: newTypes()}}, &Request{Message: &decode.Message{Kind: decode.DeltaRequest}}
			for i := range n {
				r.Message.Subscribe = append(r.Message.Subscribe, word(i))
			}
			k.wantDelta(s, r, &Change{}, true)
			is(t, fmt.Sprint("names of delta, with room ", room), s.Names.Len(), n)
			is(t, "shared", s.Names.base != nil, room && n > 64)
			is(t, "added", len(r.Added), n)
		}
	}
}

// What refers to a collection refers to all that is in it, whatever parameters its own
// node has added, and what names one resource refers to no collection.
func TestCollections(t *testing.T) {
	const root = "xdstp://a/envoy.config.cluster.v3.Cluster"
	for _, c := range []struct {
		typ, ref, name string
		is             bool
	}{
		{"SRDS", "", "any", true},
		{"VHDS", "r1", "r1/host", true},
		{"VHDS", "r1", "r10/host", false},
		{"VHDS", "r1", "r1", false},
		{"CDS", root + "/*", root + "/web", true},
		{"CDS", root + "/*", root + "/web?zone=a", true},
		{"CDS", root + "/*", root + "/shop/web", false},
		{"CDS", root + "/*?zone=a", root + "/web?zone=a", true},
		{"CDS", root + "/*?zone=a", root + "/web?zone=b", false},
		{"CDS", root + "/*?zone=a", root + "/web", false},
	} {
		among := Collection(inspect.Ref{Type: c.typ, Name: c.ref})
		if among == nil {
			t.Fatalf("%s of %s is no collection", c.ref, c.typ)
		}
		is(t, c.name+" in "+c.ref, among(c.name), c.is)
	}
	for _, ref := range []inspect.Ref{{Type: "CDS", Name: "web"}, {Type: "CDS"}, {Type: "SRDS", Name: "s"}, {Type: "RDS", Name: root + "/web"}} {
		is(t, fmt.Sprint(ref, " is a collection"), Collection(ref) != nil, false)
	}
}

// A client that polls for more lists of names than are told apart loses the first of them:
// its connection, its names and what was known of its type.
func TestPollsThatAreForgotten(t *testing.T) {
	for _, node := range []string{"n1", ""} {
		s := newScript(t)
		poll := func(id session.StreamID, name string) {
			s.step(session.Entry{
				Kind: session.KindOpen, Side: session.Client, Stream: id, Method: "/v3/discovery:endpoints",
				Headers: []session.Field{{Name: "content-type", Value: "application/json"}},
			})
			s.step(message(id, session.Client, []byte(`{"node":{"id":"`+node+`"},"resource_names":["`+name+`"]}`)))
			s.step(message(id, session.Server, []byte(`{"version_info":"1","resources":[]}`)))
			s.step(session.Entry{Kind: session.KindTrailer, Side: session.Server, Stream: id})
		}
		k := s.tracker
		poll(1, "a")
		first := k.conns[1].polls[0]
		of, by := first.of, first.key.poller
		is(t, "it is a client's", of != nil, node != "")
		for i := range uint64(maxLists - 1) { // as many others as there is room for, all later
			k.pollers[by] = append(k.pollers[by], &polls{Types: newTypes(), key: pollKey{by, i}, last: 1 << 40})
		}
		bytes := k.lists.bytes
		poll(2, "long")
		is(t, "conversations", len(k.pollers[by]), maxLists)
		is(t, "of the connection", len(k.conns[1].polls), 1)
		is(t, "the first is among them", k.conns[1].polls[0] == first || k.polls[first.key] != nil, false)
		is(t, "bytes of names", k.lists.bytes, bytes-len("a")+len("long"))
		if of != nil {
			is(t, "conversations of the client", len(of.polls), 1)
		}
		// One of whose connections is not remembered is forgotten all the same.
		second := k.conns[1].polls[0]
		second.conns[9] = struct{}{}
		k.forgetPolls(second)
		is(t, "conversations", len(k.pollers[by]), maxLists-1)
		is(t, "of the connection", len(k.conns[1].polls), 0)
		if of != nil {
			is(t, "conversations of the client", len(of.polls), 0)
		}
	}
}
