package grpcdump

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// add keeps a call of xDS, and says whether it was one.
func (d *dump) add(c *call) bool {
	method := xds.LookupMethod(c.path())
	switch {
	case c.service == "" && c.method == "":
	case method.Variant == xds.VariantOther || method.Variant == xds.VariantREST || method.Variant == xds.VariantFile || method.Variant == "":
		d.done.Others++
	case len(c.messages) == 0:
		d.done.Timeless++
	default:
		d.done.Calls++
		d.calls = append(d.calls, c)
		return true
	}
	return false
}

func (c *call) path() string { return "/" + c.service + "/" + c.method }

// emit gives the entries of all calls, by their time.
func (d *dump) emit(emit func(*session.Entry) error) error {
	conns := map[string]session.ConnID{}
	n := 0
	for _, c := range d.calls {
		n += len(c.messages) + 3 // it is opened, answered and over
	}
	all := make([]session.Entry, 0, n)
	for i, c := range d.calls {
		authority := session.Get(c.metadata[0].list(), ":authority")
		conn, known := conns[authority]
		if !known {
			conn = session.ConnID(len(conns) + 1)
			conns[authority] = conn
		}
		all = c.entries(all, conn, session.StreamID(i+1))
		d.calls[i] = nil
	}
	slices.SortStableFunc(all, func(a, b session.Entry) int { return a.Time.Compare(b.Time) })
	begun := map[session.ConnID]bool{}
	give := func(e *session.Entry) error {
		d.done.Entries++
		e.Seq = session.Seq(d.done.Entries)
		if e.Kind == session.KindMessage {
			d.done.Messages++
			if e.Message.Truncated {
				d.done.Bare++
			}
		}
		return emit(e)
	}
	for i := range all {
		e := &all[i]
		if !begun[e.Conn] {
			begun[e.Conn] = true
			peer := &session.Peer{Upstream: session.Get(e.Headers, ":authority")}
			if err := give(&session.Entry{Time: e.Time, Conn: e.Conn, Side: session.Client, Kind: session.KindConnect, Peer: peer}); err != nil {
				return err
			}
		}
		if err := give(e); err != nil {
			return err
		}
	}
	return nil
}

// entries appends those of one call, in their order. Times do not run backwards in it.
func (c *call) entries(out []session.Entry, conn session.ConnID, stream session.StreamID) []session.Entry {
	last := c.messages[0].time(time.Unix(0, 0).UTC())
	add := func(side session.Side, kind session.Kind) *session.Entry {
		out = append(out, session.Entry{Time: last, Conn: conn, Stream: stream, Side: side, Kind: kind})
		return &out[len(out)-1]
	}
	open := add(session.Client, session.KindOpen)
	request := c.metadata[0].list()
	open.Method = c.path()
	open.Headers = append([]session.Field{
		{Name: ":method", Value: "POST"},
		{Name: ":path", Value: c.path()},
		{Name: ":authority", Value: session.Get(request, ":authority")},
		{Name: "content-type", Value: "application/grpc"},
	}, proper(request)...)
	answered := false
	for i := range c.messages {
		m := &c.messages[i]
		last = m.time(last)
		side := session.Client
		if m.Origin == "server" {
			side = session.Server
			if !answered {
				answered = true
				head := add(session.Server, session.KindHeader)
				head.Headers = append([]session.Field{{Name: ":status", Value: "200"}, {Name: "content-type", Value: "application/grpc"}}, proper(c.metadata[1].list())...)
			}
		}
		size := int64(len(m.Raw))
		add(side, session.KindMessage).Message = &session.Message{Data: session.Chunks{m.Raw}, Size: size, WireSize: size, Truncated: m.bare}
	}
	code, text := int32(0), ""
	if c.status != nil {
		code, text = codeOf(c.status.Code), c.status.Message
	}
	end := add(session.Server, session.KindTrailer)
	end.Status = &session.Status{Code: code, Message: text, HTTP: 200}
	end.Headers = append([]session.Field{{Name: "grpc-status", Value: strconv.Itoa(int(code))}}, proper(c.metadata[2].list())...)
	return out
}

// time is that of a message, or of what was before it, if that was later.
func (m *message) time(before time.Time) time.Time {
	t := m.Time.UTC()
	if y := t.Year(); y < 1970 || y > 2200 || t.Before(before) { // no entry is of another time
		return before
	}
	return t
}

// list are the fields by their names.
func (f fields) list() (out []session.Field) {
	for _, k := range slices.Sorted(maps.Keys(f)) {
		for _, v := range f[k] {
			out = append(out, session.Field{Name: strings.ToLower(k), Value: v})
		}
	}
	return out
}

// proper leaves out what is written anew.
func proper(all []session.Field) []session.Field {
	return slices.DeleteFunc(all, func(f session.Field) bool {
		return strings.HasPrefix(f.Name, ":") || f.Name == "content-type" || f.Name == "grpc-status"
	})
}

// codeOf is the number of a code, which a dump has by the name that gRPC for Go gives
// it; -1 if it is none.
func codeOf(name string) int32 {
	names := []string{
		"OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists", "PermissionDenied",
		"ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented", "Internal", "Unavailable", "DataLoss", "Unauthenticated",
	}
	if i := slices.Index(names, name); i >= 0 {
		return int32(i)
	}
	var n int32
	if _, err := fmt.Sscanf(name, "Code(%d)", &n); err == nil && n >= 0 {
		return n
	}
	return -1
}
