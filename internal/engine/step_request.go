package engine

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
	if c.Stream == nil {
		if e.Stream == 0 || len(k.Streams) >= maxTalks {
			return
		}
		// A stream that is met in its middle, or one that has just ended.
		if c.Method.Path != "" && k.tracker.streams[e.Stream] != nil && k.tracker.streams[e.Stream].ended {
			return
		}
		c.Stream = k.newTalk(e)
		c.Stream.Method, c.Stream.Lost = c.Method, true
	}
	t := c.Stream
	t.Largest = max(t.Largest, e.Message.Size)
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
		if m.Node != nil && t.Node == nil {
			t.Node, t.lastNode = m.Node, m.Node
		}
	}
	if e.Side == session.Client {
		t.LastClient, t.LastClientSeq = k.Now, e.Seq
	} else {
		t.LastServer = k.Now
	}
	if e.Carried {
		t.lose() // what came between was not repeated
	}
}

// subOf returns the state of the type that a message is about, or nil if there
// is no room for another.
func (t *Stream) subOf(m *decode.Message, seed maphash.Seed) *Subscription {
	if t.latest != nil && t.latest.URL == m.TypeURL && m.TypeURL != "" {
		return t.latest
	}
	key, typ := t.Method.Type, t.Method.Type
	if m.TypeURL != "" {
		key, typ = Short(decode.TypeKey(m.TypeURL)), decode.ShortType(m.TypeURL)
	}
	s := t.Subs[key]
	if s == nil {
		if len(t.Subs) >= maxTypes {
			return nil
		}
		s = &Subscription{
			Stream: t, Key: key, Type: typ, Kind: kindOfType(typ, m.TypeURL), Lost: t.Lost,
			ByNonce: make(map[string]*Response), past: past{seed: seed}, Versions: past{seed: seed},
		}
		t.Subs[key], t.Order = s, append(t.Order, s)
	}
	if m.TypeURL != "" {
		s.URL = m.TypeURL
	}
	t.latest = s
	return s
}

func (k *Engine) request(e *session.Entry, c *Change) {
	t, m := c.Stream, c.Message
	s := t.subOf(m, k.Contents.Seeds[0])
	t.Requests++
	if s == nil {
		return
	}
	r := &Request{Seq: e.Seq, At: k.Now, Message: m, Size: e.Message.Size, Ordinal: s.Requests}
	r.Before.Lost, r.Before.Wild, r.Before.EverNamed, r.Before.Count = s.Lost, s.Wild, s.EverNamed, s.Names.Len()
	r.Before.Accepted, r.Before.version, r.Before.Newest, r.Before.LastEcho = s.Accepted, s.version, s.Newest(), s.lastEchoed
	c.Sub, c.Request = s, r
	s.Requests++
	if s.First == nil {
		s.First = r
	}
	k.judge(s, r)
	if m.Kind == decode.DeltaRequest {
		r.Given = k.wantDelta(s, r)
	} else {
		r.Given = k.wantSotw(s, r, c)
	}
	if m.Node != nil {
		t.lastNode = m.Node
		if t.Node == nil && m.Node.ID != "" {
			t.Node, t.NodeAt = m.Node, e.Seq
			k.Peers.joined(t, s, r.Given)
			k.clients.enter(t)
		}
	}
	if r.Ordinal == 0 {
		s.resume(m)
	}
	s.Last = r
	if s.Lost && m.Kind == decode.SotwRequest && r.Echoed != nil && r.Echoed == s.heard {
		// From here on everything is known again: what the client wants, what
		// it echoes, and for a full type what it has.
		s.Lost, s.Found = false, k.Now
		t.Moved++
	}
}

// judge finds the response that a request echoes, and enters its verdict.
func (k *Engine) judge(s *Subscription, r *Request) {
	newest := s.Newest()
	if r.Message.Nonce != "" {
		key := Short(r.Message.Nonce)
		r.Echoed = s.ByNonce[key]
		r.EchoedPast = r.Echoed == nil && s.past.Has(key)
	}
	r.Stale = r.Echoed != nil && r.Echoed != newest || r.EchoedPast
	switch {
	case r.Ordinal == 0, newest == nil && r.Message.Nonce == "", newest != nil && r.Message.Nonce == newest.Nonce,
		r.Message.Kind == decode.DeltaRequest && r.Message.Nonce == "":
		r.Fresh = true
	}
	if r.Echoed == nil {
		if r.Ordinal == 0 {
			s.version = r.Message.Version
		}
		return
	}
	n := r.Echoed
	if s.lastEchoed == nil || n.Ordinal > s.lastEchoed.Ordinal {
		s.lastEchoed = n
	}
	if n.Verdict != Unjudged {
		return
	}
	switch {
	case r.Message.Error != nil:
		n.Verdict, s.rejected = NACKed, n
		s.nack, s.nackSeq = Reason(r.Message.Error.Message), r.Seq
		s.blame(n)
	case r.Message.Kind == decode.DeltaRequest, r.Message.Version == n.Version:
		n.Verdict, s.Accepted, s.rejected, s.version = ACKed, n, nil, n.Version
		s.absolve(n)
	default:
		n.Verdict = Unclear
	}
	n.JudgedBy, r.Verdict = r, n.Verdict
	if took := k.Now.Sub(n.At); s.Stream.Echo == 0 || took < s.Stream.Echo {
		s.Stream.Echo = took
	}
	if r.Message.Kind == decode.SotwRequest {
		for i := len(s.Sent) - 1; i >= 0; i-- {
			if o := s.Sent[i]; o.Ordinal < n.Ordinal {
				if o.Verdict != Unjudged {
					break
				}
				o.Verdict = Folded
			}
		}
	}
}

