package rewrite

import (
	"fmt"
	"io"
	"strings"

	"github.com/xdsproxy/xdsproxy/session"
)

// preface is what an HTTP/2 client sends first (RFC 9113 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// FollowError says why a client cannot be followed any more.
type FollowError struct{ Text string }

func (e *FollowError) Error() string { return "cannot rewrite headers: " + e.Text }

func lost(format string, args ...any) error { return &FollowError{fmt.Sprintf(format, args...)} }

// Rewriter rewrites what the client of one connection sends. It is not safe for
// concurrent use.
type Rewriter struct {
	src    *Source
	frozen []frozen
	failed error
	held   int
	// matched are the bytes of the preface of HTTP/2 that were seen and are
	// held, until there is a parser.
	matched int
	http2   *frames
	http1   *http1
}

// frozen are the values of a request that is announced.
type frozen struct {
	h2     uint32
	values *values
}

// Rewriter returns a rewriter for a connection of which no byte has been seen.
func (s *Source) Rewriter() *Rewriter { return &Rewriter{src: s} }

// Sent announces a request, before its bytes come to Write, and returns the
// fields with which it will go on, or nil if they stay as they are. What files
// hold is settled for it here. It is the hook of a tap, so that what is logged
// is what is sent; a request that is not announced is rewritten all the same.
//
// h2 is the stream id of HTTP/2, 0 for HTTP/1.1. The fields are not kept.
func (r *Rewriter) Sent(h2 uint32, fields []session.Field) []session.Field {
	if r.failed != nil || h2 != 0 && !isRequest(fields) {
		return nil
	}
	v := r.src.now()
	r.frozen = append(r.frozen, frozen{h2, v})
	out, from := v.apply(fields, h2 == 0)
	if len(out) != len(fields) {
		return out
	}
	for i := range out {
		if from[i] != i || out[i].Name != fields[i].Name || out[i].Value != fields[i].Value {
			return out
		}
	}
	return nil
}

// isRequest says whether a header block of HTTP/2 is that of a request: trailers have no
// pseudo-header, and go on as they are.
func isRequest(fields []session.Field) bool {
	return len(fields) > 0 && strings.HasPrefix(fields[0].Name, ":")
}

// valuesOf are the values for a request whose headers are complete. Requests
// come in the order in which they were announced.
func (r *Rewriter) valuesOf(h2 uint32) *values {
	if len(r.frozen) > 0 && r.frozen[0].h2 == h2 {
		v := r.frozen[0].values
		if r.frozen = r.frozen[1:]; len(r.frozen) == 0 {
			r.frozen = nil
		}
		return v
	}
	return r.src.now()
}

// Held is how many of the bytes that came are held back: of a header block, or
// of a frame's head, that is not whole.
func (r *Rewriter) Held() int { return r.held }

// Write passes on what the client has sent, rewritten, in as many writes to dst
// as there are parts. It keeps no reference to p, and writes parts of p itself
// where they stay as they are.
//
// n is how much of p was dealt with: passed on or held. The error is that of
// dst, or a *FollowError, before which everything that could be followed was
// passed on. After either the Rewriter is of no more use.
func (r *Rewriter) Write(dst io.Writer, p []byte) (n int, err error) {
	if r.failed != nil {
		return 0, r.failed
	}
	defer func() {
		if cause := recover(); cause != nil {
			// Without words that may be of the traffic.
			err = lost("internal error of type %T", cause)
			r.failed = err
		}
	}()
	switch {
	case r.http2 != nil:
		n, err = r.http2.write(r, dst, p, 0)
	case r.http1 != nil:
		n, err = r.http1.write(r, dst, p)
	default:
		n, err = r.sniff(dst, p)
	}
	r.failed = err
	return n, err
}

// sniff finds out what the client speaks.
func (r *Rewriter) sniff(dst io.Writer, p []byte) (int, error) {
	before := r.matched
	for i, b := range p {
		if b != preface[r.matched] {
			return r.sniffed1(dst, p, before, i)
		}
		if r.matched++; r.matched < len(preface) {
			continue
		}
		r.http2, r.held = new(frames), 0
		if before == 0 { // the preface goes on with what is behind it
			return r.http2.write(r, dst, p, i+1)
		}
		if _, err := io.WriteString(dst, preface); err != nil {
			return 0, err
		}
		n, err := r.http2.write(r, dst, p[i+1:], 0)
		return i + 1 + n, err
	}
	r.held = r.matched
	return len(p), nil
}

// sniffed1 is reached at p[i], the first byte that is not of the preface.
func (r *Rewriter) sniffed1(dst io.Writer, p []byte, before, i int) (int, error) {
	switch {
	case r.matched == 0 && p[i] == 0x16:
		return 0, lost("the client speaks TLS to a plaintext listener")
	case r.matched == 0 && !isTokenByte(p[i]):
		return 0, lost("the client speaks neither HTTP/2 nor HTTP/1.1")
	}
	r.http1, r.held = new(http1), 0
	if before > 0 { // such as "P" of POST
		if _, err := r.http1.write(r, dst, []byte(preface[:before])); err != nil {
			return 0, err
		}
	}
	return r.http1.write(r, dst, p)
}
