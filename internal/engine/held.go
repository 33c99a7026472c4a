package engine

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Held is one resource that a client accepted.
type Held struct {
	Type, Name string
	Version    string // of the resource, or else of the response
	// Seq is an entry that has the resource as it was accepted.
	Seq  session.Seq
	Hash [16]byte // equal for equal content
}

// Held yields what a client has accepted last of each resource, type by type in
// no order. What it was sent and has not accepted is not among it. That a client
// accepted something does not prove that it uses it: it may be warming still.
func (k *Engine) Held(client string) iter.Seq[Held] {
	return func(yield func(Held) bool) {
		for s, it := range k.HeldOn(client) {
			if !yield(s.HeldAs(it)) {
				return
			}
		}
	}
}

// HeldOn yields the same, with the type on the stream that it was accepted on.
func (k *Engine) HeldOn(client string) iter.Seq2[*Subscription, *Resource] {
	return func(yield func(*Subscription, *Resource) bool) {
		c := k.clients.byID[client]
		if c == nil {
			return
		}
		there := make(map[string]bool)
		for s := range c.known() {
			for it := range s.Held() {
				there[s.Key+"\x00"+it.Name] = true
				if !yield(s, it) {
					return
				}
			}
			// What it accepted on the stream before it has, until it accepts
			// something on this one.
			was := c.left[s.Key].sub
			if was == nil || was == s || !s.carries() {
				continue
			}
			for it := range was.Held() {
				if !there[s.Key+"\x00"+it.Name] && !yield(was, it) {
					return
				}
			}
		}
	}
}

// HeldAs is what a resource is to a client that accepted it.
func (s *Subscription) HeldAs(it *Resource) Held {
	h := Held{Type: s.Type, Name: it.Name, Version: it.Version, Seq: it.Seq, Hash: it.Content.Facts.Hash}
	if n := s.Accepted; h.Version == "" && n != nil && n.Kind == decode.SotwResponse { // it has all there is
		if h.Version = n.Version; !n.beating {
			h.Seq = n.Seq
		}
	}
	return h
}

// AcceptedIn is the response in which the client first accepted a resource as it has
// it now, nil where that is not known for sure: a resource that came again is known
// by the last time only.
func (s *Subscription) AcceptedIn(it *Resource) *Response {
	if s.Seeded || s.Losses > 0 {
		return nil
	}
	for _, n := range s.Sent {
		once := n.stamp == it.Stamp && n.Seq == it.Seq && (n.WasFirst || s.Full() && n.Kind == decode.SotwResponse)
		if n.Verdict == ACKed && (once || s.Responses == 1) {
			return n
		}
	}
	return nil
}

// JudgedAt is when the verdict was given, zero if there is none.
func (n *Response) JudgedAt() time.Time { return n.judgedAt }

// carries says whether what the client accepted of the type is what it accepted
// on the stream before: it says by its version that it has something, and has
// accepted nothing on this one. In delta it says itself what it has.
func (s *Subscription) carries() bool { return s.Accepted == nil && s.announced }

// Held yields what the client has accepted last of each resource of the type on
// the stream. What it merely says that it has is not among it.
func (s *Subscription) Held() iter.Seq[*Resource] {
	return func(yield func(*Resource) bool) {
		open := make(map[string]bool)
		for name, u := range s.open.all() {
			open[name] = true
			if it := u.accepted; it != nil && it.Content != nil && s.open.knows(name) && !yield(it) {
				return
			}
		}
		for name, it := range s.Have.All() {
			if !open[name] && it.Content != nil && s.open.knows(name) && !yield(it) {
				return
			}
		}
	}
}

// Offered yields the names of which the client has not accepted what it was sent
// last: that, and what became of it.
func (s *Subscription) Offered() iter.Seq2[string, Offer] {
	return func(yield func(string, Offer) bool) {
		for name, u := range s.open.all() {
			o := Offer{Resource: s.Have.Get(name), Rejected: u.rejected(), Unclear: u.unclear(), By: u.by, Judged: u.by.judgedSeq}
			if o.Judged == 0 && u.by.refused {
				o.Judged = s.refused.last
			}
			if !yield(name, o) {
				return
			}
		}
	}
}

// Offer is what a client was sent last of a resource and has not accepted.
type Offer struct {
	*Resource // nil: it was taken back
	Rejected  bool
	Unclear   bool // the answer does not tell
	// By is the response that was rejected, or else the one that had it last, and
	// Judged its verdict; 0: there is none, or it is not known.
	By     *Response
	Judged session.Seq
}

// TypesOfClient yields the types that a client asks for, or asked for last.
func (k *Engine) TypesOfClient(id string) iter.Seq[*Subscription] {
	return func(yield func(*Subscription) bool) {
		if c := k.clients.byID[id]; c != nil {
			c.known()(yield)
		}
	}
}

// Unsure says that it is not known of every resource of the type what the client
// has accepted of it: part of the stream was not seen, or it was too much.
func (s *Subscription) Unsure() bool { return s.open.unsure }

// Holdings are what each client has accepted last, by type.
type Holdings map[string]map[string][]Held

// Holdings are those of all clients that are remembered and have accepted
// anything, each list by name.
func (k *Engine) Holdings() Holdings {
	out := make(Holdings)
	for id := range k.clients.byID {
		for h := range k.Held(id) {
			if out[id] == nil {
				out[id] = make(map[string][]Held)
			}
			out[id][h.Type] = append(out[id][h.Type], h)
		}
		for _, list := range out[id] {
			slices.SortFunc(list, func(a, b Held) int { return strings.Compare(a.Name, b.Name) })
		}
	}
	return out
}

// Clients are the clients that accepted anything, sorted.
func (h Holdings) Clients() []string { return slices.Sorted(maps.Keys(h)) }

// Types are the types of which a client accepted anything, in the order in
// which they are shown.
func (h Holdings) Types(client string) []string {
	return slices.SortedFunc(maps.Keys(h[client]), func(a, b string) int {
		return cmp.Or(cmp.Compare(xds.Rank(a), xds.Rank(b)), strings.Compare(a, b))
	})
}

// Of are the resources of a type that a client holds, by name.
func (h Holdings) Of(client, typ string) []Held { return h[client][typ] }
