package wire

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

var (
	wantFrames = flag.Int("frames", 200_000, "HTTP/2 frames of random conversation in TestTapTellsTheTruth")
	firstSeed  = flag.Uint64("seed", 1, "first seed of TestTapTellsTheTruth")
)

// collector is a Sink that keeps entries.
type collector struct{ entries []session.Entry }

func (c *collector) Append(e session.Entry) session.Seq {
	c.entries = append(c.entries, e)
	return session.Seq(len(c.entries))
}

// conversation lets two endpoints talk over a tap. Bytes are delivered in
// random pieces, and nothing is answered before it was delivered.
type conversation struct {
	rng            *rand.Rand
	client, server *endpoint
	tap            *Tap
	log            collector
	memory         *Memory
	now            time.Time
	ids            session.StreamID

	// what a byte count of the client's output opens, once delivered
	sent, delivered int
	opens           []struct{ at, id int }
	nextID          uint32
	nextPromise     uint32
}

func newConversation(seed uint64) *conversation {
	rng := rand.New(rand.NewPCG(seed, 99))
	c := &conversation{
		rng: rng, client: newEndpoint(session.Client, rng), server: newEndpoint(session.Server, rng),
		memory: NewMemory(1 << 30), now: time.Unix(1e9, 0), nextID: 1, nextPromise: 2,
	}
	c.sent = c.client.out.Len()
	c.tap = NewTap(Config{Conn: 1, Sink: &c.log, Memory: c.memory, NewStream: func() session.StreamID { c.ids++; return c.ids }})
	return c
}

// deliver hands some bytes of one side to the tap.
func (c *conversation) deliver(e *endpoint, all bool) {
	for e.out.Len() > 0 {
		n := 1 + c.rng.IntN(e.out.Len())
		if c.rng.IntN(4) == 0 {
			n = min(n, 1+c.rng.IntN(20))
		}
		c.now = c.now.Add(100 * time.Microsecond) // all in less than lingerTime
		c.tap.Feed(e.side, c.now, e.out.Next(n))
		if e == c.client {
			c.delivered += n
			for len(c.opens) > 0 && c.opens[0].at <= c.delivered {
				id := uint32(c.opens[0].id)
				c.opens = c.opens[1:]
				c.server.streams[id] = &endStream{id: id, grpc: c.client.streams[id].grpc}
			}
		}
		if !all {
			return
		}
	}
}

func (c *conversation) step() {
	before := c.client.out.Len()
	switch c.rng.IntN(12) {
	case 0:
		if len(c.client.streams) < 40 {
			c.client.openStream(c.nextID)
			c.opens = append(c.opens, struct{ at, id int }{c.sent + c.client.out.Len() - before, int(c.nextID)})
			c.nextID += 2
		}
	case 1, 2, 3:
		if s := pick(c.rng, c.client.streams); s != nil && !s.ended {
			c.client.stream(s)
		}
	case 4, 5, 6:
		if s := pick(c.rng, c.server.streams); s != nil && !s.ended {
			c.server.respond(s)
		}
	case 7:
		e := c.either()
		if s := pick(c.rng, e.streams); s != nil && !s.ended && c.rng.IntN(10) == 0 {
			e.rst(s)
		}
	case 8:
		c.either().noise()
	case 9:
		if s := pick(c.rng, c.server.streams); s != nil && !s.ended && c.rng.IntN(10) == 0 {
			c.promise(s)
		}
	}
	c.sent += c.client.out.Len() - before
	if c.rng.IntN(3) == 0 {
		c.deliver(c.either(), false)
	}
	c.retire()
}

// promise lets the server push a whole response.
func (c *conversation) promise(on *endStream) {
	id := c.nextPromise
	c.nextPromise += 2
	fields := []session.Field{{Name: ":method", Value: "GET"}, {Name: ":path", Value: "/pushed"}}
	c.server.writeHeaders(on.id, fields, false, id)
	c.server.log(event{kind: session.KindOpen, h2: id, headers: fields})
	c.server.streams[id] = &endStream{id: id}
}

