package capture

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	maxEarly  = 64   // entries of a connection that come later than they should
	maxUnsure = 16   // entries of a stream, before it is known what it is
	maxLive   = 1024 // streams that a gap entry names
	maxEnded  = 1024 // streams that ended, of which more may come late
)

// verdict is what is known of a stream.
type verdict uint8

const (
	undecided verdict = iota
	discovery         // it is of xDS
	other
)

// stream is one of the streams of a tap.
type stream struct {
	verdict verdict
	id      session.StreamID // among those of the recording; 0: it has none yet
	entries int              // while it is undecided
	ended   bool
}

// streams are those of a connection, as its tap numbers them.
type streams struct {
	all   map[session.StreamID]*stream
	live  []*stream // all of them that a gap may name, in their order, and some that are dead
	ended []session.StreamID
}

// dead says that nothing more is expected of a stream, or that it is not of xDS.
func (st *stream) dead() bool { return st.verdict == other || st.ended }

// append takes an entry of the connection's tap.
func (c *conn) append(e session.Entry) {
	if e.Stream == 0 {
		c.r.push(queued{Entry: e, c: c})
		return
	}
	st := c.all[e.Stream]
	if st == nil {
		st = new(stream)
		if c.all == nil {
			c.all = make(map[session.StreamID]*stream)
		}
		c.all[e.Stream] = st
		c.enlist(st)
	}
	if st.verdict == undecided {
		c.judge(st, &e)
	}
	if e.Kind == session.KindTrailer || e.Kind == session.KindCancel {
		c.retire(e.Stream, st)
	}
	if st.verdict != other {
		c.r.push(queued{Entry: e, c: c, st: st})
	} else {
		c.r.drain()
	}
}

// judge looks whether an entry tells what its stream is.
func (c *conn) judge(st *stream, e *session.Entry) {
	st.entries++
	switch {
	case e.Kind == session.KindOpen && e.Method != "":
		switch xds.LookupMethod(e.Method).Variant {
		case xds.VariantOther, xds.VariantFile:
			st.verdict = other
			c.r.done.OtherStreams++
		default:
			c.keep(st)
		}
		return
	case e.Message != nil && e.Message.Unread() == "":
		if kind, _ := decode.KindOf(xds.Method{}, e.Side, e.Message.Data); kind != decode.Other {
			c.r.done.Headless++
			c.keep(st)
			return
		}
	}
	if st.entries > maxUnsure {
		c.r.leave(st)
	}
}

// keep takes a stream for one of xDS, and its connection with it.
func (c *conn) keep(st *stream) {
	st.verdict = discovery
	c.r.done.Streams++
	if !c.kept {
		c.kept = true
		c.r.done.Connections++
	}
}

// leave takes a stream, of which it never became clear what it is, for none of xDS.
func (r *reader) leave(st *stream) {
	st.verdict = other
	r.done.UnknownStreams++
}

// giveUp leaves the streams of which it never became clear what they are.
func (c *conn) giveUp() {
	for _, st := range c.all {
		if st.verdict == undecided {
			c.r.leave(st)
		}
	}
}

// missing says that bytes of the connection are not in the capture. What is missing
// right after others is part of the same gap.
func (c *conn) missing(n int) {
	bytes := int64(max(n, 0))
	if g := c.r.gap; g != nil && g.c == c {
		g.Gap.Bytes += bytes
		return
	}
	c.r.tellGap()
	c.r.gap = &queued{c: c, live: c.living(), Entry: session.Entry{
		Time: c.last, Side: session.Proxy, Kind: session.KindGap, Gap: &session.Gap{Bytes: bytes},
	}}
}

func (c *conn) enlist(st *stream) {
	if len(c.live) > 2*len(c.all) {
		c.live = slices.DeleteFunc(c.live, (*stream).dead)
	}
	c.live = append(c.live, st)
}

// living are the first streams that live, as many as a gap names. It costs no more
// than these, and the dead ones before the last of them, which it forgets.
func (c *conn) living() (out []*stream) {
	n := 0
	for ; n < len(c.live) && len(out) < maxLive; n++ {
		if st := c.live[n]; !st.dead() {
			out = append(out, st)
		}
	}
	c.live = c.live[n-len(out):]
	copy(c.live, out)
	return out
}

// retire remembers a stream for what comes late.
func (c *conn) retire(id session.StreamID, st *stream) {
	if st.ended {
		return
	}
	st.ended = true
	if c.streams.ended = append(c.streams.ended, id); len(c.streams.ended) > maxEnded {
		delete(c.all, c.streams.ended[0])
		c.streams.ended = slices.Delete(c.streams.ended, 0, 1)
	}
}
