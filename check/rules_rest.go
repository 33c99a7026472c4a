package check

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/recent"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// polls are the conversations that polls add up to.
type polls struct {
	byKey recent.Map[string, *poll]
	limit int64 // bytes
	// lists is how many lists of names a client polls a path with, at most 2.
	lists recent.Map[string, int]
	// roots is the reply that last gave a client other clusters or listeners.
	// For what these refer to it begins anew, with polls that have no version.
	roots recent.Map[string, session.Seq]
}

const (
	// Of the bytes for what is over this part is for polls, at least minPolls.
	pollPart  = 64
	minPolls  = 64 << 10
	pollBytes = 1024 // that one takes, about
)

// poll is one of them. Each rule has its own fields.
type poll struct {
	key string

	// Of rest-unchanged-body: the content that came last.
	known   bool
	version string
	sum     [2]uint64
	repeats []time.Time

	// Of rest-version-flap.
	count uint64
	turns []turn // replies of another version than the one before

	// Of rest-implicit-nack: what was offered and not yet polled after.
	offer *offer
}

type turn struct {
	version string
	poll    uint64
	seq     session.Seq
}

type offer struct {
	had, version string
	seq          session.Seq
	names        []string
}

// polling is what a poll is part of.
type polling struct {
	of        *poll
	peers     string // the client and the server
	announced string
	other     bool // the client polls this path for other names too, and for these the first time
}

func (p *polls) get(base, names string) (of *poll, other bool) {
	key := base + "\x00" + names
	if of, _ = p.byKey.Get(key); of != nil {
		return of, false
	}
	of = &poll{key: key}
	p.byKey.Put(key, of, int64(pollBytes+len(key)), max(p.limit, minPolls))
	before, _ := p.lists.Get(base)
	p.lists.Put(base, min(2, before+1), int64(64+len(base)), max(p.limit, minPolls)/4)
	return of, before > 0
}

func (p *polls) putRoot(peers string, seq session.Seq) {
	p.roots.Put(peers, seq, int64(64+len(peers)), max(p.limit, minPolls)/4)
}

// joinPolls finds what a poll is part of.
func joinPolls(x *event) {
	t := x.stream
	if t.Method.Variant != xds.VariantREST || pollingOf(t).of != nil {
		return
	}
	id := x.client()
	if id == "" {
		id = fmt.Sprint(t.Conn)
	}
	names := slices.Sorted(slices.Values(x.req.Message.Names))
	p := pollingOf(t)
	p.peers, p.announced = engine.Short(id+"\x00"+t.Server), x.req.Message.Version
	p.of, p.other = x.k.polls.get(
		engine.Short(strings.Join([]string{id, t.Server, t.Method.Path}, "\x00")), engine.Short(strings.Join(names, "\x00")))
}

// polled returns what a reply is part of, nil if that is not known or the
// reply is none.
func (x *event) polled() *poll {
	if s := x.stream.Status; s != "" && s != "200" {
		return nil
	}
	return pollingOf(x.stream).of
}

const discoveryPath = "/discovery:"

// looksPolled says whether a path is meant to be that of a poll.
func looksPolled(t *engine.Stream) bool { return strings.Contains(t.Method.Path, discoveryPath) }

func restVerb(x *event) {
	t := x.stream
	verb := session.Get(x.entry.Headers, ":method")
	if !looksPolled(t) || t.Method.Service != "" || verb == "" || verb == "POST" {
		return
	}
	x.provef(proof{severity: Error, typ: t.Method.Type, cause: verb + t.Method.Path}, "%s %s, which takes a POST", words.Clip(verb), words.Clip(t.Method.Path))
}

// unmapped says whether a poll goes to a path that stands for no type.
func unmapped(t *engine.Stream) bool {
	v := t.Method.Variant
	return looksPolled(t) && t.Method.Type == "" && (v == xds.VariantREST || v == xds.VariantOther)
}

func (x *event) proveUnmapped(typ string) {
	x.provef(proof{severity: Error, typ: typ, cause: x.stream.Method.Path}, "%s is the path of no resource type", words.Clip(x.stream.Method.Path))
}

// restUnread looks at what was not read as a poll: there was no body, or the
// path is not even that of a version.
func restUnread(x *event) {
	t := x.stream
	if unmapped(t) && !t.Lost && (t.Largest == 0 || t.Method.Variant == xds.VariantOther) {
		x.proveUnmapped("")
	}
}

func restBody(x *event) {
	t, m := x.stream, x.req.Message
	if t.Method.Variant != xds.VariantREST {
		return
	}
	typ := ""
	if m.TypeURL != "" {
		typ = xds.ShortType(m.TypeURL)
	}
	if unmapped(t) {
		x.proveUnmapped(typ)
		return
	}
	p := proof{severity: Error, typ: t.Method.Type}
	switch {
	case !isJSON(x.entry.Message.Data):
		p.cause, p.message = "body", "the body is not JSON"
	case len(m.Problems) > 0:
		p.cause, p.message = "body", "the body is no DiscoveryRequest in JSON: "+words.Clip(m.Problems[0])
	case typ != "" && typ != t.Method.Type:
		p.cause, p.message = typ, fmt.Sprintf("type_url is that of %s, and the path %s that of %s", words.Clip(typ), words.Clip(t.Method.Path), t.Method.Type)
	default:
		return
	}
	x.prove(p)
}