// wantSotw enters the list of a state-of-the-world request.
func (k *Engine) wantSotw(s *Subscription, r *Request, c *Change) (given []string) {
	star := false
	for _, n := range r.Message.Names {
		star = star || n == "*"
	}
	list := c.List
	if list == nil {
		if len(r.Message.Names) > 0 || !s.Lost {
			s.lose() // there was no room for the list
		}
		list = &NameList{Names: r.Message.Names}
	}
	if list != s.Names.base {
		for _, n := range c.Added {
			if n != "*" && n != "" {
				n = decode.NormalName(n)
				if !s.Names.Has(n) {
					r.Added = append(r.Added, n)
				}
			}
		}
		for _, n := range c.Removed {
			if n = decode.NormalName(n); n != "*" && n != "" && s.Names.Has(n) {
				r.Removed = append(r.Removed, n)
			}
		}
		k.tracker.lists.retain(list)
		k.tracker.lists.release(s.Names.base)
		s.Names = names{base: list, size: len(list.index())}
	}
	switch {
	case star:
		s.Wild, s.EverNamed, s.EverWild = ExplicitWild, true, true
	case len(r.Message.Names) > 0:
		s.Wild, s.EverNamed = NotWild, true
	case !s.EverNamed:
		s.Wild, s.EverWild = LegacyWild, true
	default:
		s.Wild = NotWild
	}
	k.drop(s, r)
	return r.Added
}

// wantDelta enters what a delta request subscribes to and what it gives up.
func (k *Engine) wantDelta(s *Subscription, r *Request) (given []string) {
	m := r.Message
	if r.Ordinal == 0 && len(m.Subscribe) > 64 {
		if l := k.tracker.lists.keep(m.Subscribe); l != nil {
			s.Names = names{base: l, size: len(l.index())}
			for n := range l.index() {
				r.Added = append(r.Added, n)
			}
		}
	}
	for _, n := range m.Subscribe {
		switch n {
		case "*":
			s.Wild, s.EverWild, s.EverNamed = ExplicitWild, true, true
			continue
		case "":
			continue
		}
		n = decode.NormalName(n)
		s.EverNamed = true
		given = append(given, n)
		if s.Names.add(n) {
			r.Added = append(r.Added, n)
		}
	}
	if r.Ordinal == 0 && len(m.Subscribe) == 0 && r.Message.Nonce == "" {
		s.Wild, s.EverWild = LegacyWild, true
	}
	for _, n := range m.Unsubscribe {
		if n == "*" {
			s.Wild = NotWild
			s.EverNamed = true
			continue
		}
		if n = decode.NormalName(n); s.Names.remove(n) {
			r.Removed = append(r.Removed, n)
		}
	}
	k.drop(s, r)
	return given
}

// maxDropped bounds the names given up that a type remembers.
const MaxDropped = 1 << 16

// drop remembers the names that a client gave up.
func (k *Engine) drop(s *Subscription, r *Request) {
	gone := r.Removed
	if len(gone) > 0 && s.Dropped == nil {
		s.Dropped = make(map[string]dropped)
	}
	if len(s.Dropped)+len(gone) > MaxDropped {
		clear(s.Dropped)
	}
	for _, n := range gone {
		if len(s.Dropped) >= MaxDropped {
			break
		}
		s.Dropped[n] = dropped{At: k.Now, Delivered: s.Have.Get(n) != nil}
		if s.Wild == NotWild {
			s.Stream.Moved++
			s.Have.remove(n)
		}
	}
	switch {
	case s.Active():
		s.Cleared = time.Time{}
	case s.EverNamed && s.Cleared.IsZero():
		s.Cleared, s.ClearedAt = k.Now, r.Seq
	}
}

// resume fills what a reconnected client still has: it says so in delta by
// initial_resource_versions, in the state of the world by the version of its
// first request.
func (s *Subscription) resume(m *decode.Message) {
	s.Stream.Moved++
	var was *Subscription
	if p := s.Stream.Previous; p != nil {
		was = p.Subs[s.Key]
	}
	if m.Kind == decode.SotwRequest {
		if m.Version != "" && was != nil {
			s.Have, s.Seeded = was.Have.clone(), true
			for name := range was.Have.All() {
				if !s.Wants(name) {
					s.Have.remove(name)
				}
			}
		}
		s.Kept = s.Have.clone()
		return
	}
	if len(m.InitialVersions) == 0 {
		return
	}
	s.Initial, s.Seeded = make(map[string]string, len(m.InitialVersions)), true
	same := was != nil && was.Have.Len() == len(m.InitialVersions)
	for _, v := range m.InitialVersions {
		n := decode.NormalName(v.Name)
		s.Initial[n] = v.Version
		same = same && was.Have.Get(n) != nil && was.Have.Get(n).Version == v.Version
	}
	if same {
		s.Have = was.Have.clone()
	} else {
		for n, v := range s.Initial {
			it := &Resource{Name: n, Version: v}
			if was != nil {
				if old := was.Have.Get(n); old != nil && old.Version == v {
					it = old
				}
			}
			s.Have.put(it)
		}
	}
	s.Kept = s.Have.clone()
}

// sentHere says whether what the client has of a name was sent on this stream.
func (s *Subscription) SentHere(name string) bool {
	it := s.Have.Get(name)
	return it != nil && (!s.Seeded || s.Kept.Get(name) != it)
}
