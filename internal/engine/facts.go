package engine

import (
	"iter"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/decode/origin"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// IsGlob says whether a name stands for all resources below a path, such as
// "xdstp://authority/type/group/*".
func IsGlob(name string) bool {
	path, _, _ := strings.Cut(name, "?")
	return strings.HasSuffix(path, "/*")
}

// Covers says whether a name is below a glob that is asked for.
func (n *names) Covers(name string) bool {
	path, context, more := strings.Cut(name, "?")
	if more {
		context = "?" + context
	}
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		if n.Has(path[:i] + "/*" + context) {
			return true
		}
	}
	return false
}

// Asks says whether the client names a resource, itself or by the collection
// that it is in.
func (s *Subscription) Asks(name string) bool {
	if s.Names.Has(name) {
		return true
	}
	glob := globOf(name)
	return glob != "" && s.Names.Has(glob)
}

// globOf is the glob that a name is directly below, with the same context
// parameters; "" if it is below none.
func globOf(name string) string {
	path, context, more := strings.Cut(name, "?")
	i := strings.LastIndexByte(path, '/')
	switch {
	case i < 0:
		return ""
	case more:
		return path[:i+1] + "*?" + context
	}
	return path[:i+1] + "*"
}

// News is what a response brought that was not there before, or all of it if
// there was nothing.
func (n *Response) News() [2][]*Resource {
	if len(n.Added)+len(n.Changed) == 0 {
		return [2][]*Resource{n.Resolved}
	}
	return [2][]*Resource{n.Added, n.Changed}
}

// AddedOrChanged yields the resources that were not there before, and those that
// were with another content.
func (n *Response) AddedOrChanged() iter.Seq[*Resource] {
	return func(yield func(*Resource) bool) {
		for _, list := range [2][]*Resource{n.Added, n.Changed} {
			for _, it := range list {
				if !yield(it) {
					return
				}
			}
		}
	}
}

// Changes says whether a request asks for more or less than the one before.
func (r *Request) Changes(s *Subscription) bool {
	return len(r.Added)+len(r.Removed) > 0 || r.Before.Wild != s.Wild
}

// AllRejectedSince says whether every response after n that was answered was
// rejected.
func (s *Subscription) AllRejectedSince(n *Response) bool {
	for i := len(s.Sent) - 1; i >= 0 && s.Sent[i].Ordinal > n.Ordinal; i-- {
		if v := s.Sent[i].Verdict; v != NACKed && v != Unjudged {
			return false
		}
	}
	return true
}

// Fresh calls f for each resource of a response that is new to the stream, or
// changed, or has no name ("") by which that could be told.
func (n *Response) Fresh(f func(name string, c *Content)) {
	for it := range n.AddedOrChanged() {
		f(it.Name, it.Content)
	}
	for _, c := range n.Nameless {
		f("", c)
	}
}

// Scope is the scope key of an item, or "".
func (it *Resource) Scope() string {
	if it == nil || it.Content == nil {
		return ""
	}
	return it.Content.Facts.ScopeKey
}

// Sources are the objects that a resource was made of, and whether there are more.
func (it *Resource) Sources() ([]origin.Source, bool) {
	if it == nil || it.Content == nil {
		return nil, false
	}
	return it.Content.Facts.Sources, it.Content.Facts.MoreSources
}

func (t *Stream) WantsAnything() bool {
	for _, s := range t.Order {
		if s.Active() && !s.Exempt() {
			return true
		}
	}
	return false
}

// OtherNames says whether servers answer with other names than those asked
// for: virtual hosts, and what Istio's ambient mode asks for by address.
func (s *Subscription) OtherNames() bool { return s.Type == "VHDS" || !s.Facts.Envoy }

// TakesBoth says whether the client is one of the Envoys that accept version 3
// where they asked for version 2 (envoy PR#12913).
func (t *Stream) TakesBoth() bool {
	is := t.program()
	return is.name == "envoy" && (strings.HasPrefix(is.version, "1.16.") || strings.HasPrefix(is.version, "1.17."))
}

// BeganNameless says whether the first request of the type asked for
// everything by naming nothing.
func (s *Subscription) BeganNameless() bool { return s.nameless }

// SameGroup says whether two clients have the same cluster and server.
func (t *Stream) SameGroup(o *Stream) bool {
	return t.Node != nil && o.Node != nil && t.Node.Cluster == o.Node.Cluster && t.Server == o.Server
}

// Owed says whether the client has to give a verdict on a response that has
// just come: it asked for the type before, and the response can be named.
func (s *Subscription) Owed(n *Response) bool {
	return s.First != nil && n.Nonce != "" && !s.Exempt()
}

// VersionBefore is the version_info that a client of the state of the world has
// when it comes to a response, if it accepts what it has not answered yet; it is
// not known if it has neither accepted nor rejected the one before.
func (s *Subscription) VersionBefore(n *Response) (version string, known bool) {
	for _, o := range slices.Backward(s.Sent) {
		if o.Ordinal < n.Ordinal && o.Verdict != NACKed {
			return o.Version, o.Verdict != Unclear
		}
	}
	return Short(s.version), true
}

// LastWith is the response that had a resource, or the newest if that is not
// known.
func (s *Subscription) LastWith(carrier *Response) session.Seq {
	if carrier == nil {
		carrier = s.Newest()
	}
	return carrier.Seq
}

