package engine

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	scripts "github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
)

// TestLedger: of conversations as text, what each entry means and what it
// changes of all that the account can be asked. A line begins with what it is
// about; "-" is before one that is not there any more.
//
// Conversations are those of testdata/ledger, and of those that rules are tested
// with the ones that testdata/ledger/list names.
func TestLedger(t *testing.T) {
	dir := filepath.Join("testdata", "ledger")
	list, err := filepath.Glob(filepath.Join(dir, "*.xds"))
	if err != nil || len(list) == 0 {
		t.Fatal(err, list)
	}
	more, err := os.ReadFile(filepath.Join(dir, "list"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(more)) {
		list = append(list, filepath.Join("..", "..", "check", filepath.FromSlash(path)))
	}
	for _, path := range list {
		name := strings.TrimSuffix(filepath.Base(path), ".xds")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := scripts.Parse(path, text)
			if err != nil {
				t.Fatal(err)
			}
			golden.Is(t, filepath.Join(dir, name+".txt"), ledgerOf(t, s, text))
		})
	}
}

// ledger writes down what an account says, and after each entry only what has
// changed of that.
type ledger struct {
	k        *Engine
	began    time.Time
	said     map[string]string
	now      map[string]string
	names    map[string]struct{} // that came up anywhere
	editions map[string]*Editions
	out      strings.Builder
}

func ledgerOf(t *testing.T, s *scripts.Script, text []byte) string {
	t.Helper()
	o := Options{}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "# past="); ok {
			if _, err := fmt.Sscan(n, &o.Past); err != nil {
				t.Fatal(err)
			}
		}
		if n, ok := strings.CutPrefix(line, "# static="); ok {
			o.Static = strings.Fields(n)
		}
	}
	l := &ledger{k: New(o), said: make(map[string]string), names: make(map[string]struct{}), editions: make(map[string]*Editions)}
	excerpts := map[string]*Excerpt{NACK: NewExcerpt(), ACK: NewExcerpt(), SUB: NewExcerpt(), RESP: NewExcerpt(), DELTA: NewExcerpt(), "held": NewExcerpt(), "": NewExcerpt()}
	for e := range s.Entries() {
		if l.began.IsZero() {
			l.began = e.Time
		}
		c := l.k.Step(&e)
		for what, x := range excerpts {
			x.Step(&e, &c, what == c.What && (what != "" || e.Kind == session.KindOpen) || what == "held" && e.Kind == session.KindHeld)
		}
		l.entry(&e, &c)
		l.ask()
	}
	for _, what := range slices.Sorted(maps.Keys(excerpts)) {
		fmt.Fprintf(&l.out, "excerpt of %q: %v in %v\n", what, excerpts[what].Chosen(), excerpts[what].Context())
	}
	m := l.k.Memory()
	fmt.Fprintf(&l.out, "past: forgotten %d, within %v; lists of %d bytes\n", m.Forgotten, m.Past <= m.Budget, l.k.lists.bytes)
	return l.out.String()
}

func (l *ledger) at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Sub(l.began).String()
}

// entry says what an entry means.
func (l *ledger) entry(e *session.Entry, c *Change) {
	fmt.Fprintf(&l.out, "#%d %s %s", e.Seq, e.Kind, e.Side)
	if c.Message != nil {
		n, counted := c.Count()
		fmt.Fprintf(&l.out, " %s %s: %s; %s", c.Client, c.Type, describe(*c), pairs("waited", c.Waited, "about", n, "not counted", !counted, "accepted", c.Accepted, "none", c.None, "all", c.All))
	}
	fmt.Fprintln(&l.out, strings.TrimRight(pairs("", "", " ends it", c.Ended), " "))
	if s := c.Sub; s != nil && s.seed == l.k.lists.seed { // else it is nobody's
		l.message(c)
	}
}

