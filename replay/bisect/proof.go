package bisect

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/edit"
	"github.com/xdsproxy/xdsproxy/session"
)

// proof is the smallest conversation in which the culprits are rejected: what a
// client has to be given before it asks for them, them, and its words. It is put
// together from the trials: each response has only what that takes of what the
// recorded client held. Secrets are masked in it as they were recorded.
type proof struct {
	*Rejection
	asks  map[string]*asked // by type key
	order []string          // of the keys, as they were asked for
	turns []turn
	began time.Time
}

// asked is how the live client asked for a type the first time.
type asked struct {
	method  xds.Method
	node    []byte // encoded
	typeURL string
	names   []string
	wild    bool
	// alone says that it has a stream for this name only.
	alone bool
}

// turn is a response that was rejected.
type turn struct {
	items    []*held
	removed  []string
	suspects int // of the items
	// whole says that it is rejected only beside what the client had.
	whole bool
	words string
	code  int32
}

// ask enters a first request. b.mu is held.
func (b *bench) ask(l *line, key string, m *decode.Message, wild bool) {
	if b.asks[key] != nil || len(b.asks) >= replay.MaxTopics {
		return
	}
	names := m.Names
	if l.delta() {
		names = m.Subscribe
	}
	b.asks[key] = &asked{
		method: l.method, node: l.node, typeURL: m.TypeURL, names: slices.Clone(names), wild: wild,
		alone: !l.method.Variant.ADS() && len(names) == 1,
	}
	b.asked = append(b.asked, key)
}

// Entries are the conversation that proves the culprits, as a proxy would have
// recorded it: a replay of it makes a client of that kind reject them again.
// There are none if nothing was found.
func (f *Result) Entries() iter.Seq[session.Entry] {
	if !f.Told() || f.proof.asks[f.proof.key] == nil {
		return func(func(session.Entry) bool) {}
	}
	t := &telling{proof: f.proof, needs: needsOf(f.proof), streams: map[string]*toldStream{}}
	t.tell()
	return slices.Values(t.entries)
}

// telling is the conversation while it is put together.
type telling struct {
	*proof
	needs   *needs
	streams map[string]*toldStream
	entries []session.Entry
	nonces  int
}

// toldStream is a stream of it.
type toldStream struct {
	id       session.StreamID
	began    bool                // something was said on it
	names    map[string][]string // that are asked for, by type key
	accepted map[string]string   // the version that the client has, by type key
}

func (t *telling) tell() {
	first := func(key string) bool {
		a := t.asks[key]
		// An Envoy without an answer on clusters asks for no listeners.
		return key == t.key || len(t.needs.items[key]) > 0 || a.wild && xds.ShortType(a.typeURL) == "CDS"
	}
	for _, key := range t.order {
		if first(key) {
			t.prelude(key)
		}
	}
	for i := range t.turns {
		w := &t.turns[i]
		if i > 0 && w.whole && t.turns[i-1].suspects > 1 { // it may have taken part of it
			t.accept(t.key, "", t.needs.items[t.key])
		}
		name := ""
		if t.asks[t.key].alone && len(w.items) > 0 {
			name = w.items[0].name
		}
		nonce := t.say(t.key, name, w.items, w.removed)
		t.request(t.key, name, nonce, w)
	}
	for _, key := range t.order {
		if !first(key) && t.asks[key].wild {
			t.request(key, "", "", nil)
		}
	}
}

// prelude lets the client ask for a type, and gives it what the culprits need.
func (t *telling) prelude(key string) {
	items := t.needs.items[key]
	if t.asks[key].alone {
		for _, n := range t.needs.names[key] {
			t.stream(key, n).names[key] = []string{n}
			t.request(key, n, "", nil)
			if i := slices.IndexFunc(items, func(h *held) bool { return h.name == n }); i >= 0 {
				t.accept(key, n, items[i:i+1])
			}
		}
		return
	}
	names := t.needs.names[key]
	if t.asks[key].wild {
		names = t.asks[key].names
	}
	t.stream(key, "").names[key] = names
	t.request(key, "", "", nil)
	if len(items) > 0 || key != t.key {
		t.accept(key, "", items)
	}
}

// accept is a response that the client accepts.
func (t *telling) accept(key, name string, items []*held) {
	nonce := t.say(key, name, items, nil)
	t.stream(key, name).accepted[key] = nonce
	t.request(key, name, nonce, nil)
}

// stream is the one on which a type is asked for: one for each name, where the
// client has it so.
func (t *telling) stream(key, name string) *toldStream {
	a := t.asks[key]
	at := a.method.Path
	if a.alone {
		at += " " + name
	}
	s := t.streams[at]
	if s == nil {
		s = &toldStream{id: session.StreamID(len(t.streams) + 1), names: map[string][]string{}, accepted: map[string]string{}}
		t.streams[at] = s
		t.add(s, session.Entry{Kind: session.KindOpen, Side: session.Client, Method: a.method.Path, H2: uint32(2*s.id - 1)})
	}
	return s
}

func (t *telling) add(s *toldStream, e session.Entry) {
	e.Seq, e.Time, e.Conn, e.Stream = session.Seq(len(t.entries)+1), t.began, 1, s.id
	t.entries = append(t.entries, e)
}

func (t *telling) message(s *toldStream, side session.Side, data []byte, masked bool) {
	t.add(s, session.Entry{Kind: session.KindMessage, Side: side, Message: &session.Message{
		Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data)), Masked: masked,
	}})
}

// say adds a response, and returns its nonce, which is its version, too.
func (t *telling) say(key, name string, items []*held, removed []string) string {
	t.nonces++
	version := fmt.Sprintf("bisect-%d", t.nonces)
	a := t.asks[key]
	out := (&said{typeURL: a.typeURL, version: version, nonce: version, items: items, removed: removed}).bytes(a.method.Variant.Delta())
	t.message(t.stream(key, name), session.Server, out, slices.ContainsFunc(items, func(h *held) bool { return h.masked }))
	return version
}

// request adds one: the first if nonce is empty, else an answer, by which why is
// rejected.
func (t *telling) request(key, name, nonce string, why *turn) {
	a, s := t.asks[key], t.stream(key, name)
	delta := a.method.Variant.Delta()
	url, at, problem := protowire.Number(edit.TypeOfRequest), protowire.Number(edit.NonceOfRequest), protowire.Number(edit.ErrorOfRequest)
	var out []byte
	if delta {
		url, at, problem = edit.TypeOfDeltaRequest, edit.NonceOfDeltaRequest, edit.ErrorOfDeltaRequest
	} else {
		out = edit.AppendString(out, edit.VersionOfRequest, s.accepted[key])
	}
	if !s.began {
		s.began = true
		out = protowire.AppendBytes(protowire.AppendTag(out, nodeField(delta), protowire.BytesType), a.node)
	}
	if !delta || nonce == "" {
		for _, n := range s.names[key] {
			out = edit.AppendString(out, edit.NamesOfRequest, n)
		}
	}
	out = edit.AppendString(out, url, a.typeURL)
	out = edit.AppendString(out, at, nonce)
	if why != nil {
		status := protowire.AppendVarint(protowire.AppendTag(nil, edit.CodeOfStatus, protowire.VarintType), uint64(int64(why.code)))
		status = edit.AppendString(status, edit.MessageOfStatus, why.words)
		out = protowire.AppendBytes(protowire.AppendTag(out, problem, protowire.BytesType), status)
	}
	t.message(s, session.Client, out, false)
}
