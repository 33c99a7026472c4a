package engine

import (
	"crypto/sha256"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

func (t *Tracker) message(e *session.Entry) Change {
	st := t.streams[e.Stream]
	if st == nil || e.Stream == 0 {
		st = t.newStream(e.Conn, e.Stream)
	}
	m, batch := t.peek(st, e)
	if e.Message.Compressed || e.Message.Truncated {
		// Its nonce, version or names may be in the part that is missing.
		st.uncertain = true
	}
	if m.Node != nil {
		st.node = kept(m.Node)
	}
	if m.Node != nil && m.Node.ID != "" {
		st.client = m.Node.ID
		if cn := t.conns[e.Conn]; cn != nil {
			cn.client, cn.node = st.client, st.node
		}
	}
	c := t.about(e)
	c.batch = batch
	c.Message, c.Method, c.Variant, c.Uncertain = m, st.method, st.method.Variant, st.uncertain
	if m.TypeURL != "" {
		c.Type = decode.ShortType(m.TypeURL)
	}
	switch m.Kind {
	case decode.SotwRequest, decode.DeltaRequest:
		t.request(&c, st, e, m)
	case decode.SotwResponse, decode.DeltaResponse:
		c.What = RESP
		if m.Kind == decode.DeltaResponse {
			c.What, c.Removed = DELTA, m.Removed
		}
		if ts := st.types.of(st.key(m)); ts != nil && !st.ended {
			ts.respond(e, m, &t.lists)
		}
	default:
		c.What = RESP
		if e.Side == session.Client {
			c.What = REQ
		}
	}
	return c
}

// peek reads the envelope. What is still compressed has none, but its method
// tells what it is.
func (t *Tracker) peek(st *stream, e *session.Entry) (*decode.Message, *decode.Batch) {
	content := st.content[0]
	if e.Side == session.Server {
		content = st.content[1]
	}
	if e.Message.Compressed {
		m := decode.Peek(st.method, e.Side, content, nil)
		m.Problems = append(m.Problems, "the message is still compressed")
		return &m, nil
	}
	m, batch := t.shelf.Peek(st.method, e.Side, content, e.Message.Data)
	return &m, batch
}

// kept is what is remembered of a node: nothing, of one that is too long.
func kept(n *decode.Node) *decode.Node {
	size := len(n.ID) + len(n.Cluster) + len(n.UserAgent) + len(n.UserAgentVersion) + len(n.Region) + len(n.Zone)
	for _, f := range n.ClientFeatures {
		size += len(f) + 16
	}
	if size > maxNode {
		return nil
	}
	return n
}

// key names the state that a message belongs to.
func (st *stream) key(m *decode.Message) string {
	if m.TypeURL == "" {
		return st.method.Type
	}
	return Short(decode.TypeKey(m.TypeURL))
}

// request says what a request does. Its verdict and its change of names are
// independent of each other: one request can do both.
func (t *Tracker) request(c *Change, st *stream, e *session.Entry, m *decode.Message) {
	ts := st.types.of(st.key(m))
	if ts == nil || st.ended {
		ts = &typeState{} // no room, or too late: judged alone
		defer func() { t.lists.release(ts.names); ts.forget(len(ts.sent), &t.lists) }()
		c.Uncertain = true
	}
	var words []string
	c.Uncertain = c.Uncertain || ts.forgot
	verdict, of := ts.judge(m, c.Uncertain, &t.lists)
	if verdict != "" {
		words = append(words, verdict)
	}
	if verdict != "" && of.seq != 0 {
		c.Answers, c.Waited = of.seq, max(time.Duration(e.Time.UnixNano()-of.at), 1)
	}
	// On a stream whose beginning was not seen, an echoed nonce proves that
	// this is not the first request.
	first := !ts.asked && !(c.Uncertain && m.Nonce != "")
	ts.asked = true
	if m.Kind == decode.DeltaRequest {
		c.Added, c.Removed = m.Subscribe, m.Unsubscribe
	} else {
		var known bool
		c.Added, c.Removed, known = t.lists.change(ts, m.Names, first)
		c.Uncertain = c.Uncertain || !known
		c.List = ts.names
		ts.named = ts.named || len(m.Names) > 0
		c.named = ts.named
	}
	switch {
	case first || len(c.Added) > 0:
		words = append(words, SUB)
	case len(c.Removed) > 0:
		words = append(words, UNSUB)
	}
	if len(words) == 0 {
		words = []string{REQ}
	}
	c.What, c.Also = words[0], words[1:]
	if len(c.Also) == 0 {
		c.Also = nil
	}
}

// of returns the state of a type, or nil if there is no room for another.
func (ts *types) of(key string) *typeState {
	if s := ts.byKey[key]; s != nil {
		return s
	}
	if len(ts.byKey) >= maxTypes {
		return nil
	}
	if ts.byKey == nil {
		ts.byKey = make(map[string]*typeState)
	}
	s := &typeState{}
	ts.byKey[key] = s
	return s
}

func (ts *types) release(l *lists) {
	for _, s := range ts.byKey {
		l.release(s.names)
		s.names = nil
		s.forget(len(s.sent), l)
	}
	ts.byKey = nil
}

// typeState is the conversation about one type on one stream.
type typeState struct {
	asked  bool      // a request of the type was seen
	named  bool      // a state-of-the-world request named resources: from then on no names mean none
	names  *NameList // of the last state-of-the-world request; nil: not known
	sent   []sent    // responses, oldest first
	forgot bool      // responses without a verdict had to be forgotten
}

// sent is one response.
type sent struct {
	seq            session.Seq
	at             int64 // nanoseconds since 1970
	nonce, version string
	judged         bool
}

// cost is what a response is charged, in bytes.
func (r *sent) cost() int { return len(r.nonce) + len(r.version) + 64 }

// forget drops the oldest n responses.
func (s *typeState) forget(n int, l *lists) {
	for i := range s.sent[:n] {
		l.sentBytes -= s.sent[i].cost()
		s.forgot = s.forgot || !s.sent[i].judged
	}
	s.sent = append(s.sent[:0], s.sent[n:]...)
}

func (s *typeState) respond(e *session.Entry, m *decode.Message, l *lists) {
	s.remember(sent{seq: e.Seq, at: e.Time.UnixNano(), nonce: Short(m.Nonce), version: Short(m.Version)}, l)
}

func (s *typeState) remember(r sent, l *lists) {
	if len(s.sent) >= MaxNonces {
		s.forget(1, l)
	}
	if len(s.sent) > 0 && l.sentBytes+r.cost() > maxSentBytes {
		s.forget(len(s.sent), l)
	}
	l.sentBytes += r.cost()
	s.sent = append(s.sent, r)
}

// judge returns the verdict that a request gives, if any, and the response
// that it is about; its seq is 0 if that was not seen. Only the first request
// that echoes a nonce is its verdict; those after it change names only. A
// request without a nonce judges nothing, except that an error after a response
// without one can mean nothing else.
func (s *typeState) judge(m *decode.Message, uncertain bool, l *lists) (string, sent) {
	if m.Nonce == "" && m.Error == nil {
		return "", sent{}
	}
	nonce := Short(m.Nonce)
	for i := len(s.sent) - 1; i >= 0; i-- {
		if s.sent[i].nonce != nonce {
			continue
		}
		r := s.sent[i]
		if r.judged {
			return "", sent{}
		}
		s.sent[i].judged = true
		if old := i - keepJudged; old > 0 {
			forgot := s.forgot // what is older than a verdict needs none any more
			s.forget(old, l)
			s.forgot = forgot
		}
		switch {
		case m.Error != nil:
			return NACK, r
		case m.Kind == decode.DeltaRequest, Short(m.Version) == r.version:
			return ACK, r
		}
		return "", sent{} // neither, but the response is no longer open
	}
	if m.Nonce == "" {
		return "", sent{}
	}
	// The response was not seen. It counts as judged from here on.
	if m.Error == nil && !uncertain {
		return "", sent{}
	}
	s.remember(sent{nonce: nonce, version: Short(m.Version), judged: true}, l)
	if m.Error != nil {
		return NACK, sent{}
	}
	return ACK, sent{}
}

// short bounds what is kept of a string that a peer chose: a long one is
// represented by its hash.
func Short(s string) string {
	if len(s) <= maxKey {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + string(sum[:])
}
