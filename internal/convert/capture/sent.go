package capture

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// sent is what was written of a stream.
type sent struct {
	h2      uint32 // its number; 0: HTTP/1.1
	grpc    bool   // its messages have gRPC's prefix
	bare    bool   // HTTP/1.1: its response has no body
	headers [2]bool
	chunked [2]bool
	ended   [2]bool
	reset   bool     // what comes of the other end is late
	credit  [2]int64 // as of the link
}

// add writes an entry of the connection.
func (l *link) add(e *session.Entry) {
	if l.over {
		l.w.done.Late++
		return
	}
	end := clientEnd
	if e.Side != session.Client {
		end = serverEnd
	}
	switch e.Kind {
	case session.KindConnect:
		return
	case session.KindDisconnect:
		l.close(e.Time, end)
		return
	case session.KindGoAway:
		if e.GoAway != nil {
			l.goAway(e, end)
		}
		return
	}
	if e.Stream == 0 {
		return
	}
	s := l.streams[e.Stream]
	if s == nil || e.Kind == session.KindOpen {
		s = l.open(e)
	}
	if s.ended[end] && e.Kind != session.KindOpen && e.Kind != session.KindCancel {
		l.w.done.Late++
		return
	}
	switch e.Kind {
	case session.KindHeader:
		l.headers(e, end, s)
	case session.KindMessage:
		l.message(e, end, s)
	case session.KindHalfClose, session.KindTrailer:
		l.end(e, end, s)
	case session.KindCancel:
		l.cancel(e, end, s)
	}
}

// open begins a stream. Where its beginning is not in the session, as much is
// written of it as is known: that it is gRPC.
func (l *link) open(e *session.Entry) *sent {
	fields := e.Headers
	method := xds.LookupMethod(e.Method)
	grpc := strings.HasPrefix(session.Get(fields, "content-type"), "application/grpc")
	if e.Kind != session.KindOpen || len(fields) == 0 {
		fields, grpc = nil, e.Method == "" || method.Variant != xds.VariantREST
		switch {
		case !grpc:
			fields = []session.Field{{Name: ":method", Value: http.MethodPost}, {Name: ":path", Value: e.Method}, {Name: "content-length", Value: "1"}}
		case e.Kind == session.KindOpen && e.Method != "":
			fields = []session.Field{{Name: ":method", Value: http.MethodPost}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: e.Method}}
		}
		if grpc {
			fields = append(fields, grpcType())
		}
		l.invented("the headers of this stream are not in the recording")
	}
	if e.Sent != nil {
		l.w.done.Rewritten++
	}
	s := &sent{grpc: grpc, h2: e.H2}
	if s.h2 == 0 && grpc {
		s.h2 = l.opened + 1 + l.opened%2
	}
	l.sweep()
	l.streams[e.Stream] = s
	s.headers[clientEnd] = true
	if s.h2 == 0 {
		l.request(e.Time, s, fields)
		return s
	}
	l.opened = max(l.opened, s.h2)
	l.preface(e.Time)
	l.writeBlock(e.Time, clientEnd, s.h2, plainFields(fields, grpc), false)
	return s
}

// sweep forgets streams that are over, once there are many.
func (l *link) sweep() {
	if len(l.streams) < l.many {
		return
	}
	maps.DeleteFunc(l.streams, func(_ session.StreamID, s *sent) bool {
		return s.reset || s.ended[clientEnd] && s.ended[serverEnd]
	})
	l.many = max(manyStreams, 2*len(l.streams))
}

func grpcType() session.Field { return session.Field{Name: "content-type", Value: "application/grpc"} }

// invented counts headers that were not in the session.
func (l *link) invented(comment string) {
	l.w.done.Headless++
	l.w.comments = append(l.w.comments, comment)
}

// plainFields leaves out of headers that the body was compressed, as it is not any
// more. Of gRPC, each message says for itself whether it is.
func plainFields(fields []session.Field, grpc bool) []session.Field {
	if grpc {
		return fields
	}
	return slices.DeleteFunc(slices.Clone(fields), func(f session.Field) bool {
		return f.Name == "content-encoding"
	})
}

