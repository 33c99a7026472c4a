package check

import (
	"hash/maphash"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// message enters a message into the state and lets the rules look at it.
func (k *Checker) message(x *event) {
	e, m := x.entry, x.change.Message
	if m == nil || e.Message == nil {
		return
	}
	if x.talk == nil {
		if e.Stream == 0 || len(k.talks) >= maxTalks {
			return
		}
		// A stream that is met in its middle, or one that has just ended.
		if x.change.Method.Path != "" && k.tracker.streams[e.Stream] != nil && k.tracker.streams[e.Stream].ended {
			return
		}
		x.talk = k.newTalk(e)
		x.talk.method, x.talk.lost = x.change.Method, true
	}
	t := x.talk
	t.largest = max(t.largest, e.Message.Size)
	if e.Message.Compressed || e.Message.Truncated {
		t.lose()
		if t.method.Variant == decode.VariantREST {
			k.polls = polls{} // each poll is a stream of its own
		}
		x.each(onOther)
		return
	}
	switch m.Kind {
	case decode.SotwRequest, decode.DeltaRequest:
		k.request(x, m)
	case decode.SotwResponse, decode.DeltaResponse:
		k.response(x, m)
	default:
		if m.Node != nil && t.node == nil {
			t.node, t.lastNode = m.Node, m.Node
		}
		x.each(onOther)
	}
	if e.Side == session.Client {
		t.lastClient, t.lastClientSeq = k.now, e.Seq
	} else {
		t.lastServer = k.now
	}
	if e.Carried {
		t.lose() // what came between was not repeated
	}
}

// subOf returns the state of the type that a message is about, or nil if there
// is no room for another.
func (t *talk) subOf(m *decode.Message, seed maphash.Seed) *subscription {
	if t.latest != nil && t.latest.url == m.TypeURL && m.TypeURL != "" {
		return t.latest
	}
	key, typ := t.method.Type, t.method.Type
	if m.TypeURL != "" {
		key, typ = short(decode.TypeKey(m.TypeURL)), decode.ShortType(m.TypeURL)
	}
	s := t.subs[key]
	if s == nil {
		if len(t.subs) >= maxTypes {
			return nil
		}
		s = &subscription{
			talk: t, key: key, typ: typ, kind: kindOfType(typ, m.TypeURL), lost: t.lost,
			byNonce: make(map[string]*response), past: past{seed: seed}, versions: past{seed: seed},
		}
		t.subs[key], t.order = s, append(t.order, s)
	}
	if m.TypeURL != "" {
		s.url = m.TypeURL
	}
	t.latest = s
	return s
}

func (k *Checker) request(x *event, m *decode.Message) {
	t, e := x.talk, x.entry
	s := t.subOf(m, k.contents.seeds[0])
	t.requests++
	if s == nil {
		return
	}
	x.sub = s
	r := &request{seq: e.Seq, at: k.now, m: m, size: e.Message.Size, ordinal: s.requests}
	r.before.wild, r.before.everNamed, r.before.count = s.wild, s.everNamed, s.names.len()
	r.before.accepted, r.before.version, r.before.newest, r.before.lastEcho = s.accepted, s.version, s.newest(), s.lastEchoed
	x.req = r
	s.requests++
	if s.first == nil {
		s.first = r
	}
	k.judge(x)
	var given []string // names that it gives, as they are compared
	if m.Kind == decode.DeltaRequest {
		given = k.wantDelta(x)
	} else {
		given = k.wantSotw(x)
	}
	if m.Node != nil {
		t.lastNode = m.Node
		if t.node == nil && m.Node.ID != "" {
			t.node, t.nodeAt = m.Node, e.Seq
			k.peers.joined(t, s, given)
			k.clients.enter(t)
		}
	}
	if r.ordinal == 0 {
		s.resume(m)
	}
	s.await(x, given)
	s.last = r
	if s.lost && m.Kind == decode.SotwRequest && r.echoed != nil && r.echoed == s.heard {
		// From here on everything is known again: what the client wants, what
		// it echoes, and for a full type what it has.
		s.lost, s.found = false, k.now
		t.moved++
	}
	x.each(onRequest)
}

// judge finds the response that a request echoes, and enters its verdict.
func (k *Checker) judge(x *event) {
	s, r := x.sub, x.req
	newest := s.newest()
	if r.m.Nonce != "" {
		key := short(r.m.Nonce)
		r.echoed = s.byNonce[key]
		r.echoedPast = r.echoed == nil && s.past.has(key)
	}
	r.stale = r.echoed != nil && r.echoed != newest || r.echoedPast
	switch {
	case r.ordinal == 0, newest == nil && r.m.Nonce == "", newest != nil && r.m.Nonce == newest.nonce,
		r.m.Kind == decode.DeltaRequest && r.m.Nonce == "":
		r.fresh = true
	}
	if r.echoed == nil {
		if r.ordinal == 0 {
			s.version = r.m.Version
		}
		return
	}
	n := r.echoed
	if s.lastEchoed == nil || n.ordinal > s.lastEchoed.ordinal {
		s.lastEchoed = n
	}
	if n.verdict != unjudged {
		return
	}
	switch {
	case r.m.Error != nil:
		n.verdict, s.rejected = rejected, n
		s.nack, s.nackSeq = reason(r.m.Error.Message), r.seq
		s.blame(n)
	case r.m.Kind == decode.DeltaRequest, r.m.Version == n.version:
		n.verdict, s.accepted, s.rejected, s.version = accepted, n, nil, n.version
		s.absolve(n)
	default:
		n.verdict = neither
	}
	n.judgedBy, r.verdict = r, n.verdict
	if took := k.now.Sub(n.at); x.talk.echo == 0 || took < x.talk.echo {
		x.talk.echo = took
	}
	if r.m.Kind == decode.SotwRequest {
		for i := len(s.sent) - 1; i >= 0; i-- {
			if o := s.sent[i]; o.ordinal < n.ordinal {
				if o.verdict != unjudged {
					break
				}
				o.verdict = folded
			}
		}
	}
}

// wantSotw enters the list of a state-of-the-world request.
func (k *Checker) wantSotw(x *event) (given []string) {
	s, r, c := x.sub, x.req, x.change
	star := false
	for _, n := range r.m.Names {
		star = star || n == "*"
	}
	list := c.list
	if list == nil {
		if len(r.m.Names) > 0 || !s.lost {
			s.lose() // there was no room for the list
		}
		list = &nameList{names: r.m.Names}
	}
	if list != s.names.base {
		for _, n := range c.Added {
			if n != "*" && n != "" {
				n = decode.NormalName(n)
				if !s.names.has(n) {
					r.added = append(r.added, n)
				}
			}
		}
		for _, n := range c.Removed {
			if n = decode.NormalName(n); n != "*" && n != "" && s.names.has(n) {
				r.removed = append(r.removed, n)
			}
		}
		k.tracker.lists.retain(list)
		k.tracker.lists.release(s.names.base)
		s.names = names{base: list, size: len(list.index())}
	}
	switch {
	case star:
		s.wild, s.everNamed, s.everWild = explicitWild, true, true
	case len(r.m.Names) > 0:
		s.wild, s.everNamed = notWild, true
	case !s.everNamed:
		s.wild, s.everWild = legacyWild, true
	default:
		s.wild = notWild
	}
	x.drop(r.removed)
	return r.added
}

// wantDelta enters what a delta request subscribes to and what it gives up.
func (k *Checker) wantDelta(x *event) (given []string) {
	s, r, m := x.sub, x.req, x.req.m
	if r.ordinal == 0 && len(m.Subscribe) > 64 {
		if l := k.tracker.lists.keep(m.Subscribe); l != nil {
			s.names = names{base: l, size: len(l.index())}
			for n := range l.index() {
				r.added = append(r.added, n)
			}
		}
	}
	for _, n := range m.Subscribe {
		switch n {
		case "*":
			s.wild, s.everWild, s.everNamed = explicitWild, true, true
			continue
		case "":
			continue
		}
		n = decode.NormalName(n)
		s.everNamed = true
		given = append(given, n)
		if s.names.add(n) {
			r.added = append(r.added, n)
		}
	}
	if r.ordinal == 0 && len(m.Subscribe) == 0 && r.m.Nonce == "" {
		s.wild, s.everWild = legacyWild, true
	}
	for _, n := range m.Unsubscribe {
		if n == "*" {
			s.wild = notWild
			s.everNamed = true
			continue
		}
		if n = decode.NormalName(n); s.names.remove(n) {
			r.removed = append(r.removed, n)
		}
	}
	x.drop(r.removed)
	return given
}

// maxDropped bounds the names given up that a type remembers.
const maxDropped = 1 << 16

// drop remembers the names that a client gave up.
func (x *event) drop(gone []string) {
	s := x.sub
	if len(gone) > 0 && s.dropped == nil {
		s.dropped = make(map[string]dropped)
	}
	if len(s.dropped)+len(gone) > maxDropped {
		clear(s.dropped)
	}
	for _, n := range gone {
		if len(s.dropped) >= maxDropped {
			break
		}
		s.dropped[n] = dropped{at: x.now, delivered: s.have.get(n) != nil}
		if s.wild == notWild {
			s.talk.moved++
			s.have.remove(n)
		}
	}
	for _, n := range gone {
		delete(s.waits, n)
	}
	switch {
	case s.active():
		s.cleared = time.Time{}
	case s.everNamed && s.cleared.IsZero():
		s.cleared, s.clearedAt = x.now, x.req.seq
	}
}

// resume fills what a reconnected client still has: it says so in delta by
// initial_resource_versions, in the state of the world by the version of its
// first request.
func (s *subscription) resume(m *decode.Message) {
	s.talk.moved++
	var was *subscription
	if p := s.talk.previous; p != nil {
		was = p.subs[s.key]
	}
	if m.Kind == decode.SotwRequest {
		if m.Version != "" && was != nil {
			s.have, s.seeded = was.have.clone(), true
			for name := range was.have.all() {
				if !s.wants(name) {
					s.have.remove(name)
				}
			}
		}
		s.kept = s.have.clone()
		return
	}
	if len(m.InitialVersions) == 0 {
		return
	}
	s.initial, s.seeded = make(map[string]string, len(m.InitialVersions)), true
	same := was != nil && was.have.len() == len(m.InitialVersions)
	for _, v := range m.InitialVersions {
		n := decode.NormalName(v.Name)
		s.initial[n] = v.Version
		same = same && was.have.get(n) != nil && was.have.get(n).version == v.Version
	}
	if same {
		s.have = was.have.clone()
	} else {
		for n, v := range s.initial {
			it := &item{name: n, version: v}
			if was != nil {
				if old := was.have.get(n); old != nil && old.version == v {
					it = old
				}
			}
			s.have.put(it)
		}
	}
	s.kept = s.have.clone()
}

// sentHere says whether what the client has of a name was sent on this stream.
func (s *subscription) sentHere(name string) bool {
	it := s.have.get(name)
	return it != nil && (!s.seeded || s.kept.get(name) != it)
}

// await starts to wait for the names that a request asks for.
func (s *subscription) await(x *event, given []string) {
	r := x.req
	if s.exempt() || s.lost || !x.talk.discovery() {
		return
	}
	delta := r.m.Kind == decode.DeltaRequest
	if !delta && !r.fresh {
		if s.late == nil {
			s.late = make(map[string]bool)
		}
		longAgo := r.before.newest != nil && x.now.Sub(r.before.newest.at) > x.flight()
		for _, n := range r.added { // the server may pass over it
			if len(s.late) < maxDropped {
				s.late[n] = longAgo
			}
		}
		return
	}
	if !delta && len(s.late) > 0 {
		given = given[:len(given):len(given)]
		for n := range s.late {
			if s.names.has(n) {
				given = append(given, n)
			}
		}
		slices.Sort(given)
		s.late = nil
	}
	fresh := &wait{from: r, stale: delta && r.stale, firstOfType: r.ordinal == 0}
	again := &wait{from: r, stale: delta && r.stale, again: true, firstOfType: r.ordinal == 0}
	for _, n := range given {
		was, given := s.dropped[n]
		switch {
		case isGlob(n): // it may stand for nothing
		case !s.names.has(n): // given up in the same request
		case delta && r.ordinal == 0 && s.initial[n] != "",
			!delta && r.ordinal == 0 && s.have.get(n) != nil, s.waits[n] != nil:
		case given && was.delivered, delta && s.have.get(n) != nil && r.ordinal > 0:
			again.left = append(again.left, n)
		default:
			fresh.left = append(fresh.left, n)
		}
	}
	for _, w := range []*wait{fresh, again} {
		if len(w.left) == 0 {
			continue
		}
		if s.waits == nil {
			s.waits = make(map[string]*wait)
		}
		for _, n := range w.left {
			s.waits[n] = w
		}
		next := *x
		next.wait = w
		next.after(x.k.timers.DNE, func(x *event) { s.overdue(x) })
	}
}

// overdue lets the rules look at names that were not mentioned in time.
func (s *subscription) overdue(x *event) {
	w := x.wait
	w.left = without(w.left, func(n string) bool {
		if s.waits[n] != w {
			return true
		}
		delete(s.waits, n)
		return !s.names.has(n)
	})
	if len(w.left) > 0 && x.talk.alive() && !s.lost {
		x.each(onUnanswered)
	}
}

// without returns the elements that gone does not name; it may write to list.
func without(list []string, gone func(string) bool) []string {
	kept := list[:0:0]
	for _, n := range list {
		if !gone(n) {
			kept = append(kept, n)
		}
	}
	return kept
}
