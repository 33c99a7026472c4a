package binlog

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"time"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// callKey tells calls apart: a program that is a client and a server numbers
// them for each.
type callKey struct {
	logger pb.GrpcLogEntry_Logger
	id     uint64
}

// call is one that has begun and not ended.
type call struct {
	stream session.StreamID
	conn   session.ConnID
	next   uint64 // number of its next entry
	other  bool   // it is not of xDS
}

// held is an entry that waits for those before it.
type held struct {
	call *call
	*pb.GrpcLogEntry
}

const (
	maxHeld     = 64      // entries that wait
	maxHeldSize = 1 << 20 // bytes of each
	// maxHeldFor is how much later another entry of the log may be. What has not
	// come by then was dropped.
	maxHeldFor = 10 * time.Second
)

// record takes an entry of the log. A program numbers the entries of a call
// before it writes them, and goroutines that send and receive may overtake each
// other in between, one of them several times: where a number is left out, an
// entry that comes soon may have it.
func (l *log) record(r *pb.GrpcLogEntry) error {
	for len(l.held) > 0 {
		h := l.held[0]
		if len(l.held) < maxHeld && r.GetTimestamp().AsTime().Sub(h.GetTimestamp().AsTime()) <= maxHeldFor {
			break
		}
		if err := l.giveUp(h.call, h.GetSequenceIdWithinCall()); err != nil {
			return err
		}
	}
	c, n := l.calls[callKey{r.GetLogger(), r.GetCallId()}], r.GetSequenceIdWithinCall()
	if c == nil || c.other || n <= c.next {
		if err := l.write(r); err != nil {
			return err
		}
		return l.giveUp(c, 0)
	}
	l.held = append(l.held, held{c, r})
	if l.buf.Len() > maxHeldSize {
		return l.giveUp(c, n)
	}
	return nil
}

// giveUp waits no longer for what is missing before an entry of a call: it writes
// what waits up to that number, and then what was next.
func (l *log) giveUp(c *call, number uint64) error {
	for {
		first := -1
		for i, h := range l.held {
			if h.call == c && (first < 0 || h.GetSequenceIdWithinCall() < l.held[first].GetSequenceIdWithinCall()) {
				first = i
			}
		}
		if first < 0 || l.held[first].GetSequenceIdWithinCall() > max(number, c.next) {
			return nil
		}
		r := l.held[first].GrpcLogEntry
		l.held = slices.Delete(l.held, first, first+1)
		if err := l.write(r); err != nil {
			return err
		}
	}
}

// release writes what still waits at the end of the log.
func (l *log) release() error {
	for len(l.held) > 0 {
		h := slices.MinFunc(l.held, func(a, b held) int {
			return cmp.Or(a.GetTimestamp().AsTime().Compare(b.GetTimestamp().AsTime()), cmp.Compare(a.GetCallId(), b.GetCallId()))
		})
		if err := l.giveUp(h.call, h.GetSequenceIdWithinCall()); err != nil {
			return err
		}
	}
	return nil
}

// write makes the entries of one of the log.
func (l *log) write(r *pb.GrpcLogEntry) error {
	key := callKey{r.GetLogger(), r.GetCallId()}
	c := l.calls[key]
	at := r.GetTimestamp().AsTime().UTC()
	if c == nil {
		if r.GetType() != pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HEADER || len(l.calls) >= maxCalls {
			return nil // it began before the log did
		}
		var err error
		if c, err = l.begin(r, at); err != nil {
			return err
		}
		l.calls[key] = c
		c.next = r.GetSequenceIdWithinCall() + 1
		return nil
	}
	if n := r.GetSequenceIdWithinCall(); n >= c.next && !c.other {
		l.done.Missing += n - c.next
		c.next = n + 1
	}
	switch r.GetType() {
	case pb.GrpcLogEntry_EVENT_TYPE_SERVER_TRAILER, pb.GrpcLogEntry_EVENT_TYPE_CANCEL:
		delete(l.calls, key)
	}
	if c.other {
		return nil
	}
	e := session.Entry{Time: at, Conn: c.conn, Stream: c.stream}
	switch r.GetType() {
	case pb.GrpcLogEntry_EVENT_TYPE_SERVER_HEADER:
		e.Side, e.Kind = session.Server, session.KindHeader
		e.Headers = append([]session.Field{{Name: ":status", Value: "200"}, {Name: "content-type", Value: "application/grpc"}},
			fields(r.GetServerHeader().GetMetadata())...)
	case pb.GrpcLogEntry_EVENT_TYPE_CLIENT_MESSAGE:
		e.Side = session.Client
		l.message(&e, r)
	case pb.GrpcLogEntry_EVENT_TYPE_SERVER_MESSAGE:
		e.Side = session.Server
		l.message(&e, r)
	case pb.GrpcLogEntry_EVENT_TYPE_CLIENT_HALF_CLOSE:
		e.Side, e.Kind = session.Client, session.KindHalfClose
	case pb.GrpcLogEntry_EVENT_TYPE_SERVER_TRAILER:
		t := r.GetTrailer()
		e.Side, e.Kind = session.Server, session.KindTrailer
		e.Status = &session.Status{Code: int32(t.GetStatusCode()), Message: t.GetStatusMessage(), HTTP: 200}
		e.Headers = append([]session.Field{{Name: "grpc-status", Value: strconv.Itoa(int(t.GetStatusCode()))}}, fields(t.GetMetadata())...)
	case pb.GrpcLogEntry_EVENT_TYPE_CANCEL:
		e.Side, e.Kind = session.Client, session.KindCancel
		e.Status = &session.Status{Code: 1, Message: "the client gave the call up"}
	default:
		return nil
	}
	return l.add(&e)
}