// isJSON says whether a body begins like an object of JSON, or is empty, which
// stands for one without fields.
func isJSON(data session.Chunks) bool {
	for _, b := range data {
		if b = bytes.TrimLeft(b, " \t\r\n"); len(b) > 0 {
			return b[0] == '{'
		}
	}
	return true
}

func restUnchanged(x *event) {
	p, n := x.polled(), x.resp
	if p == nil || n.Wanted == nil { // or it is of another type than was asked for
		return
	}
	announced := pollingOf(x.stream).announced
	same := n.Version == announced && announced != "" && !pollingOf(x.stream).other &&
		(!p.known || p.version != n.Version || p.sum == n.Sum)
	p.known, p.version, p.sum = true, n.Version, n.Sum
	if !same {
		p.repeats = nil
		return
	}
	most := max(1, x.k.timers.PushCount)
	p.repeats = keepLast(p.repeats, x.now, most)
	f := proof{
		severity: Info, cause: p.key, seqs: []session.Seq{n.Wanted.Seq, n.Seq},
		message: fmt.Sprintf("version %q in full, %s, in answer to a poll that has it", words.Clip(n.Version), words.Counted(n.Count, "resource", "resources")),
	}
	if took := x.now.Sub(p.repeats[0]); len(p.repeats) == most && took <= x.k.timers.Push {
		f.severity = Warning
		f.message = fmt.Sprintf("version %q in full %d times within %v, in answer to polls that have it", words.Clip(n.Version), most, words.Round(took))
	}
	x.prove(f)
}

// flapPolls is how many polls four turns of two versions may take.
const flapPolls = 10

func countPoll(x *event) {
	joinPolls(x)
	if p := pollingOf(x.stream).of; p != nil && x.stream.Requests == 1 {
		p.count++
	}
}

func restVersionFlap(x *event) {
	t, n := x.stream, x.resp
	severity := Warning
	p := x.polled()
	if t.Discovery() {
		severity = Info
		if p = x.reconnects(); p != nil {
			p.count++
		}
	}
	if p == nil {
		return
	}
	version := engine.Short(n.Version)
	if n := len(p.turns); n > 0 && p.turns[n-1].version == version {
		return
	}
	p.turns = keepLast(p.turns, turn{version, p.count, n.Seq}, 4)
	if len(p.turns) < 4 || p.turns[0].version != p.turns[2].version || p.turns[1].version != p.turns[3].version ||
		p.count-p.turns[0].poll >= flapPolls {
		return
	}
	var seqs []session.Seq
	for _, turn := range p.turns {
		seqs = append(seqs, turn.seq)
	}
	what := "polls"
	if severity == Info {
		what = "connects"
	}
	x.provef(proof{severity: severity, cause: p.key, seqs: seqs},
		"versions %q and %q took turns over %d %s", words.Clip(p.turns[0].version), words.Clip(n.Version), p.count-p.turns[0].poll+1, what)
}

// reconnects is the conversation of a client's streams as far as their first
// responses go, nil for another response.
func (x *event) reconnects() *poll {
	t, s, n := x.stream, x.sub, x.resp
	if n.Message.Kind != decode.SotwResponse || !n.WasFirst || t.Node == nil || t.Node.ID == "" || s.First == nil || s.Exempt() {
		return nil
	}
	names := ""
	if !t.ADS() {
		names = engine.Short(strings.Join(slices.Sorted(slices.Values(s.First.Message.Names)), "\x00"))
	}
	p, _ := x.k.polls.get(engine.Short(strings.Join([]string{t.Node.ID, t.Node.Cluster, t.Server, t.Method.Path, s.Key}, "\x00")), names)
	return p
}

func restOffered(x *event) {
	p, n := x.polled(), x.resp
	if p == nil {
		return
	}
	p.offer = nil
	if had := pollingOf(x.stream).announced; n.Version != had {
		if xds.ByShort(x.stream.Method.Type).Full {
			x.k.polls.putRoot(pollingOf(x.stream).peers, n.Seq)
		}
		p.offer = &offer{had: had, version: n.Version, seq: n.Seq, names: append(firstNames(n.Added), firstNames(n.Changed)...)}
	}
}

func restStillOld(x *event) {
	joinPolls(x)
	p := pollingOf(x.stream).of
	if p == nil || p.offer == nil {
		return
	}
	o := p.offer
	p.offer = nil
	if x.req.Message.Version != o.had {
		return
	}
	root, _ := x.k.polls.roots.Get(pollingOf(x.stream).peers)
	if o.had == "" && !xds.ByShort(x.stream.Method.Type).Full && root > o.seq {
		return // this poll is not by the subscription that was answered
	}
	x.provef(proof{severity: Warning, names: o.names, cause: p.key, seqs: []session.Seq{o.seq, x.req.Seq}},
		"version %q was sent, and the next poll still announces %q", words.Clip(o.version), words.Clip(o.had))
}
