package engine

import (
	"github.com/xdsproxy/xdsproxy/decode"
)

// judge enters the verdict that a request gives, if any, and returns the word
// for it. This is the one place where that is decided.
//
// A verdict is about the newest response of the type with the nonce that the
// request echoes. error_detail makes it a NACK, whatever was said before.
// Without one, only the first request that echoes the nonce is its verdict, and
// those after it change names only: a delta request accepts, and a
// state-of-the-world request accepts if it repeats the version. If it has
// another version it is neither, and nobody knows what the client has made of
// the response ("ACK and NACK semantics summary").
//
// A request without a nonce judges nothing, except that an error after a
// response without a nonce can mean nothing else. A poll has no nonces: it
// judges the reply to the poll before it.
func (k *Engine) judge(s *Subscription, r *Request, uncertain bool) string {
	k.echo(s, r)
	n, m := r.Echoed, r.Message
	switch {
	case m.Error != nil && n == nil && m.Nonce != "": // the response is not remembered, or was not seen
		s.unseen, s.unseenSeq = Short(m.Nonce), r.Seq
		s.nacks++
		s.nack, s.nackSeq = Reason(m.Error.Message), r.Seq
		return NACK
	case r.EchoedPast, n == nil && (m.Nonce == "" || m.Error == nil && !uncertain):
		return ""
	case n == nil:
		if key := Short(m.Nonce); s.unseen != key {
			s.unseen, s.unseenSeq, s.last = key, r.Seq, 0
			return ACK
		}
		return ""
	case m.Error != nil && n.Verdict == NACKed: // once more
		s.nacks++
		s.nack, s.nackSeq, r.Verdict = Reason(m.Error.Message), r.Seq, NACKed
		if s.refused.seq == n.Seq {
			s.refused.last, s.refused.why = r.Seq, s.nack
		}
		return NACK
	case m.Error != nil:
		if n.Verdict == ACKed { // what it has of the type now, nobody knows
			r.Overrules, s.open = n.judgedSeq, unsettled{unsure: true}
		}
		s.reject(r, n)
	case n.Verdict != Unjudged && n.Verdict != Folded:
		return ""
	case m.Kind == decode.DeltaRequest, Short(m.Version) == n.Version && (m.Version != "" || m.Nonce != ""):
		s.accept(n)
	default:
		n.Verdict = Unclear
	}
	n.JudgedBy, n.judgedAt, n.judgedSeq, n.judgedOn, r.Verdict = r, r.At, r.Seq, r.On, n.Verdict
	if took := k.Now.Sub(n.At); s.Stream.Echo == 0 || took < s.Stream.Echo {
		s.Stream.Echo = took
	}
	if m.Kind == decode.SotwRequest {
		for i := len(s.Sent) - 1; i >= 0; i-- {
			if o := s.Sent[i]; o.Ordinal < n.Ordinal {
				if o.Verdict != Unjudged {
					break
				}
				o.Verdict = Folded
			}
		}
	}
	switch n.Verdict {
	case NACKed:
		return NACK
	case ACKed:
		return ACK
	}
	return ""
}

// echo finds the response that a request is about.
func (k *Engine) echo(s *Subscription, r *Request) {
	newest, nonce := s.Newest(), Short(r.Message.Nonce)
	switch {
	case s.polled():
		if r.Ordinal > 0 {
			r.Echoed = newest
		}
	case nonce != "":
		r.Echoed = s.ByNonce(nonce)
		r.EchoedPast = r.Echoed == nil && s.usedNonces.Has(nonce)
	case r.Message.Error != nil && newest != nil && newest.Nonce == "":
		r.Echoed = newest
	}
	r.Stale = r.Echoed != nil && r.Echoed != newest || r.EchoedPast
	switch {
	case r.Ordinal == 0, newest == nil && nonce == "", newest != nil && nonce == newest.Nonce,
		r.Message.Kind == decode.DeltaRequest && nonce == "":
		r.Fresh = true
	}
	if n := r.Echoed; n == nil {
		if r.Ordinal == 0 {
			s.version = r.Message.Version
		}
	} else if s.lastEchoed == nil || n.Ordinal > s.lastEchoed.Ordinal {
		s.lastEchoed = n
	}
}

// accept enters an acceptance. That of an older response than the one accepted
// last changes nothing in the state of the world.
func (s *Subscription) accept(n *Response) {
	n.Verdict = ACKed
	newest := s.Accepted == nil || s.Accepted.Ordinal < n.Ordinal
	if newest {
		s.Accepted, s.last, s.version = n, n.Seq, n.Version
	}
	if newest || n.Kind == decode.DeltaResponse {
		s.open.accept(n, s.Whole() && n.Kind == decode.SotwResponse && !n.pulsed)
	}
	if s.refused.outlasts(n) {
		return
	}
	s.nacks = 0
	if s.refused.ordinal <= n.Ordinal && !s.lasts(&s.refused) {
		s.forgive()
	}
}