// pairs lists names and values, but for those that are nothing.
func pairs(list ...any) string {
	var out []string
	for i := 0; i < len(list); i += 2 {
		switch v := reflect.ValueOf(list[i+1]); {
		case v.Kind() == reflect.Slice && v.Len() == 0, v.IsZero():
		case v.Kind() == reflect.Bool:
			out = append(out, fmt.Sprint(list[i]))
		case v.Kind() == reflect.String:
			out = append(out, fmt.Sprintf("%s %q", list[i], list[i+1]))
		default:
			out = append(out, fmt.Sprintf("%s %v", list[i], list[i+1]))
		}
	}
	return strings.Join(out, ", ")
}

func (l *ledger) message(c *Change) {
	s := c.Sub
	if r := c.Request; r != nil {
		origin := ""
		if r.Message.Nonce != "" {
			of, at, never := l.k.Origin(s, r.Message.Nonce)
			if of != nil {
				origin = fmt.Sprintf("%d/%s ", of.Stream.ID, of.Type)
			}
			origin += fmt.Sprintf("#%d never %v", at, never)
		}
		fmt.Fprintf(&l.out, "  request: %s\n", pairs("named", r.Named(), "not fresh", !r.Fresh, "stale", r.Stale, "past", r.EchoedPast, "changes", r.Changes(s), "overrules", r.Overrules,
			"added", sorted(r.Added), "removed", sorted(r.Removed), "given", sorted(r.Given), "origin", origin))
	}
	if n := c.Response; n != nil {
		version, known := s.VersionBefore(n)
		fmt.Fprintf(&l.out, "  response: %s\n", pairs("count", n.Count, "was", n.Was, "again", n.again, "freed", n.Freed, "twice", n.Twice, "first", n.WasFirst, "foreign", n.Foreign, "opaque", n.Opaque,
			"variants", s.Variants, "reused", n.ReusedPast || n.Reused != nil, "before it", version, "not known", !known, "owed", s.Owed(n), "added", named(n.Added), "changed", named(n.Changed), "removed", inOrder(n.Removed),
			"same", named(n.Same), "reissued", named(n.Reissued), "renewed", named(s.Renewed(n)), "nameless", len(n.Nameless), "beats", n.Heartbeats))
		var fresh []string
		n.Fresh(func(name string, of *Content) { fresh = append(fresh, name+"/"+of.Facts.Name) })
		news := n.News()
		fmt.Fprintf(&l.out, "  news: %s\n", pairs("fresh", sorted(fresh), "first", named(news[0]), "second", named(news[1])))
		l.edition(s, n)
	}
	for _, n := range append(c.Names(), append(c.Added, c.Removed...)...) {
		l.names[n] = struct{}{}
	}
}

// edition remembers the versions of the resources of a response.
func (l *ledger) edition(s *Subscription, n *Response) {
	key := fmt.Sprint(s.Stream.ID, s.Key)
	if l.editions[key] == nil {
		l.editions[key] = new(Editions)
	}
	of := l.editions[key]
	for it := range n.AddedOrChanged() {
		version := cmp.Or(it.Version, n.Version)
		if l.k.Reused(*of, it.Name, version, it.Content) {
			fmt.Fprintf(&l.out, "  version %q of %s was another content\n", version, it.Name)
		}
		l.k.Remember(of, s, it.Name, version, it.Content)
	}
}

func named(list []*Resource) []string { return sorted(inOrder(list)) }