// headers writes those of a response, or the trailers of a request.
func (l *link) headers(e *session.Entry, end int, s *sent) {
	if len(e.Headers) == 0 {
		l.respond(e, end, s)
		return
	}
	if s.h2 != 0 {
		l.writeBlock(e.Time, end, s.h2, plainFields(e.Headers, s.grpc), false)
	} else {
		l.status(e, end, s)
	}
	if status := session.Get(e.Headers, ":status"); !strings.HasPrefix(status, "1") || status == "101" {
		s.headers[end] = true
	}
}

// respond writes headers of a response where the session has none.
func (l *link) respond(e *session.Entry, end int, s *sent) {
	if s.headers[end] || end == clientEnd {
		return
	}
	l.invented("the headers of this response are not in the recording")
	fields := []session.Field{{Name: ":status", Value: "200"}}
	if s.grpc {
		fields = append(fields, grpcType())
	}
	own := *e
	own.Headers = fields
	l.headers(&own, end, s)
}

// message writes a message as the session has it.
func (l *link) message(e *session.Entry, end int, s *sent) {
	m := e.Message
	if m == nil {
		return
	}
	l.w.done.Messages++
	if m.Encoding != "" && !m.Compressed {
		l.w.done.Decompressed++
	}
	if m.Truncated {
		l.w.done.Truncated++
		l.w.comments = append(l.w.comments, fmt.Sprintf("of this message the recording has %d bytes of %d", m.Data.Len(), m.Size))
	}
	l.respond(e, end, s)
	if s.h2 == 0 {
		l.chunk(e.Time, end, s, m.Data)
		return
	}
	data := m.Data
	if s.grpc {
		n := data.Len()
		prefix := []byte{0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
		if m.Compressed {
			prefix[0] = 1
		}
		data = append(session.Chunks{prefix}, data...)
	}
	l.writeData(e.Time, end, s, data)
}

// end writes that one end sends no more on the stream.
func (l *link) end(e *session.Entry, end int, s *sent) {
	s.ended[end] = true
	if s.h2 == 0 {
		l.respond(e, end, s)
		l.lastChunk(e.Time, end, s)
		return
	}
	fields := e.Headers
	if len(fields) == 0 && e.Status != nil && e.Status.Code >= 0 {
		fields = []session.Field{{Name: "grpc-status", Value: strconv.Itoa(int(e.Status.Code))}}
		if e.Status.Message != "" {
			fields = append(fields, session.Field{Name: "grpc-message", Value: percentEncode(e.Status.Message)})
		}
	}
	if session.Get(fields, ":status") == "" {
		l.respond(e, end, s)
	}
	if len(fields) == 0 {
		l.writeFrame(e.Time, end, frameData, endStream, s.h2, nil)
		return
	}
	l.writeBlock(e.Time, end, s.h2, fields, true)
}

// cancel writes that a stream was reset. One that ended with its connection was not.
func (l *link) cancel(e *session.Entry, end int, s *sent) {
	s.ended[end], s.reset = true, true
	if s.h2 == 0 || e.Status == nil || !e.Status.WasReset && e.Status.Code < 0 {
		return
	}
	code := e.Status.Reset
	if !e.Status.WasReset {
		code = resetCancel
	}
	l.writeFrame(e.Time, end, frameRSTStream, 0, s.h2, []byte{byte(code >> 24), byte(code >> 16), byte(code >> 8), byte(code)})
}

// percentEncode writes a grpc-message, as gRPC over HTTP/2 demands.
func percentEncode(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == '%' {
			fmt.Fprintf(&b, "%%%02X", s[i])
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// encode makes a header block.
func (l *link) encode(end int, fields []session.Field) []byte {
	l.block.Reset()
	for _, f := range fields {
		l.w.fail(l.fields[end].WriteField(hpack.HeaderField{Name: f.Name, Value: f.Value}))
	}
	return l.block.Bytes()
}
