package engine

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// State is where a client stands with one type, the better ones first.
type State uint8

// The states, in the words that istioctl made customary.
const (
	NotAsked State = iota // the client did not ask for the type
	Synced                // it accepted what was sent last
	Pending               // it has not answered yet, and is in time
	Unknown               // what it made of what was sent last cannot be told
	NotSent               // it asked, and nothing came
	Stale                 // it has not answered in time
	Nacked                // it rejected what was sent last, be it of some resources
)

// String is the word that people and the machine-readable forms read.
func (s State) String() string {
	switch s {
	case Synced:
		return "SYNCED"
	case Pending:
		return "PENDING"
	case Unknown:
		return "UNKNOWN"
	case NotSent:
		return "NOTSENT"
	case Stale:
		return "STALE"
	case Nacked:
		return "NACKED"
	}
	return "-"
}

// ClientStatus is where one client stands.
type ClientStatus struct {
	Client  string // node id, or the address of a client that never gave one
	Agent   string // user_agent_name
	Version string // of the agent
	Streams int    // open discovery streams
	Since   time.Time
	Last    time.Time // when the client or its server said something last
	// Gone is when its last stream ended, zero while it has one, and Why the
	// reason.
	Gone  time.Time
	Why   string
	Types []TypeStatus
}

// Worst is the worst state of its types.
func (c *ClientStatus) Worst() State {
	worst := NotAsked
	for _, t := range c.Types {
		worst = max(worst, t.State)
	}
	return worst
}

// TypeStatus is where a client stands with one type.
type TypeStatus struct {
	Type    string
	State   State
	Since   time.Time   // when it came to that
	Seq     session.Seq // of the message that brought it there
	Version string      // that the client holds, "" if none or if versions are per resource
	Sent    string      // that was sent last
	Wanted  int         // names asked for; -1 for all
	Have    int         // resources sent
	// Accepted is the response that the client accepted last, 0 if none was
	// seen; None says that there is none.
	Accepted session.Seq
	None     bool
	Rejected string // version of what it rejected, while that is what was sent last of any resource
	Nacks    int    // rejections since it accepted last
	Nack     string // why it rejected last; it may have accepted since
	NackSeq  session.Seq
	Lost     bool // part of the conversation was not seen
	// Gone is when the last stream with the type ended: the rest is how it stood
	// then. It is zero while there is one.
	Gone time.Time
}