// Carrier is the response that had a resource last, nil if that is not known.
func (s *Subscription) Carrier(it *Resource) *Response {
	n := s.Newest()
	switch {
	case s.Stream.Delta():
		if s.nackSeq == 0 && n.Verdict == ACKed {
			return n // all were accepted, so it makes no difference
		}
		return nil
	case s.Full():
		return n
	}
	for _, o := range slices.Backward(s.Sent) {
		if o.Version == it.Version {
			return o
		}
	}
	return nil
}

// NeverHad says whether a client that has accepted all that was sent cannot
// have a resource at a version. Envoy keeps the version at which a resource
// has changed, gRPC takes that of the newest response.
func (s *Subscription) NeverHad(version string, it *Resource) bool {
	if s.Stream.Delta() {
		return true
	}
	if !s.Versions.Has(Short(version)) {
		return !s.Versions.Full()
	}
	n := s.Newest()
	return s.Stream.GRPCClient() || slices.Contains(n.Added, it) || slices.Contains(n.Changed, it)
}

// Referred does the work. Without names it is about all there are. Of clusters
// only those count that traffic goes to.
func (t *Stream) Referred(typ string, names map[string]struct{}) map[string]Referrer {
	return t.referred(xds.ByShort(typ).Parents, typ, names, false)
}

// Mentioned finds, for names of clusters, a resource on the stream that refers to
// each for whatever use, as it was sent last. It is not known what does where
// nothing was sent that could, or not all of it was seen.
func (t *Stream) Mentioned(names map[string]struct{}) (by map[string]Referrer, known bool) {
	for _, p := range xds.ByShort("CDS").Parents {
		if s := t.Sub(p); s != nil {
			if s.Lost {
				return nil, false
			}
			known = known || s.Responses > 0
		}
	}
	if !known {
		return nil, false
	}
	return t.referred(append([]string{"CDS"}, xds.ByShort("CDS").Parents...), "CDS", names, true), true
}

func (t *Stream) referred(parents []string, typ string, names map[string]struct{}, whatever bool) map[string]Referrer {
	out := make(map[string]Referrer)
	for _, p := range parents {
		s := t.Sub(p)
		if s == nil {
			continue
		}
		used := t.usedRoutes(p)
		for _, it := range s.Have.All() {
			if _, is := used[it.Name]; used != nil && !is {
				continue
			}
			for _, ref := range it.Refs() {
				if ref.Type != typ || typ == "CDS" && ref.Use != inspect.UseTraffic && !whatever {
					continue
				}
				if _, asked := names[ref.Name]; names != nil && !asked {
					continue
				}
				old, found := out[ref.Name]
				if found && (old.Sub.Type < p || old.Sub.Type == p && old.Item.Name <= it.Name) {
					continue
				}
				out[ref.Name] = Referrer{Sub: s, Item: it, Ref: ref}
			}
		}
	}
	return out
}

// usedRoutes are the routes that listeners and scopes refer to. It is nil for
// other types, and if the listeners are not known: then all may be in use. Those
// of listeners that a client drains are not among them, see former.
func (t *Stream) usedRoutes(typ string) map[string]struct{} {
	lds := t.Sub("LDS")
	if typ != "RDS" || lds == nil || lds.Lost || lds.Responses == 0 {
		return nil
	}
	used := make(map[string]struct{})
	for _, s := range []*Subscription{lds, t.Sub("SRDS")} {
		if s == nil {
			continue
		}
		for _, it := range s.Have.All() {
			for _, ref := range it.Refs() {
				if ref.Type == "RDS" {
					used[ref.Name] = struct{}{}
				}
			}
		}
	}
	for _, name := range t.static(t.Sub("RDS")) {
		used[name] = struct{}{}
	}
	return used
}

// Refs are the resources that one refers to; none if its content is not known.
func (it *Resource) Refs() []inspect.Ref {
	if it == nil || it.Content == nil {
		return nil
	}
	return it.Content.Facts.Refs
}

// Referrer is a resource that refers to another.
type Referrer struct {
	Sub  *Subscription
	Item *Resource
	Ref  inspect.Ref
}

// debugWord begins a word of protobuf's own, which is another one in each process.
const debugWord = "goo.gle/debug"

// CauseFirst is a text of a peer with why it rejects something in front of what.
// Envoy prints what it could not take first, in many lines after debugWord.
func CauseFirst(s string) string {
	end := strings.LastIndex(s, "\n: ")
	if !strings.HasPrefix(s, debugWord) || end < 0 {
		return s
	}
	_, what, _ := strings.Cut(s[:end], " ")
	return strings.TrimSpace(s[end+len("\n: "):]) + ", in " + strings.TrimSpace(what)
}

// Omitted stands where the middle of a text was left out. Beside it may stand
// parts of words.
const Omitted = " … "

// Reason is a text of a peer in one line. Of a long one its middle goes: Envoy
// puts what it rejects in front of why, gRPC behind it.
func Reason(s string) string {
	const most, half = 300, 148
	if s = CauseFirst(s); len(s) > 1<<16 {
		s = s[:1<<15] + s[len(s)-1<<15:]
	}
	s = strings.Join(slices.DeleteFunc(strings.Fields(s), func(w string) bool { return strings.HasPrefix(w, debugWord) }), " ")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:half], "") + Omitted + strings.ToValidUTF8(s[len(s)-half:], "")
}