func (c *conversation) either() *endpoint {
	if c.rng.IntN(2) == 0 {
		return c.client
	}
	return c.server
}

// retire forgets streams that both sides have ended, so that more can open.
func (c *conversation) retire() {
	for id, s := range c.client.streams {
		if peer := c.server.streams[id]; s.ended && peer != nil && peer.ended {
			delete(c.client.streams, id)
			delete(c.server.streams, id)
		}
	}
}

func pick(rng *rand.Rand, m map[uint32]*endStream) *endStream {
	if len(m) == 0 {
		return nil
	}
	ids := make([]uint32, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return m[ids[rng.IntN(len(ids))]]
}

// eventsOf are the entries of one side in the endpoint's words. Messages that
// are not whole are left out: an endpoint accounts for whole ones only.
func eventsOf(t *testing.T, entries []session.Entry, side session.Side) []event {
	var out []event
	for _, e := range entries {
		if e.Kind == session.KindNote {
			t.Fatalf("the tap gave up on a legal conversation: %+v", e.Note)
		}
		if e.Side != side {
			continue
		}
		ev := event{kind: e.Kind, h2: e.H2, headers: e.Headers}
		switch e.Kind {
		case session.KindMessage:
			if e.Message.Truncated {
				continue
			}
			ev.payload = string(e.Message.Data.Bytes())
			ev.enc = e.Message.Encoding
			if e.Message.Size != int64(len(ev.payload)) || e.Message.WireSize != e.Message.Size {
				t.Fatalf("sizes of %v are wrong: %+v", ev, e.Message)
			}
		case session.KindCancel:
			ev.code = e.Status.Reset
		case session.KindGoAway:
			ev.payload, ev.code = e.GoAway.Debug, e.GoAway.Code
		}
		out = append(out, ev)
	}
	return out
}

func compareAccounts(t *testing.T, seed uint64, side session.Side, got, want []event) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("seed %d: %s: entry %d is missing: %v", seed, side, i, want[i])
		case i >= len(want):
			t.Fatalf("seed %d: %s: entry %d was never sent: %v", seed, side, i, got[i])
		case got[i].kind != want[i].kind || got[i].h2 != want[i].h2 || got[i].payload != want[i].payload ||
			got[i].enc != want[i].enc || got[i].code != want[i].code || !slices.Equal(got[i].headers, want[i].headers):
			t.Fatalf("seed %d: %s: entry %d differs:\n got %v\nwant %v", seed, side, i, got[i], want[i])
		}
	}
}

// The entries equal what both endpoints logged themselves, over random legal
// conversations of all frame types in random pieces.
func TestTapTellsTheTruth(t *testing.T) {
	frames := 0
	for seed := *firstSeed; frames < *wantFrames; seed++ {
		c := newConversation(seed)
		for range 3000 {
			c.step()
		}
		c.deliver(c.client, true)
		c.deliver(c.server, true)
		open := 0
		for _, s := range c.tap.streams.open {
			if !s.over && !s.serverDone {
				open++
			}
		}
		n := len(c.log.entries)
		compareAccounts(t, seed, session.Client, eventsOf(t, c.log.entries, session.Client), c.client.account)
		compareAccounts(t, seed, session.Server, eventsOf(t, c.log.entries, session.Server), c.server.account)
		c.tap.End(session.Proxy, c.now, "over")
		if ends := eventsOf(t, c.log.entries[n:], session.Proxy); len(ends) != open {
			t.Fatalf("seed %d: %d streams were open, %d got an end", seed, open, len(ends))
		}
		if used := c.memory.Used(); used != 0 {
			t.Fatalf("seed %d: %d bytes of the budget were never given back", seed, used)
		}
		frames += c.client.frames + c.server.frames
	}
	t.Logf("%d frames", frames)
}
