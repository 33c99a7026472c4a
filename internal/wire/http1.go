package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/wire/block"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	maxH1Head    = block.MaxList // bytes of one header section
	maxH1Pending = 1024          // requests that wait for their response
)

// pending is the queue of HTTP/1.1 requests without a final response, which
// come back in order. Guarded by the tap's mutex.
type pending []h1request

type h1request struct {
	stream *stream
	head   bool // HEAD: its response has no body
}

// h1state is where a direction is within a message.
type h1state uint8

const (
	h1Head       h1state = iota // start line and header fields
	h1Length                    // a body of known length
	h1ChunkSize                 // the line before a chunk
	h1Chunk                     // the chunk and the line end behind it
	h1Trailer                   // after the last chunk
	h1UntilClose                // a body that ends with the connection
)

// h1parser follows one direction of HTTP/1.1.
type h1parser struct {
	state  h1state
	line   []byte // bytes of the current header section or line
	left   int64  // of the body or chunk
	status int
	recv   *recv // the body of the current message; nil in its head
	// unfinished is the stream whose message the end of the connection cut.
	unfinished *stream
}

// parseH1 is the HTTP/1.1 parser. Its boundary is the end of a message.
func (h *half) parseH1(at time.Time, p []byte) (int, bool) {
	boundary := -1
	for rest := p; len(rest) > 0; {
		n, err := h.h1.step(h, at, rest)
		if err != nil {
			h.goBlind(at, err.Error())
			return len(p) - len(rest), true
		}
		if h.level == levelBlind { // an upgrade
			return len(p) - len(rest) + n, true
		}
		rest = rest[n:]
		if h.h1.state == h1Head && len(h.h1.line) == 0 {
			boundary = len(p) - len(rest)
		}
	}
	return boundary, false
}

// step consumes at least one byte of p.
func (x *h1parser) step(h *half, at time.Time, p []byte) (int, error) {
	switch x.state {
	case h1Head, h1ChunkSize, h1Trailer:
		i := bytes.IndexByte(p, '\n')
		n := i + 1
		if i < 0 {
			n = len(p)
		}
		if len(x.line)+n > maxH1Head {
			return 0, fmt.Errorf("HTTP/1.1 header section of the %s is longer than %d bytes", h.side, maxH1Head)
		}
		x.line = append(x.line, p[:n]...)
		if i < 0 {
			return n, nil
		}
		return n, x.lineEnd(h, at)
	case h1UntilClose:
		x.recv.bodyData(h, at, p)
		return len(p), nil
	}
	n := int(min(x.left, int64(len(p))))
	x.recv.bodyData(h, at, p[:n])
	x.left -= int64(n)
	if x.left == 0 {
		if x.state == h1Length {
			x.finish(h, at)
		} else {
			x.state = h1ChunkSize
		}
	}
	return n, nil
}

// lineEnd acts on a complete line.
func (x *h1parser) lineEnd(h *half, at time.Time) error {
	switch x.state {
	case h1ChunkSize:
		line := strings.TrimSpace(string(x.line))
		x.line = x.line[:0]
		if line == "" { // the line end behind a chunk
			return nil
		}
		digits, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 16, 63)
		switch {
		case err != nil:
			return fmt.Errorf("HTTP/1.1 chunk size of the %s is not a number", h.side)
		case n == 0:
			x.state = h1Trailer
		default:
			x.left, x.state = int64(n), h1Chunk
		}
		return nil
	case h1Trailer:
		empty := len(bytes.TrimSpace(x.line)) == 0
		x.line = x.line[:0]
		if empty {
			x.finish(h, at)
		}
		return nil
	}
	if len(x.line) == 1 || string(x.line) == "\r\n" { // RFC 9112 2.2: skip empty lines before a request
		x.line = x.line[:0]
		return nil
	}
	if !bytes.HasSuffix(x.line, []byte("\n\r\n")) && !bytes.HasSuffix(x.line, []byte("\n\n")) {
		return nil
	}
	lines := strings.Split(strings.ReplaceAll(strings.TrimRight(string(x.line), "\r\n"), "\r\n", "\n"), "\n")
	x.line = x.line[:0]
	fields := make([]session.Field, 0, len(lines)+2)
	if h.side == session.Client {
		return x.request(h, at, lines, fields)
	}
	return x.response(h, at, lines, fields)
}

func appendFields(fields []session.Field, lines []string) []session.Field {
	for _, l := range lines {
		name, value, ok := strings.Cut(l, ":")
		if ok {
			fields = append(fields, session.Field{Name: strings.ToLower(strings.TrimSpace(name)), Value: strings.TrimSpace(value)})
		}
	}
	return fields
}

