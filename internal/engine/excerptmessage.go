package engine

import (
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// message enters a message, after what it needs was kept.
func (x *Excerpt) message(e *session.Entry, c *Change, st *quotedStream, chosen bool) {
	m, here := c.Message, quote{e.Seq, st}
	if e.Message.Compressed || e.Message.Truncated {
		st.hurt = e.Seq
	}
	if e.Side == session.Client && st.first == 0 {
		st.first = e.Seq
		if st.kept {
			x.need(e.Seq)
		}
	}
	if m == nil {
		return
	}
	if m.Node != nil {
		st.named = e.Seq
		if m.Node.ID != "" {
			st.conn.named = here
		}
	}
	var t *quotedType
	if m.Request() || m.Response() {
		t = st.typeOf(m, c)
	}
	if t == nil {
		return
	}
	if chosen {
		x.keepType(t)
	}
	if m.Response() {
		if len(t.sent) >= keepQuoted {
			t.sent = append(t.sent[:0], t.sent[1:]...)
		}
		t.sent = append(t.sent, quotedResponse{quote: here, nonce: Short(m.Nonce), kept: chosen})
		return
	}
	if r := t.echo(m); r != nil {
		if chosen {
			x.response(r)
		}
		if r.verdict.seq == 0 {
			r.verdict = here
			if r.kept {
				x.need(e.Seq)
			}
			if c.What == ACK {
				t.accepted = *r
			}
		}
	}
	if t.first.seq == 0 {
		t.first = here
	}
	if t.naming.seq == 0 && len(m.Names) > 0 {
		t.naming = here
	}
	t.last, t.echoed = here, ""
	if m.Nonce != "" {
		t.echoed = Short(m.Nonce)
	}
}

// typeOf is nil if there is no room for another.
func (st *quotedStream) typeOf(m *decode.Message, c *Change) *quotedType {
	key := c.Method.Type
	if m.TypeURL != "" {
		key = Short(xds.TypeKey(m.TypeURL))
	}
	t := st.types[key]
	if t == nil && len(st.types) < maxTypes {
		t = &quotedType{}
		st.types[key] = t
	}
	return t
}

// echo is the response that a request is about, as a Tracker finds it.
func (t *quotedType) echo(m *decode.Message) *quotedResponse {
	if m.Nonce == "" && m.Error == nil {
		return nil
	}
	return t.byNonce(Short(m.Nonce))
}

func (t *quotedType) byNonce(nonce string) *quotedResponse {
	for i := len(t.sent) - 1; i >= 0; i-- {
		if t.sent[i].nonce == nonce {
			return &t.sent[i]
		}
	}
	return nil
}

// keepType keeps what was said of a type before.
func (x *Excerpt) keepType(t *quotedType) {
	x.quote(t.first)
	x.quote(t.naming)
	x.quote(t.last)
	if t.echoed != "" {
		if r := t.byNonce(t.echoed); r != nil {
			x.response(r)
		}
	}
	if t.accepted.seq != 0 {
		x.response(&t.accepted)
	}
}
