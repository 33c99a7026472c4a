package check

import (
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// isGlob says whether a name stands for all resources below a path, such as
// "xdstp://authority/type/group/*".
func isGlob(name string) bool {
	path, _, _ := strings.Cut(name, "?")
	return strings.HasSuffix(path, "/*")
}

// covers says whether a name is below a glob that is asked for.
func (n *names) covers(name string) bool {
	path, context, more := strings.Cut(name, "?")
	if more {
		context = "?" + context
	}
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		if n.has(path[:i] + "/*" + context) {
			return true
		}
	}
	return false
}

// asks says whether the client names a resource, itself or by the collection
// that it is in.
func (s *subscription) asks(name string) bool {
	if s.names.has(name) {
		return true
	}
	i := len(name) - 1
	for i >= 0 && name[i] != '/' {
		i--
	}
	return i >= 0 && s.names.has(name[:i+1]+"*")
}

// news is what a response brought that was not there before, or all of it if
// there was nothing.
func (n *response) news() [2][]*item {
	if len(n.added)+len(n.changed) == 0 {
		return [2][]*item{n.resolved}
	}
	return [2][]*item{n.added, n.changed}
}

// changes says whether a request asks for more or less than the one before.
func (r *request) changes(s *subscription) bool {
	return len(r.added)+len(r.removed) > 0 || r.before.wild != s.wild
}

// allRejectedSince says whether every response after n that was answered was
// rejected.
func (s *subscription) allRejectedSince(n *response) bool {
	for i := len(s.sent) - 1; i >= 0 && s.sent[i].ordinal > n.ordinal; i-- {
		if v := s.sent[i].verdict; v != rejected && v != unjudged {
			return false
		}
	}
	return true
}

// fresh calls f for each resource of a response that is new to the stream, or
// changed, or has no name ("") by which that could be told.
func (n *response) fresh(f func(name string, c *content)) {
	for _, list := range [][]*item{n.added, n.changed} {
		for _, it := range list {
			f(it.name, it.content)
		}
	}
	for _, c := range n.nameless {
		f("", c)
	}
}

// scope is the scope key of an item, or "".
func (it *item) scope() string {
	if it == nil || it.content == nil {
		return ""
	}
	return it.content.facts.ScopeKey
}

func (t *talk) wantsAnything() bool {
	for _, s := range t.order {
		if s.active() && !s.exempt() {
			return true
		}
	}
	return false
}

// otherNames says whether servers answer with other names than those asked
// for: virtual hosts, and what Istio's ambient mode asks for by address.
func (s *subscription) otherNames() bool { return s.typ == "VHDS" || s.kind&envoyType == 0 }

// takesBoth says whether the client is one of the Envoys that accept version 3
// where they asked for version 2 (envoy PR#12913).
func (t *talk) takesBoth() bool {
	return t.envoyClient() && (strings.HasPrefix(t.node.UserAgentVersion, "1.16.") || strings.HasPrefix(t.node.UserAgentVersion, "1.17."))
}

// beganNameless says whether the first request of the type asked for
// everything by naming nothing.
func (s *subscription) beganNameless() bool { return s.first != nil && s.first.named() == 0 }

// sameGroup says whether two clients have the same cluster and server.
func (t *talk) sameGroup(o *talk) bool {
	return t.node != nil && o.node != nil && t.node.Cluster == o.node.Cluster && t.server == o.server
}

// owed says whether the client has to give a verdict on a response that has
// just come: it asked for the type before, and the response can be named.
func (s *subscription) owed(n *response) bool {
	return s.first != nil && n.nonce != "" && !s.exempt()
}

// lastWith is the response that had a resource, or the newest if that is not
// known.
func (s *subscription) lastWith(carrier *response) session.Seq {
	if carrier == nil {
		carrier = s.newest()
	}
	return carrier.seq
}

