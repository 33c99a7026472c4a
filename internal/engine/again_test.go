package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	scripts "github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/session"
)

// played is an Engine that has seen a conversation.
func played(t *testing.T, text string) *Engine {
	t.Helper()
	s, err := scripts.Parse("test.xds", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	k := New(Options{})
	for e := range s.Entries() {
		k.Step(&e)
	}
	return k
}

// A stream reconnects one that had ended before it was opened, and which no other one
// reconnects.
func TestWhichStreamIsResumed(t *testing.T) {
	day := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
	old := func(ended time.Time, at session.Seq, resumed bool) *Stream {
		return &Stream{Types: newTypes(), EndedAt: ended, endSeq: at, resumed: resumed}
	}
	s := &Subscription{Key: "CDS", Type: "CDS"}
	opened := &Stream{Types: newTypes(), Opened: day, OpenAt: 10, Method: played(t, "C> type=CDS V= N= R=[] node=n1\n").Streams[1].Method}
	for _, c := range []struct {
		name string
		old  *Stream
		want bool
	}{
		{"just before", old(day, 9, false), true},
		{"by the entry that opens it", old(day, 10, false), false},
		{"after it", old(day, 11, false), false},
		{"later", old(day.Add(1), 9, false), false},
		{"earlier", old(day.Add(-time.Hour), 1, false), true},
		{"and is resumed", old(day, 9, true), false},
	} {
		is(t, "one that ended "+c.name, (&peer{Ended: []*Stream{c.old}}).resumedBy(opened, s, nil) == c.old, c.want)
	}
	first, last := old(day, 8, false), old(day, 9, false)
	is(t, "the latest", (&peer{Ended: []*Stream{first, last}}).resumedBy(opened, s, nil) == last, true)
}

// A nonce of a stream before is one of the same type, if that had it, and else of another.
func TestOriginOfANonceOfTwoTypes(t *testing.T) {
	k := played(t, `C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1]
C> type=LDS V= N= R=[]
S< type=LDS V=1 N=a res=[l1]
C> type=LDS V=1 N=a R=[]
-- server-end code=14
-- stream 2
C> type=CDS V= N= R=[] node=n1
C> type=LDS V= N= R=[]
C> type=EDS V= N= R=[c1]
`)
	for typ, want := range map[string]string{"CDS": "CDS", "LDS": "LDS", "EDS": "CDS"} {
		of, at, never := k.Origin(k.Streams[2].Sub(typ), "a")
		if of == nil || of.Type != want || of.Stream.ID != 1 || at == 0 || never {
			t.Errorf("for %s it is of %+v, entry %d, never %v", typ, of, at, never)
		}
		of, at, never = k.Origin(k.Streams[2].Sub(typ), "b")
		if of != nil || at != 0 || !never {
			t.Errorf("for %s one that was never sent is of %+v, entry %d, never %v", typ, of, at, never)
		}
	}
}

// A client that says by its version what it has is known to have accepted that, however
// long a version is.
func TestAcceptedOfALongVersion(t *testing.T) {
	for size, has := range map[int]string{3: "a", maxKey: "a", maxKey + 1: "a", 2 * maxKey: "a", maxKey + 2: "b"} {
		version := strings.Repeat("a", size)
		k := played(t, fmt.Sprintf(`C> type=CDS V= N= R=[] node=n1
S< type=CDS V=%s N=a res=[c1]
C> type=CDS V=%[1]s N=a R=[]
-- server-end code=14
-- stream 2
C> type=CDS V=%s N= R=[] node=n1
`, version, strings.Repeat(has, size)))
		last, none := k.Streams[2].Sub("CDS").accepted()
		is(t, fmt.Sprintf("with a version of %d %s something was accepted", size, has), last != 0, has == "a")
		is(t, "it is known that there was none", none, false)
	}
}

// A delta client says of each resource which version it has: as it was sent last, or as it
// had accepted it before. Of any other the content is not known.
func TestWhatADeltaClientBrings(t *testing.T) {
	for version, known := range map[string]bool{"1": true, "2": true, "3": false} {
		k := played(t, `D> type=CDS sub=[*] node=n1
d< type=CDS N=a res=[c1@1,c2@1]
D> type=CDS N=a
d< type=CDS N=b res=[c1@2]
D> type=CDS N=b err="no"
-- server-end code=14
-- stream 2
D> type=CDS sub=[*] node=n1 init={c1:`+version+`}
`)
		it := k.Streams[2].Sub("CDS").Have.Get("c1")
		is(t, "version "+version, it.Version, version)
		is(t, "the content of version "+version+" is known", it.Content != nil, known)
	}
}

// What a client brings of a type is from a stream that is not known, if none of before had
// the type.
func TestWhatIsOfAStreamThatIsNotKnown(t *testing.T) {
	had := &Stream{Types: newTypes()}
	had.Subs["RDS"] = &Subscription{}
	for name, c := range map[string]struct {
		before *Stream
		lacks  bool
	}{"no stream": {nil, true}, "one without the type": {&Stream{Types: newTypes()}, true}, "one with the type": {had, false}} {
		s := &Subscription{Key: "RDS", Stream: &Stream{Previous: c.before}}
		is(t, name+", and nothing is brought", s.lacksPast(), false)
		s.Initial = map[string]string{}
		is(t, name+", and nothing is said", s.lacksPast(), false)
		s.Initial["r"] = "1"
		is(t, name+", and versions are said", s.lacksPast(), c.lacks)
		s.Initial, s.announced = nil, true
		is(t, name+", and one version is said", s.lacksPast(), c.lacks)
	}
}

// A client is forgotten with its last stream, the first one that there was, too.
func TestForgottenClientsLeaveTheOrder(t *testing.T) {
	of := func(id string) *Stream { return &Stream{Node: &decode.Node{ID: id}, Types: newTypes()} }
	p, streams := newPeers(), map[string]*Stream{}
	for _, id := range []string{"a", "b", "c"} {
		streams[id] = of(id)
		p.joined(streams[id], &Subscription{}, nil)
		p.ended(streams[id])
	}
	second := of("c")
	p.joined(second, &Subscription{}, nil)
	for _, c := range []struct{ gone, left string }{{"a", "b c"}, {"c", "b c"}, {"b", "c"}} {
		p.forget(streams[c.gone])
		var left []string
		for _, key := range p.Order {
			left = append(left, key.id)
		}
		is(t, "left without "+c.gone, strings.Join(left, " "), c.left)
		is(t, "clients", len(p.ByKey), len(left))
	}
	p.ended(second)
	p.forget(second)
	is(t, "clients in the end", len(p.ByKey)+len(p.Order), 0)
}

// Streams in a row count as refused that a server ended soon, before any response, and with
// a status that says more than that it is not there.
func TestRefusals(t *testing.T) {
	day := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
	status := func(code int32) *session.Status { return &session.Status{Code: code} }
	for name, c := range map[string]struct {
		stream Stream
		by     session.Side
		status *session.Status
		after  time.Duration
		want   int // of 3
	}{
		"soon":                           {Stream{}, session.Server, status(7), time.Second, 4},
		"with OK":                        {Stream{}, session.Server, status(0), time.Second, 4},
		"just soon enough":               {Stream{}, session.Server, status(7), refusedWithin, 4},
		"too late":                       {Stream{}, session.Server, status(7), refusedWithin + 1, 0},
		"as not available":               {Stream{}, session.Server, status(14), time.Second, 0},
		"with the status after it":       {Stream{}, session.Server, status(15), time.Second, 4},
		"with no status that is known":   {Stream{}, session.Server, status(-1), time.Second, 0},
		"without a status":               {Stream{}, session.Server, nil, time.Second, 0},
		"by the client":                  {Stream{}, session.Client, status(7), time.Second, 0},
		"after a response":               {Stream{Responses: 1}, session.Server, status(7), time.Second, 3},
		"and was not seen as a whole":    {Stream{Lost: true}, session.Server, status(7), time.Second, 3},
		"after a response, not all seen": {Stream{Lost: true, Responses: 1}, session.Server, status(7), time.Second, 3},
	} {
		st := c.stream
		st.Opened = day
		p, of := newPeers(), &peer{Refused: 3}
		p.ByKey[KeyOf(&st)] = of
		p.refusal(&st, &session.Entry{Side: c.by, Status: c.status}, day.Add(c.after))
		is(t, "a stream that ended "+name, of.Refused, c.want)
	}
	p := newPeers()
	p.refusal(&Stream{}, &session.Entry{}, day)
	is(t, "of nobody", len(p.ByKey), 0)
}