// Status says where each client stands, the worst first, then by name.
func (k *Engine) Status() []ClientStatus {
	out := make([]ClientStatus, 0, len(k.clients.byID))
	for id, c := range k.clients.byID {
		if id != "" { // whoever reads files
			out = append(out, k.statusOf(c))
		}
	}
	for _, c := range k.nameless() {
		if s := k.statusOf(c); len(s.Types) > 0 {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b ClientStatus) int {
		return cmp.Or(
			cmp.Compare(boolInt(!a.Gone.IsZero()), boolInt(!b.Gone.IsZero())),
			-cmp.Compare(a.Worst(), b.Worst()), strings.Compare(a.Client, b.Client))
	})
	return out
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (k *Engine) statusOf(c *client) ClientStatus {
	s := ClientStatus{Client: c.id, Agent: c.agent, Version: c.version, Streams: len(c.live), Since: c.since, Last: c.last}
	if !c.here() {
		s.Gone, s.Why = c.gone, c.why
	}
	for _, t := range c.live {
		if t.Node != nil {
			s.Agent, s.Version = t.Node.UserAgent, t.Node.UserAgentVersion
		}
		if at := t.lastHeard(); at.After(s.Last) {
			s.Last = at
		}
	}
	types := make(map[string]TypeStatus)
	for sub := range c.subs() {
		if ts, any := k.typeStatus(sub); any {
			if other, two := types[ts.Type]; two {
				ts = merge(other, ts)
			}
			types[ts.Type] = ts
		}
	}
	for _, l := range c.left {
		if _, again := types[l.status.Type]; !again {
			types[l.status.Type] = l.status
		}
	}
	s.Types = slices.SortedFunc(maps.Values(types), func(a, b TypeStatus) int {
		return cmp.Or(cmp.Compare(xds.Rank(a.Type), xds.Rank(b.Type)), strings.Compare(a.Type, b.Type))
	})
	return s
}

// subs are the types of the streams that are open, and of polls, in the order
// in which they began.
func (c *client) subs() iter.Seq[*Subscription] {
	return func(yield func(*Subscription) bool) {
		for _, t := range c.live {
			if t.polls != nil {
				continue
			}
			for _, s := range t.Order {
				if !yield(s) {
					return
				}
			}
		}
		for _, p := range c.polls {
			for _, s := range p.Order {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// known are the types of the client, those that are left from ended streams
// behind the others.
func (c *client) known() iter.Seq[*Subscription] {
	return func(yield func(*Subscription) bool) {
		there := make(map[string]bool)
		for s := range c.subs() {
			there[s.Key] = true
			if !yield(s) {
				return
			}
		}
		for _, key := range slices.Sorted(maps.Keys(c.left)) {
			if l := c.left[key]; l.sub != nil && !there[key] && !yield(l.sub) {
				return
			}
		}
	}
}

// merge joins what a client says of one type on two streams: the worse of them
// is shown.
func merge(a, b TypeStatus) TypeStatus {
	if b.State > a.State || b.State == a.State && b.Since.After(a.Since) {
		a, b = b, a
	}
	if a.Wanted == Everything || b.Wanted == Everything {
		a.Wanted = Everything
	} else {
		a.Wanted += b.Wanted
	}
	a.Have += b.Have
	a.Nacks += b.Nacks
	if b.NackSeq > a.NackSeq {
		a.Nack, a.NackSeq = b.Nack, b.NackSeq
	}
	a.Lost, a.None = a.Lost || b.Lost, a.None && b.None
	return a
}

func (k *Engine) typeStatus(s *Subscription) (TypeStatus, bool) {
	ts := TypeStatus{
		Type: s.Type, Wanted: s.Names.Len(), Have: s.Have.Len(), Nacks: s.nacks, Nack: s.nack, NackSeq: s.nackSeq, Lost: s.Lost,
		Version: s.version,
	}
	if s.Exempt() || s.First == nil || !s.Active() && s.Responses == 0 {
		return ts, false
	}
	if s.Everything() {
		ts.Wanted = Everything
	}
	ts.Accepted, ts.None = s.accepted()
	n := s.Newest()
	if n == nil {
		ts.State, ts.Since, ts.Seq = NotSent, s.First.At, s.First.Seq
		switch {
		case s.refused.seq != 0:
			ts.reject(&s.refused)
		case s.unseenSeq != 0 && s.nackSeq == s.unseenSeq:
			ts.State, ts.Seq = Nacked, s.nackSeq
		case s.Initial != nil && s.Have.Len() > 0:
			ts.State = Synced // it has said what it has, and that has not changed
		case s.polled() && s.announced, s.unseenSeq != 0:
			ts.State = Unknown // it was sent something that was not seen
		}
		return ts, true
	}
	switch { // heartbeats change nothing of where it stands
	case !n.pulsed || n.Verdict == NACKed:
	case s.told != nil && s.told.Verdict != Folded:
		n = s.told
	case n.Verdict == Unjudged && s.Accepted != nil:
		n = s.Accepted // what came before the part that was seen
	}
	if s.again(n) {
		n = s.Sent[len(s.Sent)-2]
	}
	ts.State, ts.Sent, ts.Since, ts.Seq = k.stateOf(s, n), n.Version, n.At, n.Seq
	if n.judgedSeq != 0 {
		ts.Since, ts.Seq = n.judgedAt, n.judgedSeq
	}
	switch {
	case ts.State == Nacked && s.refused.seq != n.Seq && n.Verdict != Unjudged:
		ts.Rejected = n.Version
	case ts.State == Nacked, s.lasts(&s.refused):
		ts.reject(&s.refused)
	}
	return ts, true
}

// reject enters what was rejected, and is what was sent last of some resource.
func (t *TypeStatus) reject(r *refusal) {
	t.State, t.Since, t.Seq, t.Rejected, t.Nack, t.NackSeq = Nacked, r.at, r.first, r.version, r.why, r.last
}

// rejects says whether what was sent last is rejected.
func (k *Engine) rejects(s *Subscription) bool {
	ts, _ := k.typeStatus(s)
	return ts.State == Nacked
}

// stateOf says where a type stands by the response that was sent last.
func (k *Engine) stateOf(s *Subscription, n *Response) State {
	switch {
	case n.Verdict == NACKed, n.Verdict == Unjudged && s.refused.again(n):
		return Nacked
	case n.Verdict == ACKed:
		return Synced
	case n.Verdict == Unclear, n.Nonce == "" && !s.polled():
		return Unknown // there is no way to answer it, or no clear answer
	case k.overdue(s, n) && !s.polled():
		return Stale
	}
	return Pending
}

// again says whether a response tells a client that polls what it has just said that
// it has: there is nothing to be taken.
func (s *Subscription) again(n *Response) bool {
	if !s.polled() || n != s.Newest() || n.Verdict != Unjudged || n.Version == "" || len(s.Sent) < 2 || s.Last == nil {
		return false
	}
	before := s.Sent[len(s.Sent)-2]
	return before.Verdict == ACKed && before.Version == n.Version && before.Sum == n.Sum && Short(s.Last.Message.Version) == n.Version
}

// polled says whether the type is asked for by polls of REST, which have no
// nonces.
func (s *Subscription) polled() bool { return s.Stream.Method.Variant == xds.VariantREST }
