package shadow

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay/standin"
	"github.com/xdsproxy/xdsproxy/session"
)

// newShadow is one that is at no recording, and where it tells something.
func newShadow(t *testing.T) (*shadow, *[]string) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	told := new([]string)
	s := &shadow{
		ctx: ctx, k: engine.New(engine.Options{}), streams: map[session.StreamID]*stream{}, pending: pending{}, masker: mask.New(),
		report: newReport(func(e Event) { *told = append(*told, e.Text) }), told: map[tellKey]*Difference{},
		targets: []*target{newTarget(Target{Name: "B", Dial: func(context.Context) (net.Conn, error) { return nil, errors.New("closed") }}, 0)},
		heard:   make(chan heard),
	}
	b := s.targets[0]
	t.Cleanup(func() { b.close(); s.legs.Wait() })
	return s, told
}

// asks lets a client of the recording ask for all clusters on a stream.
func (s *shadow) asks(id session.StreamID, node string) {
	data := (&request{url: clusters, node: lenField(1, []byte(node))}).encode()
	s.entry(&session.Entry{Kind: session.KindOpen, Conn: 1, Stream: id, Side: session.Client, Method: streamClusters})
	s.entry(&session.Entry{Kind: session.KindMessage, Conn: 1, Stream: id, Side: session.Client, Message: &session.Message{
		Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data)),
	}})
}

// So many streams are followed, whose nodes have so many bytes; others are left out, which
// is told.
func TestStreamsThatAreFollowed(t *testing.T) {
	const node = len("\x0a\x01n")
	for _, c := range []struct {
		of             string
		nodes, streams int
		left           bool
	}{
		{"bytes", maxNodes - node, 0, false},
		{"bytes", maxNodes - node + 1, 0, true},
		{"streams", 0, maxStreams - 1, false},
		{"streams", 0, maxStreams, true},
	} {
		s, told := newShadow(t)
		s.nodes = c.nodes
		for i := range c.streams {
			s.streams[session.StreamID(1000+i)] = nil
		}
		s.asks(1, "n")
		if st := s.streams[1]; st.left != c.left || (st.node == nil) != c.left || (s.sum.Skipped == 1) != c.left || (len(*told) == 1) != c.left {
			t.Errorf("%s: beside %d bytes and %d streams it is left out: %v, %q", c.of, c.nodes, c.streams, st.left, *told)
		}
	}
}

// So many clients are counted, those of a shadow and those that are served. That there
// are more is told.
func TestClientsThatAreCounted(t *testing.T) {
	for n, want := range map[int]string{maxStreams - 1: "", maxStreams: "more than 16384 clients: the others are not counted"} {
		s, told := newShadow(t)
		s.asks(1, "n")
		p := &pushes{report: newReport(s.to), live: true, own: engine.New(engine.Options{}), streams: map[session.StreamID]*played{1: {client: "recorded"}}}
		for i := range n {
			s.clients[fmt.Sprint(i)], p.clients[fmt.Sprint(i)] = true, true
		}
		s.targets = nil
		s.follow(s.streams[1])
		p.welcome(&guest{node: "n"})
		if s.sum.Streams != 1 || len(s.clients) != maxStreams || len(p.clients) != maxStreams {
			t.Errorf("beside %d clients: %d and %d are counted", n, len(s.clients), len(p.clients))
		}
		if got := strings.Count(strings.Join(*told, "\n"), "more than"); got != 2*min(len(want), 1) || !strings.Contains(strings.Join(*told, "\n"), want) {
			t.Errorf("beside %d clients: %q", n, *told)
		}
	}
	r := newReport(nil)
	for _, last := range []string{"a", "b", "b"} {
		r.meet(strings.Repeat("x", 1<<16) + last)
	}
	for client := range r.clients {
		if len(r.clients) != 2 || len(client) > 1<<10 {
			t.Errorf("of %d clients with long names one takes %d bytes", len(r.clients), len(client))
		}
	}
}

// So many streams wait for the first answer of a target at one time. The next one waits
// in line.
func TestStreamsThatAreOpening(t *testing.T) {
	s, _ := newShadow(t)
	s.o.Idle = time.Hour
	s.asks(1, "n")
	b := s.targets[0]
	for range maxOpening - 1 {
		b.opening = append(b.opening, &leg{state: open, begun: time.Now()})
	}
	for range 2 {
		b.line = append(b.line, &leg{at: b, of: s.streams[1]})
	}
	s.admit(time.Now())
	if len(b.opening) != maxOpening || len(b.line) != 1 {
		t.Errorf("%d are asked, %d wait", len(b.opening), len(b.line))
	}
}

