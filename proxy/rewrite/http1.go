package rewrite

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/wire/block"
	"github.com/xdsproxy/xdsproxy/session"
)

// h1state is where a client is within a request.
type h1state uint8

const (
	h1Head      h1state = iota // request line and header fields
	h1Length                   // a body of known length
	h1ChunkSize                // the line before a chunk
	h1Chunk                    // the chunk
	h1ChunkEnd                 // the line end behind it
	h1Trailer                  // after the last chunk
)

// http1 follows the requests of one client in HTTP/1.1 (RFC 9112). Only heads
// are changed, and only where a field is; lines that are needed to know where a
// body ends are held until they are whole. What two servers might read in two
// ways is refused.
type http1 struct {
	state   h1state
	line    []byte // held
	left    int64  // of the body or the chunk
	trailer int    // bytes of the trailer section
}

func (x *http1) write(r *Rewriter, dst io.Writer, p []byte) (int, error) {
	for i := 0; i < len(p); {
		rest := p[i:]
		if x.state == h1Length || x.state == h1Chunk {
			k := int(min(x.left, int64(len(rest))))
			n, err := dst.Write(rest[:k])
			if err != nil {
				return i + n, err
			}
			i += k
			if x.left -= int64(k); x.left == 0 {
				if x.state == h1Length {
					x.state = h1Head
				} else {
					x.state = h1ChunkEnd
				}
			}
			continue
		}
		k := bytes.IndexByte(rest, '\n') + 1
		whole := k > 0
		if !whole {
			k = len(rest)
		}
		if len(x.line)+k > block.MaxList {
			return i, lost("an HTTP/1.1 header section of the client is longer than %d bytes", block.MaxList)
		}
		x.line = append(x.line, rest[:k]...)
		if r.held += k; whole {
			if err := x.lineEnd(r, dst); err != nil {
				return i, err
			}
		}
		i += k
	}
	return len(p), nil
}

// lineEnd acts on a complete line.
func (x *http1) lineEnd(r *Rewriter, dst io.Writer) error {
	text := bytes.TrimSuffix(bytes.TrimSuffix(x.line, []byte("\n")), []byte("\r")) // of all lines of a head so far: not copied
	switch x.state {
	case h1Head:
		if len(text) == 0 { // RFC 9112 2.2: an empty line before a request
			x.line, r.held = nil, 0
			return nil
		}
		if !bytes.HasSuffix(x.line, []byte("\n\r\n")) && !bytes.HasSuffix(x.line, []byte("\n\n")) {
			return nil
		}
		head, err := x.head(r, string(x.line))
		if err != nil {
			return err
		}
		x.line = head
	case h1ChunkSize:
		digits, _, _ := strings.Cut(string(text), ";")
		n, err := strconv.ParseUint(strings.Trim(digits, " \t"), 16, 63)
		if err != nil || bytes.Contains(text, []byte("\r")) {
			return lost("an HTTP/1.1 chunk of the client has no size")
		}
		if x.state, x.left = h1Chunk, int64(n); n == 0 {
			x.state, x.trailer = h1Trailer, 0
		}
	case h1ChunkEnd:
		if len(text) > 0 {
			return lost("an HTTP/1.1 chunk of the client is longer than its size")
		}
		x.state = h1ChunkSize
	case h1Trailer:
		if x.trailer += len(x.line); x.trailer > block.MaxList {
			return lost("an HTTP/1.1 trailer section of the client is longer than %d bytes", block.MaxList)
		}
		if len(text) == 0 {
			x.state = h1Head
		}
	}
	line := x.line
	x.line, r.held = nil, 0
	_, err := dst.Write(line)
	return err
}

// head returns the head of a request as it goes on, and finds out how its body
// ends.
func (x *http1) head(r *Rewriter, text string) ([]byte, error) {
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1] // what follows the last line end: nothing
	end := lines[len(lines)-1]
	lines = lines[:len(lines)-1]
	method, target, version, ok := requestLine(bare(lines[0]))
	if !ok {
		return nil, lost("the client speaks neither HTTP/2 nor HTTP/1.1")
	}
	if method == "CONNECT" || r.src.fixed.authority != "" && !strings.HasPrefix(target, "/") && target != "*" {
		return nil, lost("an HTTP/1.1 request names the server in its first line")
	}
	fields := []session.Field{{Name: ":method", Value: method}, {Name: ":path", Value: target}}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(bare(line), ":")
		if !ok || !isToken(name) || strings.Contains(value, "\r") {
			return nil, lost("a line among the HTTP/1.1 header fields of the client is not one")
		}
		fields = append(fields, session.Field{Name: strings.ToLower(name), Value: strings.Trim(value, " \t")})
	}
	if err := x.body(fields, version); err != nil {
		return nil, err
	}
	out, from := r.valuesOf(0).apply(fields, true)
	b := []byte(lines[0])
	for i, f := range out[2:] {
		old := from[i+2] - 2 // the lines are those of the fields but for two, behind the first
		switch {
		case old >= 0 && f.Name == fields[old+2].Name && f.Value == fields[old+2].Value:
			b = append(b, lines[old+1]...)
			continue
		case old >= 0:
			b = append(b, lines[old+1][:len(f.Name)]...) // in its own upper and lower case
		default:
			b = append(b, f.Name...)
		}
		b = append(append(append(b, ": "...), f.Value...), "\r\n"...)
	}
	return append(b, end...), nil
}

// body finds out how the body of a request ends (RFC 9112 6.3).
func (x *http1) body(fields []session.Field, version string) error {
	length, chunked := "", false
	for _, f := range fields {
		switch f.Name {
		case "content-length":
			if length != "" && length != f.Value {
				return lost("an HTTP/1.1 request has two lengths")
			}
			length = f.Value
		case "transfer-encoding":
			if chunked || version != "HTTP/1.1" || !strings.EqualFold(f.Value, "chunked") {
				return lost("an HTTP/1.1 request has a transfer coding other than chunked")
			}
			chunked = true
		case "upgrade":
			return lost("the client asks to go on in another protocol than HTTP/1.1")
		}
	}
	switch {
	case chunked && length != "":
		return lost("an HTTP/1.1 request has a length and is chunked")
	case chunked:
		x.state = h1ChunkSize
	case length != "":
		n, err := strconv.ParseUint(length, 10, 63)
		if err != nil {
			return lost("the length of an HTTP/1.1 request is not a number")
		}
		if x.left = int64(n); n > 0 {
			x.state = h1Length
		}
	}
	return nil
}

// bare is a line without its end.
func bare(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

func requestLine(line string) (method, target, version string, ok bool) {
	method, rest, _ := strings.Cut(line, " ")
	target, version, _ = strings.Cut(rest, " ")
	return method, target, version, isToken(method) && target != "" && !strings.Contains(target, "\r") && (version == "HTTP/1.1" || version == "HTTP/1.0")
}

func isToken(s string) bool {
	for i := range len(s) {
		if !isTokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}
