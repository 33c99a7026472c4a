package history

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

func is[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestBounds(t *testing.T) {
	h := New(Selection{Name: "r"}, nil)
	for i := range maxHoldings - 1 {
		h.holdings[clientType{client: strconv.Itoa(i)}] = &holding{last: &Version{Last: session.Seq(i)}}
	}
	for i, name := range []string{"last", "one more"} {
		is(t, "holding "+name, h.newHolding(clientType{client: name}) != nil, i == 0)
		is(t, "beyond "+name, h.Beyond(), i)
	}
	h.holdings[clientType{client: "last"}].last = &Version{}
	for i := range 16 {
		h.holdings[clientType{client: strconv.Itoa(i)}].over = true
	}
	is(t, "none that was looked for a while ago", h.newHolding(clientType{client: "new"}) != nil, false)
	h.Step(&session.Entry{Kind: session.KindDisconnect, Conn: 7}, &engine.Change{})
	is(t, "in place of who is gone", h.newHolding(clientType{client: "new"}) != nil, true)
	is(t, "holdings", len(h.holdings), maxHoldings-1)
	for i, there := range map[int]bool{0: false, 1: false, 2: true, 15: true, 16: true} {
		is(t, fmt.Sprint("holding ", i), h.holdings[clientType{client: strconv.Itoa(i)}] != nil, there)
	}

	for i := range maxHashes - 1 {
		h.hashes[rawHash{1, byte(i), byte(i >> 8)}] = [16]byte{}
	}
	for i, want := range []int{maxHashes, 1} {
		h.hashOf(rawHash{2, byte(i)}, &decode.Resource{}, false)
		is(t, "hashes", len(h.hashes), want)
	}

	h.versions = make([]*Version, maxVersions-1)
	for _, forgotten := range []int{0, maxVersions / 8} {
		h.version(&session.Entry{}, &engine.Change{Message: &decode.Message{}}, &holding{}, clientType{})
		is(t, "forgotten", h.Forgotten(), forgotten)
		is(t, "versions", len(h.versions), maxVersions-forgotten+min(forgotten, 1))
	}
}

// Responses wait for their answer until twice as many others do. Then one half is
// forgotten, the older one.
func TestResponsesThatWaitAreBounded(t *testing.T) {
	h := New(Selection{Name: "r"}, nil)
	for seq := range session.Seq(2*maxUnjudged - 1) {
		h.await(seq, pushed{})
	}
	is(t, "that wait", len(h.open), 2*maxUnjudged-1)
	delete(h.open, 0) // was answered
	h.await(2*maxUnjudged, pushed{})
	is(t, "that wait", len(h.open), maxUnjudged)
	is(t, "in order", len(h.order), maxUnjudged)
	_, first := h.open[maxUnjudged-1]
	_, next := h.open[maxUnjudged]
	is(t, "the oldest", fmt.Sprint(first, next), "false true")
}

// The end of a stream ends what was sent on it, and that of a connection what was sent on
// any of its streams.
func TestWhatIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		entry session.Entry
		ended bool
		over  string
	}{
		"a stream":              {session.Entry{Kind: session.KindTrailer, Conn: 1, Stream: 1}, true, "true false false"},
		"another message of it": {session.Entry{Kind: session.KindTrailer, Conn: 1, Stream: 1}, false, "false false false"},
		"a connection":          {session.Entry{Kind: session.KindDisconnect, Conn: 1}, false, "true true false"},
		"one that has none":     {session.Entry{Kind: session.KindDisconnect, Conn: 3}, false, "false false false"},
	} {
		h := New(Selection{Name: "r"}, nil)
		var of []*holding
		for i, conn := range []session.ConnID{1, 1, 2} {
			l := &holding{conn: conn, on: session.StreamID(i + 1)}
			h.holdings[clientType{client: strconv.Itoa(i)}], of = l, append(of, l)
		}
		h.allLive = true
		h.Step(&c.entry, &engine.Change{Ended: c.ended})
		is(t, "over with "+name, fmt.Sprint(of[0].over, of[1].over, of[2].over), c.over)
		is(t, "looked for again after "+name, !h.allLive, c.ended || c.entry.Kind == session.KindDisconnect)
	}
}
