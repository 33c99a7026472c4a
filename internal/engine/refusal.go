package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// refusal is what a client rejected of a type, as far as one needs it to know it
// when it is sent again, and to tell of it. It is forgotten once anything else is
// sent in its place: see lasts.
type refusal struct {
	seq     session.Seq // 0: none
	ordinal uint64
	of      refused
	// The version of the response, who rejected it first, when, and who did last.
	version string
	first   session.Seq
	at      time.Time
	last    session.Seq
	why     string
	blamed  []string // resources that the reason names; none: it may be any of them
}

const (
	// maxRefusals bounds the rejections of a type that last, beside the newest.
	maxRefusals = 8
	// maxBlamed bounds the names of one that its reason names.
	maxBlamed = 16
)

// refused is what was in a response that was rejected.
type refused struct {
	sum   [2]uint64
	loose uint64 // of resources without a name
	count int
	pulse bool
	gone  string // names that a delta response removes
}

func refusedOf(n *Response) refused {
	r := refused{sum: n.Sum, count: n.Count - len(n.Heartbeats), pulse: n.pulse(), gone: Short(strings.Join(n.gone, "\x00"))}
	for _, c := range n.Nameless {
		r.loose = r.loose*31 + c.raw[0]
	}
	return r
}

// again says whether a response is what was rejected.
func (r *refusal) again(n *Response) bool { return r.seq != 0 && r.of == refusedOf(n) }

// outlasts says whether a later response has nothing to do with what was
// rejected: a heartbeat sends nothing in its place, whatever the client says to it.
func (r *refusal) outlasts(n *Response) bool {
	return r.seq != 0 && !r.of.pulse && n.pulsed && n.Ordinal > r.ordinal
}

// lasts says whether nothing was sent since in the place of some resource that was
// rejected, or of those that are to blame: what a response leaves out it says
// nothing of ("Grouping Resources into Responses"). A response that is the whole
// state leaves nothing out.
func (s *Subscription) lasts(r *refusal) bool {
	if r.seq == 0 || len(s.open.byName) == 0 || s.Whole() && !s.Stream.Delta() {
		return false
	}
	s.open.enter()
	for _, name := range r.blamed {
		if c := s.open.byName[name]; c != nil && r.has(c) && s.asksFor(name) {
			return true
		}
	}
	if len(r.blamed) == 0 {
		for name, c := range s.open.byName {
			if r.has(c) && s.asksFor(name) {
				return true
			}
		}
	}
	return false
}

// asksFor says whether a resource is asked for, by its name or in other ways: nobody
// mends what nobody wants.
func (s *Subscription) asksFor(name string) bool {
	return s.Wants(name) || s.Asks(name) || s.Names.Covers(name) || len(s.aliases) > 0
}

// has says whether a resource was sent last with what was rejected, or with the same
// once more, which is not answered yet.
func (r *refusal) has(c *changes) bool {
	by := c.list[len(c.list)-1].by
	return by.Seq == r.seq || by.Verdict == Unjudged && by.refused
}

// reject enters a rejection.
func (s *Subscription) reject(r *Request, n *Response) {
	n.Verdict = NACKed
	s.nack, s.nackSeq = Reason(r.Message.Error.Message), r.Seq
	s.nacks++
	s.open.reject(n)
	was := s.refused
	if was.outlasts(n) {
		return
	}
	now := refusal{
		seq: n.Seq, ordinal: n.Ordinal, of: refusedOf(n), version: n.Version, first: r.Seq, at: r.At, last: r.Seq, why: s.nack,
		blamed: s.blamed(n, r.Message.Error.Message),
	}
	switch lasts := s.lasts(&now); {
	case was.seq != 0 && n.Ordinal < was.ordinal:
		if lasts {
			s.refusals = keepRefusals(s.refusals, now)
		}
	case lasts, !s.replaced(&now):
		if s.lasts(&was) {
			s.refusals = keepRefusals(s.refusals, was)
		}
		s.refused = now
	}
}

func keepRefusals(list []refusal, r refusal) []refusal {
	if len(list) >= maxRefusals {
		list = slices.Delete(list, 0, 1)
	}
	return append(list, r)
}

// replaced says whether something else was sent since.
func (s *Subscription) replaced(r *refusal) bool {
	return slices.ContainsFunc(s.Sent, func(o *Response) bool { return o.Ordinal > r.ordinal && !r.again(o) && !r.outlasts(o) })
}

// blamed are the resources of a response that the reason of its rejection names. The
// others are sound: a client may have them, and nobody sends them once more.
func (s *Subscription) blamed(n *Response, reason string) (out []string) {
	if s.Whole() && !s.Stream.Delta() {
		return nil // see lasts
	}
	reason, left := reason[:min(len(reason), MaxReason)], mostSuspects
	for name := range n.names() {
		if left--; left < 0 || len(out) >= maxBlamed {
			break
		}
		if Mentions(reason, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// forgive forgets the newest rejection: something else was sent in its place. One
// before it may last.
func (s *Subscription) forgive() {
	s.refused = refusal{}
	for i := len(s.refusals) - 1; i >= 0 && s.refused.seq == 0; i-- {
		if s.lasts(&s.refusals[i]) {
			s.refused = s.refusals[i]
		}
		s.refusals = s.refusals[:i]
	}
}

// Rejection is what a client has rejected, and was sent nothing in the place of.
type Rejection struct {
	Seq, By session.Seq // the response, and who rejected it first
	At      time.Time   // when
	Why     string
}

// Rejection says what that is. It is none where the newest response is the same
// again, and not answered yet.
func (s *Subscription) Rejection() (of Rejection, is bool) {
	n, r := s.Newest(), &s.refused
	if n == nil || r.seq == 0 || n.Verdict != NACKed && !s.lasts(r) || n.Verdict == Unjudged && n.refused {
		return of, false
	}
	return Rejection{Seq: r.seq, By: r.first, At: r.at, Why: r.why}, true
}

// MaxReason bounds what is read of the reason of a rejection, and mostSuspects how
// many names are looked for in it.
const (
	MaxReason    = 4096
	mostSuspects = 4096
)

// Mentions says whether a text has a name as a word.
func Mentions(text, name string) bool {
	const tries = 8 // a name may also be a part of longer ones
	for range tries {
		i := strings.Index(text, name)
		if i < 0 || name == "" {
			return false
		}
		end := i + len(name)
		if (i == 0 || !InWord(text[i-1])) && (end == len(text) || !InWord(text[end])) {
			return true
		}
		text = text[i+1:]
	}
	return false
}

// InWord says whether a byte is part of a name, as texts have them.
func InWord(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '|' || c >= 0x80
}
