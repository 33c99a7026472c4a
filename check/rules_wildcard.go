package check

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// relaxed is the severity of rules where older texts of the protocol say
// otherwise: streams of version 2 follow these.
func (x *event) relaxed(s Severity) Severity {
	if x.stream.Method.V2 {
		return Info
	}
	return s
}

// restarted says whether a stream looks like that of a new process, not like
// one that was reconnected.
func (x *event) restarted() bool {
	t, p := x.stream, x.stream.Previous
	if t.OtherProgram(p) {
		return true
	}
	if t.Opened.Sub(p.EndedAt) <= x.k.timers.Rejoin {
		return false
	}
	for _, s := range t.Order {
		if s.First != nil && (s.First.Message.Version != "" || len(s.First.Message.InitialVersions) > 0) {
			return false
		}
	}
	return true
}

func accidentalWildcard(x *event) {
	s, r, p := x.sub, x.req, x.stream.Previous
	if r.Ordinal != 0 || !s.Full() || s.Wild != engine.LegacyWild || p == nil {
		return
	}
	was := p.Subs[s.Key]
	if was == nil || was.Lost || !was.EverNamed || was.Active() || was.BeganNameless() || x.restarted() {
		return
	}
	x.provef(proof{severity: x.relaxed(Warning), cause: "-", seqs: []session.Seq{was.ClearedAt, r.Seq}},
		"no names, which asks for all of %s; before the reconnect the client had named some and given them up", s.Type)
}

func emptyFirstRequest(x *event) {
	if x.req.Ordinal == 0 && x.req.Message.Kind == decode.SotwRequest && x.sub.Named() && x.req.Named() == 0 {
		x.provef(proof{severity: Info, cause: "-"}, "the first request of %s has no names", x.sub.Type)
	}
}

// clearedBefore says whether the client had named resources, had given up all
// of them, and the server must have heard so.
func (x *event) clearedBefore() bool {
	s := x.sub
	return s.EverNamed && !s.Active() && !s.BeganNameless() && !s.Cleared.IsZero() && x.now.Sub(s.Cleared) > x.flight()
}

func clearedListAsWildcard(x *event) {
	s, n := x.sub, x.resp
	sent := n.Count - len(n.Heartbeats)
	if sent == 0 || s.Exempt() || s.OtherNames() || !x.clearedBefore() {
		return
	}
	x.provef(proof{severity: x.relaxed(Warning), cause: "-", names: firstNames(n.Resolved), seqs: []session.Seq{s.ClearedAt, n.Seq}},
		"%s of %s sent %v after the client had given up its last name", words.Counted(sent, "resource", "resources"), s.Type, words.Round(x.now.Sub(s.Cleared)))
}

func wildcardUnsubscribeIgnored(x *event) {
	s, n := x.sub, x.resp
	grace := x.flight() + x.k.timers.ACK
	ended := s.WildEnded
	if ended.IsZero() || x.now.Sub(ended) <= grace || s.Exempt() || s.OtherNames() {
		return
	}
	var extra []string
	for _, it := range n.Resolved {
		if !s.WantedLately(it.Name, x.now, grace) && !s.Names.Covers(it.Name) {
			extra = append(extra, it.Name)
		}
	}
	if len(extra) > 0 {
		x.provef(proof{severity: Info, names: extra, cause: "-"},
			"%s not among the names asked for since the wildcard was given up %v before", words.List(extra), words.Round(x.now.Sub(ended)))
	}
}

func explicitWildcardOnNamedType(x *event) {
	s := x.sub
	if s.Named() && s.Facts.Envoy && s.Wild == engine.ExplicitWild && x.req.Before.Wild != engine.ExplicitWild {
		x.provef(proof{severity: Info, cause: "-", names: []string{"*"}}, "\"*\" of %s, which is asked for by name", s.Type)
	}
}

// maxWidened bounds the streams whose updates are compared with those of
// others.
const maxWidened = 64

