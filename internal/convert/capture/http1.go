package capture

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// request writes the head of a request of HTTP/1.1.
func (l *link) request(at time.Time, s *sent, fields []session.Field) {
	length := session.Get(fields, "content-length")
	method := session.Get(fields, ":method")
	s.bare = method == http.MethodHead
	l.head(at, clientEnd, s, method+" "+session.Get(fields, ":path")+" HTTP/1.1", fields,
		length != "" && length != "0" || session.Get(fields, "transfer-encoding") != "")
}

// status writes the head of a response of HTTP/1.1.
func (l *link) status(e *session.Entry, end int, s *sent) {
	code, _ := strconv.Atoi(session.Get(e.Headers, ":status"))
	l.head(e.Time, end, s, fmt.Sprintf("HTTP/1.1 %03d %s", code, http.StatusText(code)), e.Headers,
		!s.bare && code >= 200 && code != http.StatusNoContent && code != http.StatusNotModified && session.Get(e.Headers, "content-length") != "0")
}

// head writes a head of HTTP/1.1. How long a body is that follows is not known, nor
// is it what it was once it was decompressed or masked: it comes in chunks.
func (l *link) head(at time.Time, end int, s *sent, first string, fields []session.Field, body bool) {
	var b strings.Builder
	line := strings.NewReplacer("\r", " ", "\n", " ")
	b.WriteString(line.Replace(first) + "\r\n")
	for _, f := range fields {
		switch {
		case strings.HasPrefix(f.Name, ":"):
		case body && (f.Name == "content-length" || f.Name == "transfer-encoding" || f.Name == "content-encoding"):
		default:
			b.WriteString(line.Replace(f.Name+": "+f.Value) + "\r\n")
		}
	}
	if body {
		s.chunked[end] = true
		l.w.done.Bodies++
		b.WriteString("transfer-encoding: chunked\r\n")
	}
	b.WriteString("\r\n")
	l.send(at, end, []byte(b.String()))
}

// chunk writes a body, or a part of one.
func (l *link) chunk(at time.Time, end int, s *sent, data session.Chunks) {
	if !s.chunked[end] {
		if data.Len() > 0 {
			l.w.done.Late++
		}
		return
	}
	for _, c := range data {
		if len(c) > 0 {
			l.send(at, end, fmt.Appendf(nil, "%x\r\n%s\r\n", len(c), c))
		}
	}
}

// lastChunk ends a body.
func (l *link) lastChunk(at time.Time, end int, s *sent) {
	if s.chunked[end] {
		l.send(at, end, []byte("0\r\n\r\n"))
	}
}
