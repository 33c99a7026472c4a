package engine

import (
	"iter"
	"slices"

	"github.com/xdsproxy/xdsproxy/internal/session"
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
		c := k.clients.byID[client]
		if c == nil {
			return
		}
		for s := range c.known() {
			for it := range s.Held() {
				h := Held{Type: s.Type, Name: it.Name, Version: it.Version, Seq: session.Seq(it.Stamp)}
				if h.Version == "" && s.Accepted != nil {
					h.Version = s.Accepted.Version
				}
				if it.Content != nil {
					h.Hash = it.Content.Facts.Hash
				}
				if !yield(h) {
					return
				}
			}
		}
	}
}

// Held yields what the client has accepted last of each resource of the type on
// the stream.
func (s *Subscription) Held() iter.Seq[*Resource] {
	return func(yield func(*Resource) bool) {
		open := make(map[string]*Resource)
		for name, u := range s.open.all() {
			open[name] = u.accepted
			if u.accepted != nil && !yield(u.accepted) {
				return
			}
		}
		for name, it := range s.Have.All() {
			if _, is := open[name]; !is && !yield(it) {
				return
			}
		}
	}
}

// Unsure says that it is not known of every resource of the type what the client
// has accepted of it: part of the stream was not seen, or it was too much.
func (s *Subscription) Unsure() bool { return s.open.unsure }

// Clients are the clients that are known, sorted.
func (k *Engine) Clients() []string {
	out := make([]string, 0, len(k.clients.byID))
	for id := range k.clients.byID {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}