func noteWidened(x *event) {
	s, r := x.sub, x.req
	w := wishesOf(s)
	if r.Message.Kind != decode.DeltaRequest || r.Ordinal == 0 || s.Wild != engine.LegacyWild || len(r.Added) == 0 || s.Exempt() {
		return
	}
	w.widened = r
	if w.watched {
		return
	}
	h := &x.k.hints
	h.widened = slices.DeleteFunc(h.widened, func(o *engine.Subscription) bool { return o.Stream.Ended })
	if len(h.widened) < maxWidened {
		w.watched = true
		h.widened = append(h.widened, s)
	}
}

func legacyWildcardLost(x *event) {
	x.wildcardRemoved()
	x.wildcardForgotten()
}

// wildcardRemoved reports that all that only the wildcard had brought was
// removed in answer to a name.
func (x *event) wildcardRemoved() {
	s, n, from := x.sub, x.resp, wishesOf(x.sub).widened
	if from == nil || s.Wild != engine.LegacyWild {
		return
	}
	if len(n.Removed) > 0 || x.now.Sub(from.At) > x.k.timers.DNE || slices.ContainsFunc(from.Added, func(name string) bool {
		it := s.Have.Get(name)
		return it != nil && it.Stamp == x.k.Stamp
	}) {
		wishesOf(s).widened = nil
	}
	lost := make([]string, 0, len(n.Removed))
	for _, it := range n.Removed {
		if !s.Names.Has(it.Name) {
			lost = append(lost, it.Name)
		}
	}
	if len(lost) == 0 || x.now.Sub(from.At) > x.k.timers.DNE {
		return
	}
	for name := range s.Have.All() {
		if !s.Names.Has(name) {
			return // the wildcard has brought it
		}
	}
	for _, t := range x.k.Streams {
		if o := t.Subs[s.Key]; t != x.stream && o != nil && x.stream.SameGroup(t) && !o.Lost && o.Wild != engine.NotWild && o.Responses > 0 &&
			!slices.ContainsFunc(lost[:min(len(lost), maxCompared)], func(name string) bool { return o.Have.Get(name) != nil }) {
			return // they are gone everywhere
		}
	}
	x.provef(proof{severity: x.relaxed(Warning), names: lost, cause: "-", seqs: []session.Seq{from.Seq, n.Seq}},
		"%s removed after the client had asked for %s besides everything", words.List(lost), words.List(from.Added))
}

// maxCompared bounds the changes of one response that are compared with what
// others get.
const maxCompared = 32

// wildcardForgotten reports that resources which only the wildcard brings are
// no longer updated, although another client of the same group gets them.
func (x *event) wildcardForgotten() {
	s, n := x.sub, x.resp
	if len(x.k.hints.widened) == 0 || len(n.Changed) == 0 || s.Wild == engine.NotWild {
		return
	}
	for _, o := range x.k.hints.widened {
		if o == s || o.Key != s.Key || o.Lost || o.Stream.Ended || o.Wild != engine.LegacyWild || !o.Stream.SameGroup(x.stream) {
			continue
		}
		var behind []*engine.Resource // as the other client has them
		for i, it := range n.Changed[:min(len(n.Changed), maxCompared)] {
			old := o.Have.Get(it.Name)
			if old != nil && old.Content != nil && !o.Names.Has(it.Name) && old.Content.SameAs(n.Before[i].Content) {
				behind = append(behind, old)
			}
		}
		if len(behind) == 0 {
			continue
		}
		x.after(x.k.timers.DNE, func(x *event) {
			var names []string
			for _, old := range behind {
				now, there := o.Have.Get(old.Name), s.Have.Get(old.Name)
				if now != nil && there != nil && now.Content.SameAs(old.Content) && !there.Content.SameAs(old.Content) {
					names = append(names, old.Name)
				}
			}
			if len(names) == 0 || o.Stream.Ended || o.Lost || s.Lost || o.Wild != engine.LegacyWild || o.Names.Len() == 0 {
				return
			}
			x.stream, x.sub = o.Stream, o
			x.provef(proof{severity: x.relaxed(Warning), names: names, cause: "-", seqs: []session.Seq{o.Last.Seq, n.Seq}},
				"%s changed for another client %v ago, but not for this one, which has asked for %s besides everything", words.List(names), words.Round(x.k.timers.DNE), words.Counted(o.Names.Len(), "name", "names"))
		})
	}
}