func (x *h1parser) request(h *half, at time.Time, lines []string, fields []session.Field) error {
	method, rest, _ := strings.Cut(lines[0], " ")
	path, version, _ := strings.Cut(rest, " ")
	if !strings.HasPrefix(version, "HTTP/1.") {
		return errors.New("the client speaks neither HTTP/2 nor HTTP/1.1")
	}
	fields = append(fields, session.Field{Name: ":method", Value: method}, session.Field{Name: ":path", Value: path})
	fields = appendFields(fields, lines[1:])
	s := &stream{id: h.tap.cfg.NewStream()}
	h.tap.mu.Lock()
	h.tap.h1 = append(h.tap.h1, h1request{s, method == "HEAD"})
	waiting := len(h.tap.h1)
	h.tap.mu.Unlock()
	e := h.entry(at, s, session.KindOpen)
	e.Method, e.Headers = path, fields
	if h.tap.cfg.Sent != nil {
		e.Sent = h.tap.cfg.Sent(0, fields)
	}
	h.tap.append(e)
	if waiting > maxH1Pending {
		return fmt.Errorf("%d HTTP/1.1 requests wait for a response", waiting)
	}
	x.body(h, at, s, fields, false)
	return nil
}

func (x *h1parser) response(h *half, at time.Time, lines []string, fields []session.Field) error {
	version, rest, _ := strings.Cut(lines[0], " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if !strings.HasPrefix(version, "HTTP/1.") || err != nil {
		return errors.New("the server speaks neither HTTP/2 nor HTTP/1.1")
	}
	fields = append(fields, session.Field{Name: ":status", Value: code})
	fields = appendFields(fields, lines[1:])
	final := status >= 200 || status == 101
	if h.tap.http2.Load() {
		h.goBlindHint(at, fmt.Sprintf("the server answers in HTTP/1.1, with status %d, to a client that speaks HTTP/2", status),
			"the port of --upstream does not serve gRPC")
		return nil
	}
	h.tap.mu.Lock()
	if len(h.tap.h1) == 0 {
		h.tap.mu.Unlock()
		return fmt.Errorf("HTTP/1.1 response %d without a request", status)
	}
	req := h.tap.h1[0]
	if final {
		h.tap.h1 = h.tap.h1[1:]
	}
	h.tap.mu.Unlock()
	e := h.entry(at, req.stream, session.KindHeader)
	e.Headers = fields
	h.tap.append(e)
	if !final {
		return nil
	}
	x.status = status
	if status == 101 {
		x.recv = h.newH1Recv(req.stream, fields)
		x.finish(h, at)
		h.tap.upgraded.Store(true)
		h.goBlindHint(at, "the connection was upgraded to another protocol",
			"xDS clients speak HTTP/2 with prior knowledge; an upgrade is forwarded but not understood")
		return nil
	}
	x.body(h, at, req.stream, fields, req.head || status == 204 || status == 304)
	return nil
}

// newH1Recv is outside h.recv: HTTP/1.1 has no stream ids.
func (h *half) newH1Recv(s *stream, fields []session.Field) *recv {
	return &recv{stream: s, framing: framingBody, encoding: session.Get(fields, "content-encoding")}
}

// body finds out how the body of a message ends (RFC 9112 6.3).
func (x *h1parser) body(h *half, at time.Time, s *stream, fields []session.Field, none bool) {
	x.recv = h.newH1Recv(s, fields)
	te, cl := session.Get(fields, "transfer-encoding"), session.Get(fields, "content-length")
	switch {
	case none:
		x.finish(h, at)
	case strings.HasSuffix(strings.ToLower(te), "chunked"):
		x.state = h1ChunkSize
	case cl != "":
		n, err := strconv.ParseInt(cl, 10, 63)
		if err != nil || n < 0 {
			h.goBlind(at, fmt.Sprintf("HTTP/1.1 content-length of the %s is not a number", h.side))
			return
		}
		if x.left, x.state = n, h1Length; n == 0 {
			x.finish(h, at)
		}
	case h.side == session.Client:
		x.finish(h, at)
	default:
		x.state = h1UntilClose
	}
}

// finish ends a message and with it, on the server's side, the stream.
func (x *h1parser) finish(h *half, at time.Time) {
	r := x.recv
	r.finish(h, at)
	kind := session.KindHalfClose
	if h.side == session.Server {
		kind = session.KindTrailer
	}
	e := h.entry(at, r.stream, kind)
	if kind == session.KindTrailer {
		e.Status = &session.Status{Code: -1, HTTP: x.status}
	}
	h.tap.append(e)
	x.state, x.recv = h1Head, nil
}

// end ends a body that lasts as long as the connection.
func (x *h1parser) end(h *half, at time.Time) {
	if x.state == h1UntilClose && x.recv != nil {
		x.finish(h, at)
	}
}
