package check

import (
	"hash/maphash"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// message enters a message into the state.
func (k *Engine) message(e *session.Entry, c *Change) {
	m := c.Message
	if m == nil || e.Message == nil {
		return
	}
	if c.talk == nil {
		if e.Stream == 0 || len(k.talks) >= maxTalks {
			return
		}
		// A stream that is met in its middle, or one that has just ended.
		if c.Method.Path != "" && k.tracker.streams[e.Stream] != nil && k.tracker.streams[e.Stream].ended {
			return
		}
		c.talk = k.newTalk(e)
		c.talk.method, c.talk.lost = c.Method, true
	}
	t := c.talk
	t.largest = max(t.largest, e.Message.Size)
	if e.Message.Compressed || e.Message.Truncated {
		t.lose()
		return
	}
	switch m.Kind {
	case decode.SotwRequest, decode.DeltaRequest:
		k.request(e, c)
	case decode.SotwResponse, decode.DeltaResponse:
		k.response(e, c)
	default:
		if m.Node != nil && t.node == nil {
			t.node, t.lastNode = m.Node, m.Node
		}
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

func (k *Engine) request(e *session.Entry, c *Change) {
	t, m := c.talk, c.Message
	s := t.subOf(m, k.contents.seeds[0])
	t.requests++
	if s == nil {
		return
	}
	r := &request{seq: e.Seq, at: k.now, m: m, size: e.Message.Size, ordinal: s.requests}
	r.before.lost, r.before.wild, r.before.everNamed, r.before.count = s.lost, s.wild, s.everNamed, s.names.len()
	r.before.accepted, r.before.version, r.before.newest, r.before.lastEcho = s.accepted, s.version, s.newest(), s.lastEchoed
	c.sub, c.req = s, r
	s.requests++
	if s.first == nil {
		s.first = r
	}
	k.judge(s, r)
	if m.Kind == decode.DeltaRequest {
		r.given = k.wantDelta(s, r)
	} else {
		r.given = k.wantSotw(s, r, c)
	}
	if m.Node != nil {
		t.lastNode = m.Node
		if t.node == nil && m.Node.ID != "" {
			t.node, t.nodeAt = m.Node, e.Seq
			k.peers.joined(t, s, r.given)
			k.clients.enter(t)
		}
	}
	if r.ordinal == 0 {
		s.resume(m)
	}
	s.last = r
	if s.lost && m.Kind == decode.SotwRequest && r.echoed != nil && r.echoed == s.heard {
		// From here on everything is known again: what the client wants, what
		// it echoes, and for a full type what it has.
		s.lost, s.found = false, k.now
		t.moved++
	}
}

// judge finds the response that a request echoes, and enters its verdict.
func (k *Engine) judge(s *subscription, r *request) {
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
	if took := k.now.Sub(n.at); s.talk.echo == 0 || took < s.talk.echo {
		s.talk.echo = took
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
func (k *Engine) wantSotw(s *subscription, r *request, c *Change) (given []string) {
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
	k.drop(s, r)
	return r.added
}

// wantDelta enters what a delta request subscribes to and what it gives up.
func (k *Engine) wantDelta(s *subscription, r *request) (given []string) {
	m := r.m
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
	k.drop(s, r)
	return given
}

// maxDropped bounds the names given up that a type remembers.
const maxDropped = 1 << 16

// drop remembers the names that a client gave up.
func (k *Engine) drop(s *subscription, r *request) {
	gone := r.removed
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
		s.dropped[n] = dropped{at: k.now, delivered: s.have.get(n) != nil}
		if s.wild == notWild {
			s.talk.moved++
			s.have.remove(n)
		}
	}
	switch {
	case s.active():
		s.cleared = time.Time{}
	case s.everNamed && s.cleared.IsZero():
		s.cleared, s.clearedAt = k.now, r.seq
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