// carrier is the response that had a resource last, nil if that is not known.
func (s *subscription) carrier(it *item) *response {
	n := s.newest()
	switch {
	case s.talk.delta():
		if s.nackSeq == 0 && n.verdict == accepted {
			return n // all were accepted, so it makes no difference
		}
		return nil
	case s.full():
		return n
	}
	for _, o := range slices.Backward(s.sent) {
		if o.version == it.version {
			return o
		}
	}
	return nil
}

// neverHad says whether a client that has accepted all that was sent cannot
// have a resource at a version. Envoy keeps the version at which a resource
// has changed, gRPC takes that of the newest response.
func (s *subscription) neverHad(version string, it *item) bool {
	if s.talk.delta() {
		return true
	}
	if !s.versions.has(short(version)) {
		return !s.versions.full()
	}
	n := s.newest()
	return s.talk.grpcClient() || slices.Contains(n.added, it) || slices.Contains(n.changed, it)
}

// parents are the types whose resources refer to those of a type.
func parents(typ string) []string {
	switch typ {
	case "CDS":
		return []string{"LDS", "RDS", "VHDS"}
	case "EDS":
		return []string{"CDS"}
	case "RDS":
		return []string{"LDS", "SRDS"}
	case "SDS", "ECDS":
		return []string{"LDS", "CDS"}
	case "SRDS":
		return []string{"LDS"}
	case "VHDS":
		return []string{"RDS"}
	}
	return nil
}

// referred does the work. Without names it is about all there are.
func (t *talk) referred(typ string, names map[string]struct{}) map[string]referrer {
	out := make(map[string]referrer)
	for _, p := range parents(typ) {
		s := t.sub(p)
		if s == nil {
			continue
		}
		used := t.usedRoutes(p)
		for _, it := range s.have.all() {
			if _, is := used[it.name]; used != nil && !is {
				continue
			}
			for _, ref := range it.refs() {
				if ref.Type != typ || typ == "CDS" && ref.Use != decode.UseTraffic {
					continue
				}
				if _, asked := names[ref.Name]; names != nil && !asked {
					continue
				}
				old, found := out[ref.Name]
				if found && (old.sub.typ < p || old.sub.typ == p && old.item.name <= it.name) {
					continue
				}
				out[ref.Name] = referrer{sub: s, item: it, ref: ref}
			}
		}
	}
	return out
}

// usedRoutes are the routes that listeners and scopes refer to. It is nil for
// other types, and if the listeners are not known: then all may be in use. A
// client keeps the routes of a listener that it drains, and asks for them
// still, though no listener has them any more.
func (t *talk) usedRoutes(typ string) map[string]struct{} {
	lds := t.sub("LDS")
	if typ != "RDS" || lds == nil || lds.lost || lds.responses == 0 {
		return nil
	}
	used := make(map[string]struct{})
	for _, s := range []*subscription{lds, t.sub("SRDS")} {
		if s == nil {
			continue
		}
		for _, it := range s.have.all() {
			for _, ref := range it.refs() {
				if ref.Type == "RDS" {
					used[ref.Name] = struct{}{}
				}
			}
		}
	}
	return used
}

// refs are the resources that one refers to; none if its content is not known.
func (it *item) refs() []decode.Ref {
	if it == nil || it.content == nil {
		return nil
	}
	return it.content.facts.Refs
}

// referrer is a resource that refers to another.
type referrer struct {
	sub  *subscription
	item *item
	ref  decode.Ref
}

// reason is a text of a peer in one line. Of a long one its middle goes: Envoy
// puts what it rejects in front of why, gRPC behind it.
func reason(s string) string {
	const most, half = 300, 148
	if len(s) > 1<<16 {
		s = s[:1<<15] + s[len(s)-1<<15:]
	}
	// A word of protobuf's own, which is another one in each process.
	s = strings.Join(slices.DeleteFunc(strings.Fields(s), func(w string) bool { return strings.HasPrefix(w, "goo.gle/debug") }), " ")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:half], "") + " … " + strings.ToValidUTF8(s[len(s)-half:], "")
}