// Of what a target gave so many responses wait to be answered, the latest ones.
func TestResponsesThatWait(t *testing.T) {
	s, _ := newShadow(t)
	b := s.targets[0]
	a := &asked{pending: make([]reply, maxPending-1)}
	a.pending[0].nonce = "first"
	l := &leg{at: b, of: &stream{id: 9}, state: open, id: 1, types: map[string]*asked{xds.TypeKey(clusters): a}}
	b.step(&session.Entry{Kind: session.KindOpen, Conn: 1, Stream: 1, Side: session.Client, Method: streamClusters})
	for _, first := range []string{"first", ""} {
		s.hear(heard{leg: l, id: 1, data: response("1", "a")})
		if len(a.pending) != maxPending || a.pending[0].nonce != first || a.pending[maxPending-1].nonce != "1" {
			t.Errorf("%d wait, the first is %q", len(a.pending), a.pending[0].nonce)
		}
	}
}

// A content of so many bytes is kept, and no larger one.
func TestContentsThatAreKept(t *testing.T) {
	for more, kept := range []bool{true, false} {
		b := newTarget(Target{}, 0)
		b.step(&session.Entry{Kind: session.KindOpen, Conn: 1, Stream: 1, Side: session.Client, Method: streamClusters})
		data := response("1", "a")
		n := b.step(&session.Entry{Kind: session.KindMessage, Conn: 1, Stream: 1, Side: session.Server, Message: &session.Message{
			Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data)),
		}}).Response
		n.Message.Resources[0].Body = make([]byte, mostBodies/8+more)
		var s bodies
		s.see(n)
		if _, is := s.get(sideOf(n.Resolved[0])); is != kept {
			t.Errorf("%d bytes beyond the bound: it is kept: %v", more, is)
		}
	}
}

// So many fields are noise.
func TestFieldsThatAreNoise(t *testing.T) {
	s, told := newShadow(t)
	s.targets = append(s.targets, newTarget(Target{Name: "A2"}, 1))
	for i := range maxNoise - 1 {
		s.noise[fmt.Sprint(i)] = true
	}
	one := append(lenField(1, []byte("a")), lenField(28, []byte("x"))...)
	s.learn("CDS", body{clusters, one}, body{clusters, lenField(1, []byte("b"))}, true) // a name, and a name for statistics
	if len(s.noise) != maxNoise || len(*told) != 1 {
		t.Errorf("%d fields are noise, told is %q", len(s.noise), *told)
	}
}

// So many differences are listed, and the others counted, which is told once.
func TestDifferencesThatAreListed(t *testing.T) {
	s, told := newShadow(t)
	for range maxTold - 1 {
		s.list = append(s.list, &Difference{})
	}
	for n, want := range []string{"B does not give it", "more than 1000 differences", ""} {
		*told = nil
		l := &leg{at: s.targets[0], of: &stream{id: 1}}
		s.decide(l, &likeness{key: "k", typ: "CDS"}, fmt.Sprint(n), &unlike{leg: l, a: side{There: true}}, time.Now())
		if got := strings.Join(*told, "\n"); !strings.Contains(got, want) || (got == "") != (want == "") || s.sum.More != n || len(s.list) != maxTold {
			t.Errorf("%d beyond the bound: %q, %d are listed and %d more", n, got, len(s.list), s.sum.More)
		}
	}
}

// So many verdicts wait for those of recorded clients, the latest ones; so many that
// differ are listed, and the others counted.
func TestVerdictsThatWait(t *testing.T) {
	var told []string
	p := &pushes{report: newReport(func(e Event) { told = append(told, e.Text) }), open: make([]verdictOn, mostOpen-1)}
	p.open[0].seq = 5
	p.given.Put(7, given{seq: 9}, 1, 1000)
	for more, oldest := range []session.Seq{5, 0} {
		p.answered(&guest{}, &engine.Change{Answers: 7, Waited: 1, What: engine.ACK, Message: &decode.Message{}})
		if len(p.open) != mostOpen || p.open[0].seq != oldest || len(told) != more {
			t.Errorf("%d wait, the oldest for %d; told is %q", len(p.open), p.open[0].seq, told)
		}
	}
	p.list = make([]*Difference, maxTold-1)
	for more := range 2 {
		p.compare(&verdictOn{guest: &guest{}, word: engine.NACK}, engine.ACK)
		if len(p.list) != maxTold || p.sum.More != more || len(told) != 2 {
			t.Errorf("%d are listed and %d more; told is %q", len(p.list), p.sum.More, told)
		}
	}
}

