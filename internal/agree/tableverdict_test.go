package agree

import (
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// judge is the table of verdicts: what a request says of a response, and of
// which one. The response is nil if it was not seen.
func (l *lane) judge(m *decode.Message) (word string, of *reply) {
	switch {
	case l.rest:
		return l.judgePoll(m)
	case m.Nonce == "" && m.Error == nil:
		return "", nil
	case m.Nonce == "":
		// An error after a response without a nonce can mean nothing else.
		if n := l.last; n != nil && n.nonce == "" {
			return engine.NACK, n.refuse()
		}
		return "", nil
	}
	if n := l.byNonce[m.Nonce]; n != nil {
		switch {
		case m.Error != nil: // whatever was said before
			return engine.NACK, n.refuse()
		case n.mark != open: // it has its verdict: this is about names only
			return "", nil
		case m.Kind == decode.DeltaRequest, m.Version == n.version:
			n.mark = accepted
			return engine.ACK, n
		}
		n.mark = unclear
		return "", n
	}
	if m.Error == nil {
		return "", nil
	}
	l.unseen[m.Nonce] = true // a response that was not seen
	return engine.NACK, nil
}

// refuse enters an error.
func (n *reply) refuse() *reply {
	n.flipped = n.mark == accepted
	n.again = n.flipped || n.mark == rejected
	n.mark = rejected
	return n
}

// judgePoll is the same for REST, where a poll speaks of the reply before it by
// the version that it announces.
func (l *lane) judgePoll(m *decode.Message) (word string, of *reply) {
	n := l.last
	switch {
	case n == nil:
		return "", nil
	case m.Error != nil:
		return engine.NACK, n.refuse()
	case n.mark != open:
		return "", nil
	case m.Version != "" && m.Version == n.version:
		n.mark = accepted
		return engine.ACK, n
	}
	n.mark = unclear
	return "", n
}
