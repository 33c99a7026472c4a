package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// State is where a client stands with one type, the better ones first.
type State uint8

// The states, in the words that istioctl made customary.
const (
	NotAsked State = iota // the client did not ask for the type
	Synced                // it accepted what was sent last
	Pending               // it has not answered yet, and is in time
	NotSent               // it asked, and nothing came
	Stale                 // it has not answered in time
	Nacked                // it rejected what was sent last
)

// String is the word that people and the machine-readable forms read.
func (s State) String() string {
	switch s {
	case Synced:
		return "SYNCED"
	case Pending:
		return "PENDING"
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
	Nack    string      // why it rejected last; it may have accepted since
	NackSeq session.Seq
	Lost    bool // part of the conversation was not seen
}

// client is a node and its streams.
type client struct {
	id    string
	since time.Time
	live  []*Stream
	last  *Stream // that ended last
	why   string
}

// maxClients bounds the clients that are remembered. Those that are gone are
// forgotten first.
const maxClients = 1 << 16

// clients are the nodes of a session, in the order in which they came.
type clients struct {
	byID  map[string]*client
	order []*client
}

// enter notes a stream whose node has become known.
func (c *clients) enter(t *Stream) {
	if c.byID == nil {
		c.byID = make(map[string]*client)
	}
	id := t.clientID()
	of := c.byID[id]
	if of == nil {
		if len(c.order) >= maxClients {
			c.forget()
		}
		of = &client{id: id, since: t.Opened}
		c.byID[id], c.order = of, append(c.order, of)
	}
	if !slices.Contains(of.live, t) {
		of.live = append(of.live, t)
	}
}

func (c *clients) forget() {
	for i, of := range c.order {
		if len(of.live) == 0 || i == len(c.order)-1 {
			delete(c.byID, of.id)
			c.order = slices.Delete(c.order, i, i+1)
			return
		}
	}
}

// leave notes the end of a stream.
func (c *clients) leave(t *Stream, why string) {
	of := c.byID[t.clientID()]
	if of == nil {
		return
	}
	if i := slices.Index(of.live, t); i >= 0 {
		of.live = slices.Delete(of.live, i, i+1)
		if of.last = t; len(of.live) == 0 {
			of.why = why
		}
	}
}

func (t *Stream) clientID() string {
	if t.Node != nil && t.Node.ID != "" {
		return t.Node.ID
	}
	return t.Peer
}

// Status says where each client stands, the worst first, then by name.
func (k *Engine) Status() []ClientStatus {
	out := make([]ClientStatus, 0, len(k.clients.order))
	for _, c := range k.clients.order {
		out = append(out, k.statusOf(c))
	}
	slices.SortStableFunc(out, func(a, b ClientStatus) int {
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
	s := ClientStatus{Client: c.id, Since: c.since}
	talks := c.live
	if len(talks) == 0 && c.last != nil {
		talks = []*Stream{c.last}
		s.Gone, s.Why = c.last.EndedAt, c.why
	}
	byType := make(map[string]int)
	for _, t := range talks {
		if t.Node != nil {
			s.Agent, s.Version = t.Node.UserAgent, t.Node.UserAgentVersion
		}
		for _, at := range []time.Time{t.Opened, t.LastClient, t.LastServer, t.EndedAt} {
			if at.After(s.Last) {
				s.Last = at
			}
		}
		if t.Alive() {
			s.Streams++
		}
		for _, sub := range t.Order {
			ts, any := k.typeStatus(sub)
			if !any {
				continue
			}
			i, seen := byType[ts.Type]
			if !seen {
				byType[ts.Type] = len(s.Types)
				s.Types = append(s.Types, ts)
				continue
			}
			s.Types[i] = merge(s.Types[i], ts)
		}
	}
	slices.SortFunc(s.Types, func(a, b TypeStatus) int {
		return cmp.Or(cmp.Compare(typeRank(a.Type), typeRank(b.Type)), strings.Compare(a.Type, b.Type))
	})
	return s
}

// merge joins what a client says of one type on two streams: the worse of them
// is shown.
func merge(a, b TypeStatus) TypeStatus {
	if b.State > a.State || b.State == a.State && b.Since.After(a.Since) {
		a, b = b, a
	}
	if a.Wanted >= 0 && b.Wanted >= 0 {
		a.Wanted += b.Wanted
	}
	a.Have += b.Have
	if b.NackSeq > a.NackSeq {
		a.Nack, a.NackSeq = b.Nack, b.NackSeq
	}
	a.Lost = a.Lost || b.Lost
	return a
}

// TypeOrder is the order in which types are shown.
func TypeOrder() []string {
	return []string{"LDS", "RDS", "SRDS", "VHDS", "CDS", "EDS", "LEDS", "SDS", "ECDS", "RTDS"}
}

func typeRank(typ string) int {
	if i := slices.Index(TypeOrder(), typ); i >= 0 {
		return i
	}
	return len(TypeOrder())
}

func (k *Engine) typeStatus(s *Subscription) (TypeStatus, bool) {
	ts := TypeStatus{
		Type: s.Type, Wanted: s.Names.Len(), Have: s.Have.Len(), Nack: s.nack, NackSeq: s.nackSeq, Lost: s.Lost,
	}
	if s.Exempt() || s.First == nil || !s.Active() && s.Responses == 0 {
		return ts, false
	}
	if s.Wild != NotWild {
		ts.Wanted = -1
	}
	if s.Accepted != nil {
		ts.Version = s.Accepted.Version
	}
	n := s.Newest()
	switch {
	case n == nil:
		ts.State, ts.Since, ts.Seq = NotSent, s.First.At, s.First.Seq
		if s.Initial != nil && s.Have.Len() > 0 {
			ts.State = Synced // it has said what it has, and that has not changed
		}
		return ts, true
	case n.Verdict == NACKed:
		ts.State = Nacked
	case n.Verdict == Unjudged && n.Nonce != "" && k.Now.Sub(n.At) > k.ack:
		ts.State = Stale
	case n.Verdict == Unjudged && n.Nonce != "":
		ts.State = Pending
	default:
		ts.State = Synced
	}
	ts.Sent, ts.Since, ts.Seq = n.Version, n.At, n.Seq
	if n.JudgedBy != nil {
		ts.Since, ts.Seq = n.JudgedBy.At, n.JudgedBy.Seq
	}
	return ts, true
}

// endReason says in a few words why a stream ended.
func endReason(e *session.Entry) string {
	why := "ended by the " + e.Side.String()
	if st := e.Status; st != nil {
		switch {
		case st.Code > 0:
			why = fmt.Sprintf("%s with status %d", why, st.Code)
		case st.WasReset:
			why = fmt.Sprintf("reset by the %s", e.Side)
		}
		if st.Message != "" {
			why += ": " + Reason(st.Message)
		}
	}
	return why
}
