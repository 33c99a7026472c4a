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
		if n := l.last; n != nil && n.nonce == "" && n.mark == open {
			n.mark = rejected
			return engine.NACK, n
		}
		return "", nil
	}
	if n := l.byNonce[m.Nonce]; n != nil {
		switch {
		case n.mark != open: // it has its verdict: this is about names only
			return "", nil
		case m.Error != nil:
			n.mark = rejected
			return engine.NACK, n
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
	// A response that was not seen; the first word on it counts.
	if l.unseen[m.Nonce] {
		return "", nil
	}
	l.unseen[m.Nonce] = true
	return engine.NACK, nil
}

// judgePoll is the same for REST, where a poll speaks of the reply before it by
// the version that it announces.
func (l *lane) judgePoll(m *decode.Message) (word string, of *reply) {
	n := l.last
	switch {
	case n == nil || n.mark != open:
		return "", nil
	case m.Error != nil:
		n.mark = rejected
		return engine.NACK, n
	case m.Version != "" && m.Version == n.version:
		n.mark = accepted
		return engine.ACK, n
	}
	n.mark = unclear
	return "", n
}
