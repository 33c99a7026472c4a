package effect

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Of is how far a client got with a resource; false if it was not sent any.
func (a *Account) Of(client, typ, name string) (Effect, bool) {
	cl := a.clients[client]
	if cl == nil {
		return Effect{}, false
	}
	at := key{typ, name}
	r := cl.resources[at]
	if r == nil || r.sent == nil {
		return Effect{}, false
	}
	return r.effect(cl, at), true
}

// Client is how far a client got with each resource, by type and name.
func (a *Account) Client(client string) []Effect {
	cl := a.clients[client]
	if cl == nil {
		return nil
	}
	var out []Effect
	for at, r := range cl.resources {
		if r.sent != nil {
			out = append(out, r.effect(cl, at))
		}
	}
	slices.SortFunc(out, func(a, b Effect) int {
		return cmp.Or(cmp.Compare(xds.Rank(a.Type), xds.Rank(b.Type)), strings.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
	})
	return out
}

func (r *resource) effect(cl *client, at key) Effect {
	s := r.sent
	e := Effect{
		Client: cl.id, Type: at.typ, Name: at.name, Version: s.version, Removed: s.removed,
		Sent: s.sent, Accepted: s.accepted, Since: s.since, Rejected: s.rejected,
		State: r.now.state, Why: r.now.why, Waits: r.now.waits,
	}
	if e.State == InEffect {
		e.Effective = s.effective
	}
	return e
}

// Counts are how many resources of each type a client was sent and has in effect.
// What was taken back does not count.
func (a *Account) Counts(client string) map[string]Count {
	cl := a.clients[client]
	if cl == nil {
		return nil
	}
	out := map[string]Count{}
	for at, r := range cl.resources {
		if r.sent == nil || r.sent.removed {
			continue
		}
		n := out[at.typ]
		n.All++
		switch r.now.state {
		case Unknown:
		case InEffect:
			n.InEffect++
			fallthrough
		default:
			n.Known++
		}
		out[at.typ] = n
	}
	return out
}

// Asked is where a client was asked what it holds. Nobody may write to it.
func (a *Account) Asked(client string) []Asked {
	if cl := a.clients[client]; cl != nil {
		return cl.asked
	}
	return nil
}

// Pending are the resources that a client accepted and does not use, as it said last,
// and of which that was not told yet: Tell says that it is now. Sub is where it asks
// for them.
func (a *Account) Pending(k *engine.Engine, client string) iter.Seq2[Effect, *engine.Subscription] {
	return func(yield func(Effect, *engine.Subscription) bool) {
		cl := a.clients[client]
		if cl == nil {
			return
		}
		v := a.view(k, cl)
		for _, at := range sorted(cl.open) {
			r := cl.resources[at]
			if r == nil || r.sent == nil || r.sent.told || r.sent.since.IsZero() || v.since(r.sent) {
				continue
			}
			if s := v.sub(at); s != nil && !yield(r.effect(cl, at), s) {
				return
			}
		}
	}
}

// Tell notes that it was told of a resource that it is not in effect, or that it was
// never sent.
func (a *Account) Tell(client, typ, name string) {
	if cl := a.clients[client]; cl != nil {
		if r := cl.resources[key{typ, name}]; r != nil && r.sent != nil {
			r.sent.told = true
		} else if r != nil {
			r.told = true
		}
	}
}

// Stranger is a resource that a client uses and was not sent in the session.
type Stranger struct {
	Type, Name string
	At         Moment // the entry that says so
}

// Strangers are the resources that a client uses and was never sent, though it asks
// for them, of which that was not told yet.
func (a *Account) Strangers(k *engine.Engine, client string) iter.Seq2[Stranger, *engine.Subscription] {
	return func(yield func(Stranger, *engine.Subscription) bool) {
		cl := a.clients[client]
		if cl == nil || len(cl.strange) == 0 {
			return
		}
		v := a.view(k, cl)
		if v.fail != "" || !cl.whole {
			return
		}
		for _, at := range sorted(cl.strange) {
			r := cl.resources[at]
			if r == nil || r.told || r.sent != nil || v.shared(at) {
				continue
			}
			if s := v.sub(at); s != nil && !yield(Stranger{at.typ, at.name, r.at}, s) {
				return
			}
		}
	}
}

func sorted(set map[key]bool) []key {
	out := make([]key, 0, len(set))
	for at := range set {
		out = append(out, at)
	}
	slices.SortFunc(out, func(a, b key) int { return cmp.Or(strings.Compare(a.typ, b.typ), strings.Compare(a.name, b.name)) })
	return out
}
