package engine

import (
	"cmp"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// subOf returns the state of the type that a message is about, or nil if there
// is no room for another.
func (k *Engine) subOf(t *Stream, m *decode.Message) *Subscription {
	if s := t.byURL(m.TypeURL); s != nil {
		s.Stream = t
		return s
	}
	key, typ := t.Method.Type, t.Method.Type
	if m.TypeURL != "" {
		key, typ = Short(xds.TypeKey(m.TypeURL)), xds.ShortType(m.TypeURL)
	}
	s := t.Subs[key]
	if s == nil {
		if len(t.Subs) >= maxTypes {
			return nil
		}
		s = &Subscription{
			Key: key, Type: typ, Facts: factsOf(typ, m.TypeURL), Lost: t.Lost, seed: k.lists.seed,
			usedNonces: used{seed: k.lists.seed}, Versions: used{seed: k.lists.seed},
		}
		t.Subs[key], t.Order = s, append(t.Order, s)
	}
	if m.TypeURL != "" {
		s.URL = m.TypeURL
	}
	s.Stream = t
	return s
}

// request says what a request does, and enters it. Its verdict and its change
// of names are independent of each other: one request can do both.
func (k *Engine) request(e *session.Entry, c *Change, t *Stream, whole bool) {
	m := c.Message
	if t.Alive() {
		t.Requests++
		k.joinPolls(t, m, e.Seq)
	}
	s := k.subOf(t, m)
	alone := s == nil || !t.Alive()
	if alone { // there is no room for it, or it comes too late
		s = &Subscription{Stream: t, Facts: factsOf(c.Type, m.TypeURL), Lost: true}
		c.Uncertain = true
	}
	r := &Request{On: t.ID, Seq: e.Seq, At: k.Now, Message: m, Size: e.Message.Size, Ordinal: s.Requests}
	r.Before.Lost, r.Before.Wild, r.Before.EverNamed, r.Before.Count = s.Lost, s.Wild, s.EverNamed, s.Names.Len()
	r.Before.Accepted, r.Before.version, r.Before.Newest, r.Before.LastEcho = s.Accepted, s.version, s.Newest(), s.lastEchoed
	c.Accepted, c.None = s.accepted()
	word := k.judge(s, r, c.Uncertain)
	c.Uncertain = c.Uncertain || r.EchoedPast && s.unanswered
	if n := r.Echoed; word != "" && n != nil {
		if c.Answers = n.Seq; n.judgedSeq == r.Seq && r.Overrules == 0 {
			c.Waited = max(k.Passed(n.At, k.Now), 1)
		}
	}
	// On a stream whose beginning was not seen, an echoed nonce proves that
	// this is not the first request.
	first := s.Requests == 0 && !(c.Uncertain && m.Nonce != "")
	s.Requests++
	if s.First == nil {
		s.First, s.nameless, s.announced = r, r.Named() == 0, m.Version != ""
	}
	switch {
	case !whole, k.o.Envelopes:
	case m.Kind == decode.DeltaRequest:
		k.wantDelta(s, r, c, first)
	default:
		k.wantSotw(s, r, c, first)
	}
	c.All = s.Everything()
	c.say(word, first)
	if alone {
		k.lists.release(s.list)
		return
	}
	c.Sub, c.Request = s, r
	if m.Node != nil && m.Node.ID != "" && t.Node == nil {
		t.Node, t.NodeAt = m.Node, e.Seq
		if t.polls == nil {
			k.Peers.joined(t, s, r.Given)
		}
	}
	k.account(t)
	if !whole {
		return
	}
	if r.Ordinal == 0 && t.Previous == nil && (m.Version != "" || len(m.InitialVersions) > 0) && k.Peers.hadMore(t) {
		s.lose() // what it had before is forgotten
	}
	if r.Ordinal == 0 && !k.o.Names {
		k.resume(s, m)
	}
	if m.Kind == decode.DeltaRequest && !k.o.Names {
		k.recall(s, r.Given)
	}
	s.prior, s.Last = s.Last, r
	if s.namingSeq == 0 && r.Named() > 0 {
		s.namingSeq, s.namingOn = r.Seq, t.ID
	}
	if s.Lost && m.Kind == decode.SotwRequest && r.Echoed != nil && r.Echoed == s.heard {
		// From here on everything is known again: what the client wants, what
		// it echoes, and for a full type what it has.
		s.Lost, s.Found = false, k.Now
		t.Moved++
	}
}

// say finds the words for a request.
func (c *Change) say(verdict string, first bool) {
	names := ""
	switch {
	case first || len(c.Added) > 0:
		names = SUB
	case len(c.Removed) > 0:
		names = UNSUB
	}
	switch {
	case verdict == "":
		c.What = cmp.Or(names, REQ)
	case names == "":
		c.What = verdict
	default:
		c.What, c.Also = verdict, []string{names}
	}
}
