package capture

import (
	"maps"
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	maxEarly  = 64   // entries of a connection before it has xDS
	maxUnsure = 16   // of a stream, before it is known what it is
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
	id      session.StreamID // among those of the recording
	ended   bool
	held    []session.Entry // while it is undecided
}

// streams are those of a connection, as its tap numbers them.
type streams struct {
	all   map[session.StreamID]*stream
	ended []session.StreamID
}

// append takes an entry of the connection's tap.
func (c *conn) append(e session.Entry) {
	if e.Stream == 0 {
		if c.kept {
			c.add(e, 0)
		} else if len(c.early) < maxEarly && c.r.hold(&e) {
			c.early = append(c.early, e)
		}
		return
	}
	st := c.all[e.Stream]
	if st == nil {
		st = new(stream)
		if c.all == nil {
			c.all = make(map[session.StreamID]*stream)
		}
		c.all[e.Stream] = st
	}
	switch st.verdict {
	case discovery:
		c.add(e, st.id)
	case undecided:
		if !c.r.hold(&e) {
			c.leave(st)
			c.r.done.UnknownStreams++
			break
		}
		st.held = append(st.held, e)
		c.judge(st, &e)
	}
	if e.Kind == session.KindTrailer || e.Kind == session.KindCancel {
		c.retire(e.Stream, st)
	}
}

// judge looks whether an entry tells what its stream is.
func (c *conn) judge(st *stream, e *session.Entry) {
	switch {
	case e.Kind == session.KindOpen && e.Method != "":
		switch xds.LookupMethod(e.Method).Variant {
		case xds.VariantOther, xds.VariantFile:
			c.leave(st)
			c.r.done.OtherStreams++
		default:
			c.keepStream(st)
		}
		return
	case e.Message != nil && !e.Message.Compressed:
		if kind, _ := decode.KindOf(xds.Method{}, e.Side, e.Message.Data); kind != decode.Other {
			c.keepStream(st)
			return
		}
	}
	if len(st.held) > maxUnsure {
		c.leave(st)
		c.r.done.UnknownStreams++
	}
}

func (c *conn) leave(st *stream) {
	c.r.release(st.held)
	st.verdict, st.held = other, nil
}

// giveUp leaves the streams of which it never became clear what they are.
func (c *conn) giveUp() {
	for _, st := range c.all {
		if st.verdict == undecided {
			c.leave(st)
			c.r.done.UnknownStreams++
		}
	}
}

// keepStream takes a stream for one of xDS, and its connection with it.
func (c *conn) keepStream(st *stream) {
	c.keep()
	c.r.done.Streams++
	c.r.stream++
	st.verdict, st.id = discovery, c.r.stream
	if st.held[0].Kind != session.KindOpen || st.held[0].Method == "" {
		c.r.done.Headless++
	}
	held := st.held
	st.held = nil
	c.r.release(held)
	for _, e := range held {
		c.add(e, st.id)
	}
}

// keep makes the connection one of the recording.
func (c *conn) keep() {
	if c.kept {
		return
	}
	c.kept = true
	c.r.done.Connections++
	c.r.conn++
	c.id = c.r.conn
	c.add(session.Entry{
		Time: c.begun, Side: session.Client, Kind: session.KindConnect,
		Peer: &session.Peer{Client: c.ends[c.client].String(), Upstream: c.ends[1-c.client].String()},
	}, 0)
	if !c.synced {
		c.r.done.Midway++
		c.add(session.Entry{
			Time: c.begun, Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{
				Code: session.NoteMidway,
				Text: "the capture begins in the middle of this connection: header fields that refer to what came before (HPACK) are unknown, and so are the methods of streams that were open",
				Hint: "a capture that begins before the client connects has all of it",
			},
		}, 0)
	}
	early := c.early
	c.early = nil
	c.r.release(early)
	for _, e := range early {
		c.add(e, 0)
	}
}

// missing says that bytes of the connection are not in the capture.
func (c *conn) missing(n int) {
	if !c.kept {
		return // the tap has a note
	}
	c.r.done.Gaps++
	c.r.done.Missing += uint64(max(n, 0))
	const most = 1024 // that an entry may name
	gap := &session.Gap{Bytes: int64(max(n, 0))}
	for _, id := range slices.Sorted(maps.Keys(c.all)) {
		if st := c.all[id]; st.verdict == discovery && !st.ended && len(gap.Streams) < most {
			gap.Streams = append(gap.Streams, st.id)
		}
	}
	c.add(session.Entry{Time: c.r.now, Side: session.Proxy, Kind: session.KindGap, Gap: gap}, 0)
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

func (c *conn) add(e session.Entry, stream session.StreamID) {
	e.Conn, e.Stream = c.id, stream
	c.r.add(e)
}
