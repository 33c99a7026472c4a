package index

import (
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// Unread is the row of an entry that was come upon before the feed has got to
// it: what it says itself, without what it means in its conversation.
func (f *Fetched) Unread() (Row, Words) {
	e, c := &f.Entry, &f.Change
	r := Row{Seq: e.Seq, Time: e.Time.UnixNano(), Kind: e.Kind, Side: e.Side, Count: None, Flags: Unread | Uncertain}
	w := Words{Client: f.client, Type: c.Type, Conn: e.Conn, Stream: e.Stream, Method: c.Method}
	if e.Kind != session.KindMessage || e.Message == nil {
		t := render.NewTable(0, render.Style{})
		t.See(e, c)
		ev, _ := t.Event(e, c)
		w.Text = ev.Text
		return r, w
	}
	r.Size = saturate(e.Message.Size)
	if e.Message.Masked {
		r.Flags |= Masked
	}
	m := c.Message
	if m == nil {
		return r, w
	}
	w.Version, w.Nonce = m.Version, m.Nonce
	switch m.Kind {
	case decode.SotwResponse:
		r.What, r.Count = RESP, int32(len(m.Resources))
	case decode.DeltaResponse:
		r.What, r.Count = DELTA, int32(len(m.Resources))
	default:
		r.What = whatOf(engine.REQ)
		if m.Error != nil {
			r.What = NACK
		}
		if n := len(m.Names) + len(m.Subscribe); n > 0 {
			r.Count = int32(n)
		}
	}
	return r, w
}
