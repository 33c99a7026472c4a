package bisect

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/edit"
	"github.com/xdsproxy/xdsproxy/replay/replaytest"
	"github.com/xdsproxy/xdsproxy/session"
)

// messagesOf are the bytes of the messages of a script.
func messagesOf(t testing.TB, text string) (out [][]byte) {
	t.Helper()
	s, err := script.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for e := range s.Entries() {
		if e.Message != nil {
			out = append(out, e.Message.Data.Bytes())
		}
	}
	return out
}

// FuzzRejection reads a recording with any bytes in the place of a response that
// was accepted and one that was rejected, and gives it to a client that says
// anything.
func FuzzRejection(f *testing.F) {
	for _, text := range []string{sotwClusters, deltaClusters, sotwEndpoints, neverAccepted} {
		m := messagesOf(f, text)
		f.Add(m[1], m[len(m)-2], m[0], m[len(m)-1], text == deltaClusters)
	}
	f.Fuzz(func(t *testing.T, accepted, rejected, asks, says []byte, delta bool) {
		name := "StreamAggregatedResources"
		if delta {
			name = "DeltaAggregatedResources"
		}
		method := xds.LookupMethod("/envoy.service.discovery.v3.AggregatedDiscoveryService/" + name)
		all := replaytest.Entries{{Seq: 1, Conn: 1, Stream: 1, Kind: session.KindOpen, Side: session.Client, Method: method.Path}}
		say := func(side session.Side, data []byte) {
			all = append(all, session.Entry{
				Seq: session.Seq(len(all) + 1), Conn: 1, Stream: 1, Kind: session.KindMessage, Side: side,
				Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data))},
			})
		}
		answer := func(to []byte, nack bool) {
			m := decode.Peek(method, session.Server, "", to)
			ed := edit.Set{edit.VersionOfRequest: m.Version, 4: m.TypeURL, edit.NonceOfRequest: m.Nonce}
			if delta {
				ed = edit.Set{2: m.TypeURL, edit.NonceOfDeltaRequest: m.Nonce}
			}
			out, _ := ed.Apply(nil)
			switch {
			case nack && delta:
				out = append(out, 7<<3|2, 2, 8, 13)
			case nack:
				out = append(out, edit.ErrorOfRequest<<3|2, 2, 8, 13)
			}
			say(session.Client, out)
		}
		say(session.Client, asks)
		say(session.Server, accepted)
		answer(accepted, false)
		say(session.Server, rejected)
		answer(rejected, true)
		r, err := ReadRejection(t.Context(), 0, func() (replay.Source, func() error, error) {
			again := slices.Clone(all)
			return &again, func() error { return nil }, nil
		})
		if err != nil {
			return
		}
		b := newBench(r, Options{})
		l := &line{bench: b, method: method, live: replay.NewConversation(method), topics: map[string]*lineTopic{}}
		for _, m := range [][]byte{asks, says, asks} {
			if _, err := b.receive(l, m); err != nil {
				return
			}
		}
		tr := &trials{bench: b}
		var set []int
		for i := range r.Suspects {
			if i%2 == 0 {
				set = append(set, i)
			}
		}
		for _, bare := range []bool{true, false} {
			items, removed := tr.content(set, bare, delta)
			if len(items) < len(set) {
				t.Errorf("a trial of %d has %d resources", len(set), len(items))
			}
			out := (&said{typeURL: r.base.typeURL, version: "v", nonce: "n", items: items, removed: removed}).bytes(delta)
			m := decode.Peek(method, session.Server, "", out)
			if len(m.Resources) != len(items) || m.Nonce != "n" {
				t.Errorf("%d resources were put into a response and %d are in it: %v", len(items), len(m.Resources), m.Problems)
			}
		}
		r.named(strings.Repeat("x ", 10)+string(says), set)
		if l.topics[r.key] != nil {
			tr.baseFor(l)
		}
		f := &Result{proof: &proof{Rejection: r, asks: b.asks, order: b.asked}}
		for _, whole := range []bool{true, false} {
			w := turn{whole: whole, suspects: len(set), words: "no"}
			w.items, w.removed = tr.content(set, !whole, delta)
			f.proof.turns = append(f.proof.turns, w)
		}
		told := slices.Collect(f.Entries())
		if (len(told) > 0) != (b.asks[r.key] != nil) {
			t.Errorf("%d entries", len(told))
		}
	})
}