// inOrder are the names of what has an order that is the same in each reading.
func inOrder(list []*Resource) (out []string) {
	for _, it := range list {
		out = append(out, it.Name)
	}
	return out
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// say notes what is so of something.
func (l *ledger) say(about string, list ...any) {
	if text := pairs(list...); text != "" {
		l.now[about] = text
	}
}

// ask asks everything, and writes what has changed.
func (l *ledger) ask() {
	l.now = make(map[string]string)
	streams := slices.AppendSeq(slices.Collect(maps.Values(l.k.Streams)), maps.Values(l.k.late))
	slices.SortFunc(streams, func(a, b *Stream) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range streams {
		l.stream(t, streams)
		for _, s := range t.Order {
			l.sub(t, s)
		}
	}
	var order []string
	for _, c := range l.k.Status() {
		l.client(&c)
		order = append(order, c.Client)
	}
	l.say("needed", "", l.k.Needed())
	l.say("past", "bytes", l.k.Memory().Past)
	if len(order) > 1 {
		l.say("order", "", order)
	}
	for _, key := range slices.Sorted(maps.Keys(l.now)) {
		if l.now[key] != l.said[key] {
			fmt.Fprintf(&l.out, "  %s: %s\n", key, l.now[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(l.said)) {
		if _, is := l.now[key]; !is {
			fmt.Fprintf(&l.out, "  - %s\n", key)
		}
	}
	l.said = l.now
}

func (l *ledger) stream(t *Stream, all []*Stream) {
	key := fmt.Sprintf("stream %d", t.ID)
	var previous session.StreamID
	if t.Previous != nil {
		previous = t.Previous.ID
	}
	is := t.program()
	l.say(key, "of", t.account, "ended", !t.Alive(), "lost", t.Lost, "uncertain", t.uncertain, "ads", t.ADS(), "delta", t.Delta(), "no discovery", !t.Discovery(), "reconnects", previous,
		"node", t.NodeAt, "program", is.name, "version", is.version, "gRPC", t.GRPCClient(), "envoy", t.EnvoyClient(), "both", t.TakesBoth(), "status", t.Status, "half-closed", t.HalfClosedAt)
	l.say(key+" so far", "requests", t.Requests, "responses", t.Responses, "largest", t.Largest, "echo", t.Echo, "moved", t.Moved)
	var others, group, programs []session.StreamID
	for _, o := range l.k.Peers.Others(t) {
		others = append(others, o.ID)
	}
	for _, o := range all {
		if o != t && t.SameGroup(o) {
			group = append(group, o.ID)
		}
		if t.OtherProgram(o) {
			programs = append(programs, o.ID)
		}
	}
	l.say(key+" beside", "same client", others, "same group", group, "other programs", programs)
	if of := l.k.Peers.ByKey[KeyOf(t)]; of != nil {
		l.say(key+" refused", "times", of.Refused)
	}
	elsewhere := l.k.Elsewhere(t)
	var has []string
	for n := range l.names {
		if elsewhere.Has(n) {
			has = append(has, n)
		}
	}
	by, known := t.Mentioned(l.names)
	var of []string
	for s := range l.k.TypesOf(t) {
		of = append(of, fmt.Sprintf("%d/%s", s.Stream.ID, s.Type))
	}
	list := []any{"clusters elsewhere", sorted(has), "mentions", referrers(by), "mentions known", known, "types", sorted(of), "wants", t.WantsAnything()}
	for _, typ := range []string{"CDS", "EDS", "RDS", "SDS", "ECDS"} {
		list = append(list, "refers to "+typ, referrers(t.Referred(typ, nil)))
	}
	l.say(key+" refers", list...)
}

func referrers(by map[string]Referrer) (out []string) {
	for name, r := range by {
		out = append(out, fmt.Sprintf("%s in %s/%s", name, r.Sub.Type, r.Item.Name))
	}
	return sorted(out)
}

func items(of iter.Seq[*Resource]) (out []string) {
	for it := range of {
		out = append(out, it.Name+"@"+it.Version)
	}
	return sorted(out)
}

func (l *ledger) sub(t *Stream, s *Subscription) {
	key := fmt.Sprintf("%d/%s", t.ID, s.Type)
	l.say(key, "wild", int(s.Wild), "active", s.Active(), "everything", s.Everything(), "exempt", s.Exempt(), "full", s.Full(), "named", s.Named(), "whole", s.Whole(), "lost", s.Lost, "forgotten", s.Forgotten,
		"unsure", s.Unsure(), "seeded", s.Seeded, "losses", s.Losses, "nameless", s.BeganNameless(), "other names", s.OtherNames(), "ever named", s.EverNamed)
	accepted, none := s.accepted()
	names := slices.Sorted(s.Names.All())
	l.say(key+" stands", "newest", seqOf(s.Newest()), "accepted", seqOf(s.Accepted), "last", accepted, "none", none, "version", s.version, "nacks", s.nacks, "nack", s.nackSeq, "why", s.nack,
		"unseen", s.unseen, "at", s.unseenSeq, "refused", s.refused.seq, "gave up", l.at(s.Cleared), "wild ended", l.at(s.WildEnded), "names", names, "size", s.Names.Len())
	for _, n := range s.Sent {
		l.say(fmt.Sprintf("%s #%d", key, n.Seq), "ordinal", n.Ordinal, "version", n.Version, "nonce", n.Nonce, "verdict", int(n.Verdict), "by", n.judgedSeq, "rejected", n.rejected(), "all rejected since", s.AllRejectedSince(n))
	}
	for name := range l.names {
		l.say(key+" name "+name, "wanted", s.Wants(name), "asked", s.Asks(name), "lately", s.WantedLately(name, l.k.Now, 5*time.Second), "covered", s.Names.Covers(name), "denied", s.Denied(name),
			"gone", s.MayBeGone(name), "here", s.SentHere(name), "ever", s.EverSent(name), "refused", s.Refused(name), "former", has(s.former.names, name))
	}
	for name, it := range s.Have.All() {
		var carrier session.Seq
		never := false
		if s.Newest() != nil {
			carrier, never = s.LastWith(s.Carrier(it)), s.NeverHad("1", it)
		}
		sources, more := it.Sources()
		l.say(key+" has "+name, "version", it.Version, "in", it.Seq, "stamp", it.Stamp, "ttl", it.TTL, "not known", it.Content == nil, "carried by", carrier, "never at 1", never, "refers to", len(it.Refs()),
			"scope", it.Scope(), "sources", len(sources), "more", more)
	}
	for name, o := range s.Offered() {
		l.say(key+" offers "+name, "taken back", o.Resource == nil, "rejected", o.Rejected, "unclear", o.Unclear, "by", seqOf(o.By), "judged", o.Judged)
	}
	list := []any{"holds", items(s.Held()), "takes", items(s.Taken())}
	if n := s.Newest(); n != nil {
		list = append(list, "patience", l.k.AckTime(s, n, true), "if late", l.k.AckTime(s, n, false))
	}
	l.say(key+" holds", list...)
}

func has(m map[string]struct{}, key string) bool { _, is := m[key]; return is }

func (l *ledger) client(c *ClientStatus) {
	key := "client " + c.Client
	l.say(key, "agent", c.Agent, "version", c.Version, "streams", c.Streams, "since", l.at(c.Since), "gone", l.at(c.Gone), "why", c.Why, "worst", c.Worst().String())
	l.say(key+" heard", "", l.at(c.Last))
	for _, ts := range c.Types {
		l.say(key+" "+ts.Type, "", ts.State.String(), "since", l.at(ts.Since), "in", ts.Seq, "version", ts.Version, "sent", ts.Sent, "wants", ts.Wanted, "has", ts.Have, "accepted", ts.Accepted, "none", ts.None,
			"rejected", ts.Rejected, "nacks", ts.Nacks, "nack", ts.Nack, "nack in", ts.NackSeq, "lost", ts.Lost, "gone", l.at(ts.Gone))
	}
	for h := range l.k.Held(c.Client) {
		l.say(key+" holds "+h.Type+" "+h.Name, "version", h.Version, "in", h.Seq)
	}
	tree := l.k.Tree(c.Client)
	if tree == nil {
		return
	}
	for what, list := range map[string][]*Node{"root": tree.Roots, "dangling": tree.Dangling, "missing": tree.Missing} {
		for _, n := range list {
			l.say(fmt.Sprintf("%s %s %s %s", key, what, n.Type, n.Name), "", node(n))
		}
	}
}

func node(n *Node) string {
	out := fmt.Sprintf("%s %s #%d", n.State, n.Version, n.Seq)
	if n.Again {
		out += " again"
	}
	for _, c := range n.Children {
		out += fmt.Sprintf(" (%s %s %s)", c.Type, c.Name, node(c))
	}
	return out
}