// A target that does not take what it is asked is skipped, and asked again from where it
// stands.
func TestTargetThatTakesNothing(t *testing.T) {
	s, told := newShadow(t)
	s.asks(1, "n")
	b := s.targets[0]
	b.step(&session.Entry{Kind: session.KindOpen, Conn: 1, Stream: 1, Side: session.Client, Method: streamClusters})
	ended := false
	l := &leg{at: b, of: s.streams[1], state: open, id: 1, out: make(chan []byte, 1), cancel: func() { ended = true }}
	if s.say(l, &request{url: clusters}); len(l.out) != 1 || l.state != open || ended || s.sum.Skipped != 0 || len(*told) > 0 {
		t.Fatalf("it takes one: %+v, %q", s.sum, *told)
	}
	for range 2 { // the second time it is not open any more
		s.say(l, &request{url: clusters})
		if l.state != waiting || !ended || len(b.line) != 1 || s.sum.Skipped != 1 || len(*told) != 1 || !strings.HasPrefix((*told)[0], "B does not take what it is asked: ") {
			t.Errorf("it takes no more: %+v, %d wait, %q", s.sum, len(b.line), *told)
		}
	}
}

// A client that does not read what it is given loses its stream.
func TestGuestThatReadsNothing(t *testing.T) {
	var told []string
	p := &pushes{report: newReport(func(e Event) { told = append(told, e.Text) }), own: engine.New(engine.Options{}), renew: standin.New().Renew}
	g := &guest{id: 1, node: "slow", method: xds.LookupMethod(streamClusters), out: make(chan []byte, 1)}
	p.guests = map[session.StreamID]*guest{1: g}
	p.step(g, session.Entry{Kind: session.KindOpen, Side: session.Client, Method: streamClusters})
	if p.give(g, response("1", "a"), given{}); g.gone || p.sum.Answers != 1 || p.sum.Skipped != 0 || len(told) > 0 {
		t.Fatalf("it is given one: %+v, %q", p.sum, told)
	}
	if p.give(g, response("2", "a"), given{}); !g.gone || len(p.guests) > 0 || p.sum.Answers != 1 || p.sum.Skipped != 1 || len(told) != 1 || told[0] != `"slow" reads too slowly: its stream is ended` {
		t.Errorf("it reads none: %+v, %q", p.sum, told)
	}
	<-g.out
	if _, more := <-g.out; more {
		t.Error("its stream goes on")
	}
}

// A stream that ends before its target was asked at all was skipped; one that was asked,
// or was only to tell noise, was not.
func TestStreamsThatEndInLine(t *testing.T) {
	for _, c := range []struct {
		state   state
		opens   int
		index   int
		skipped uint64
	}{{waiting, 0, 0, 1}, {waiting, 1, 0, 0}, {waiting, 0, 1, 0}, {open, 0, 0, 0}, {left, 0, 0, 0}} {
		s, told := newShadow(t)
		s.asks(1, "n")
		at := s.targets[0]
		at.index = c.index
		l := &leg{at: at, of: s.streams[1], state: c.state, opens: c.opens, id: 1, cancel: func() {}}
		s.streams[1].legs = []*leg{nil, l}
		s.over(1)
		if uint64(s.sum.Skipped) != c.skipped || uint64(len(*told)) != c.skipped || l.state != left || len(s.streams) > 0 || s.nodes != 0 {
			t.Errorf("%+v: %+v, %q", c, s.sum, *told)
		}
	}
}

// Of the streams that are open when the present is reached those are followed of which it
// is known who asks; that others ask, too, is told.
func TestStreamsThatAreOpenAtThePresent(t *testing.T) {
	for name, c := range map[string]struct {
		known, nodeless, silent, begun int
		want                           []string
	}{
		"none":                  {want: []string{"following 0 open streams"}},
		"one":                   {known: 1, want: []string{"following 1 open streams"}},
		"some":                  {known: 3, silent: 2, want: []string{"following 3 open streams"}},
		"nobody knows who asks": {known: 1, nodeless: 1, silent: 1, want: []string{"following 1 open streams", "1 open streams began before the recording"}},
		"began before":          {begun: 1, nodeless: 2, want: []string{"following 0 open streams", "3 open streams began before the recording"}},
	} {
		s, told := newShadow(t)
		id := session.StreamID(0)
		says := func(n int, opens bool, q *request) {
			for range n {
				id++
				if opens {
					s.entry(&session.Entry{Kind: session.KindOpen, Conn: 1, Stream: id, Side: session.Client, Method: streamClusters})
				}
				if q != nil {
					data := q.encode()
					s.entry(&session.Entry{Kind: session.KindMessage, Conn: 1, Stream: id, Side: session.Client, Message: &session.Message{
						Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data)),
					}})
				}
			}
		}
		says(c.known, true, &request{url: clusters, node: lenField(1, []byte("n"))})
		says(c.nodeless, true, &request{url: clusters})
		says(c.silent, true, nil)
		says(c.begun, false, &request{url: clusters})
		s.begin()
		got := *told
		for i := range got {
			got[i], _, _ = strings.Cut(strings.ReplaceAll(got[i], ": their", "; their"), ";")
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") || s.following() != c.known {
			t.Errorf("%s: %q", name, got)
		}
	}
}
