package engine

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/internal/clip"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// message enters a message and says what it means.
func (k *Engine) message(e *session.Entry, st *Stream) Change {
	if st == nil {
		st = k.begin(e) // it is met in its middle
	}
	if st == nil {
		st = &Stream{Types: newTypes(), Ended: true, Lost: true, uncertain: true} // nothing of it is kept
	}
	m, batch := k.peek(st, e)
	whole := e.Message.Whole()
	if !whole {
		// Its nonce, version or names may be in the part that is missing.
		st.uncertain = true
	}
	k.name(e, st, m)
	c := k.about(e, st)
	c.batch, c.Message = batch, m
	c.Method, c.Variant, c.Uncertain = st.Method, st.Method.Variant, st.uncertain
	if s := st.byURL(m.TypeURL); s != nil {
		c.Type = s.Type
	} else if m.TypeURL != "" {
		c.Type = xds.ShortType(m.TypeURL)
	}
	st.Largest = max(st.Largest, e.Message.Size)
	switch {
	case m.Request():
		k.request(e, &c, st, whole)
	case m.Response():
		c.What = RESP
		if m.Kind == decode.DeltaResponse {
			c.What, c.Removed = DELTA, m.Removed
		}
		if st.Alive() {
			k.response(e, &c, whole)
		}
	case e.Side == session.Client:
		c.What = REQ
	default:
		c.What = RESP
	}
	switch {
	case !whole:
		st.lose()
	case e.Side == session.Client:
		st.LastClient, st.LastClientSeq = k.Now, e.Seq
		if st.firstSeq == 0 {
			st.firstSeq = e.Seq
		}
	default:
		st.LastServer = k.Now
	}
	if e.Carried {
		st.lose() // what came between was not repeated
	}
	return c
}

// peek reads the envelope. What cannot be read has none, but its method tells what
// it is.
func (k *Engine) peek(st *Stream, e *session.Entry) (*decode.Message, *chunk.Batch) {
	content := st.content[0]
	if e.Side == session.Server {
		content = st.content[1]
	}
	if st.refusedPoll(e.Side) { // what comes with it is for people
		return &decode.Message{}, nil
	}
	if why := e.Message.Unread(); why != "" {
		m := decode.Peek(st.Method, e.Side, content, nil)
		m.Problems, m.Unread = append(m.Problems, why), true
		return &m, nil
	}
	if k.o.Envelopes {
		if b := chunk.Glance(st.Method, e.Side, e.Message.Data); b.Kind != 0 {
			return k.envelope(&b), nil
		}
	}
	m, batch := k.cache.Peek(st.Method, e.Side, content, e.Message.Data)
	return &m, batch
}

// envelope is a message of which no more was read than a glance shows. There is
// one for all, so that it costs nothing.
func (k *Engine) envelope(b *chunk.Brief) *decode.Message {
	m := &k.glanced
	*m = decode.Message{Kind: b.Kind, TypeURL: b.TypeURL, Nonce: b.Nonce, Version: b.Version}
	if b.NodeID != "" {
		m.Node = &decode.Node{ID: b.NodeID}
	}
	if b.Rejected {
		m.Error = &decode.Error{}
	}
	return m
}

// name notes who a message says that its client is.
func (k *Engine) name(e *session.Entry, st *Stream, m *decode.Message) {
	if m.Node == nil {
		return
	}
	st.lastNode = kept(m.Node)
	if !m.Request() && !m.Response() && st.Node == nil {
		st.Node = m.Node
	}
	if m.Node.ID == "" {
		return
	}
	st.client = m.Node.ID
	if cn := k.conns[e.Conn]; cn != nil {
		cn.client, cn.node = st.client, st.lastNode
	}
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

// Short bounds what is kept of a string that a peer chose: a long one is cut, and
// a hash tells it from others.
func Short(s string) string {
	if len(s) <= maxKey {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return clip.Text(s, maxKey) + hex.EncodeToString(sum[:16])
}