// begin makes the entries of the beginning of a call.
func (l *log) begin(r *pb.GrpcLogEntry, at time.Time) (*call, error) {
	h := r.GetClientHeader()
	method := xds.LookupMethod(h.GetMethodName())
	if method.Variant == xds.VariantOther || method.Variant == "" || method.Variant == xds.VariantFile {
		l.done.Others++
		return &call{other: true}, nil
	}
	l.done.Calls++
	peer := &session.Peer{Upstream: h.GetAuthority()}
	if r.GetLogger() == pb.GrpcLogEntry_LOGGER_SERVER {
		peer = &session.Peer{Client: address(r.GetPeer()), Listen: h.GetAuthority()}
	}
	name := r.GetLogger().String() + "\x00" + peer.Client + "\x00" + h.GetAuthority()
	conn, known := l.conns[name]
	if !known {
		conn = session.ConnID(len(l.conns) + 1)
		if len(l.conns) < maxCalls {
			l.conns[name] = conn
		}
		if err := l.add(&session.Entry{Time: at, Conn: conn, Side: session.Client, Kind: session.KindConnect, Peer: peer}); err != nil {
			return nil, err
		}
	}
	l.nstr++
	headers := []session.Field{
		{Name: ":method", Value: "POST"},
		{Name: ":path", Value: h.GetMethodName()},
		{Name: ":authority", Value: h.GetAuthority()},
		{Name: "content-type", Value: "application/grpc"},
	}
	c := &call{stream: l.nstr, conn: conn}
	return c, l.add(&session.Entry{
		Time: at, Conn: conn, Stream: c.stream, Side: session.Client, Kind: session.KindOpen,
		Method: h.GetMethodName(), Headers: append(headers, fields(h.GetMetadata())...),
	})
}

func (l *log) message(e *session.Entry, r *pb.GrpcLogEntry) {
	data := r.GetMessage().GetData()
	size := max(int64(r.GetMessage().GetLength()), int64(len(data)))
	e.Kind = session.KindMessage
	e.Message = &session.Message{Data: session.Chunks{data}, Size: size, WireSize: size}
	if r.GetPayloadTruncated() || int64(len(data)) < size {
		e.Message.Truncated = true
		l.done.Truncated++
	}
	l.done.Messages++
}

// add emits an entry. Time does not run backwards: calls write the log at once.
func (l *log) add(e *session.Entry) error {
	l.done.Entries++
	e.Seq = session.Seq(l.done.Entries)
	if y := e.Time.Year(); y < 1970 || y > 2200 || e.Time.Before(l.last.Time) { // no entry is of another time
		e.Time = l.last.Time
	}
	l.last.Time = e.Time
	return l.emit(e)
}

func fields(m *pb.Metadata) []session.Field {
	var out []session.Field
	for _, f := range m.GetEntry() {
		out = append(out, session.Field{Name: f.GetKey(), Value: string(f.GetValue())})
	}
	return out
}

func address(a *pb.Address) string {
	switch a.GetType() {
	case pb.Address_TYPE_UNIX:
		return "unix:" + a.GetAddress()
	case pb.Address_TYPE_IPV4, pb.Address_TYPE_IPV6:
		return net.JoinHostPort(a.GetAddress(), strconv.Itoa(int(a.GetIpPort())))
	}
	return a.GetAddress()
}
