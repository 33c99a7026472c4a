package wire

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
)

// toldOf is an entry in one line.
func toldOf(e *session.Entry) string {
	text := fmt.Sprintf("%s %s", e.Side, e.Kind)
	if e.Stream > 0 {
		text += fmt.Sprintf(" %d", e.Stream)
	}
	if e.H2 > 0 {
		text += fmt.Sprintf(" (%d)", e.H2)
	}
	if e.Method != "" {
		text += " " + e.Method
	}
	for _, f := range e.Headers {
		text += fmt.Sprintf(" %s=%q", f.Name, f.Value)
	}
	if m := e.Message; m != nil {
		text += fmt.Sprintf(" %q of %d", m.Data.Bytes(), m.Size)
		if m.Truncated {
			text += ", cut"
		}
		if m.Compressed {
			text += ", in " + m.Encoding
		}
	}
	if s := e.Status; s != nil {
		text += fmt.Sprintf(" code %d, HTTP %d, reset %d %v", s.Code, s.HTTP, s.Reset, s.WasReset)
	}
	if n := e.Note; n != nil {
		text += fmt.Sprintf(" %s: %s (%s)", n.Code, n.Text, n.Hint)
	}
	for _, p := range e.Problems {
		text += "; " + p
	}
	return text
}

// What is told of conversations of HTTP/1.1, of connections that begin before one
// listens, and of bytes that never come. A piece begins with who sends it; ! is what is lost.
func TestTold(t *testing.T) {
	const (
		poll   = "POST /v3/discovery:clusters HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
		get    = "GET / HTTP/1.1\r\n\r\n"
		full   = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"
		empty  = "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"
		chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\nContent-Encoding: gzip\r\n\r\n"
	)
	ping, settings := string(frame(framePing, 0, 0, 8)), string(frame(frameSettings, 0, 0, 0))
	data := func(id uint32, text string) string { return string(dataOf(id, prefixed(text))) }
	reset := string(frame(frameRSTStream, 0, 1, 4))
	var b strings.Builder
	for _, c := range []struct {
		name   string
		midway bool
		pieces []string
	}{
		{"a poll", false, []string{"C" + poll, "S" + full}},
		{"two polls on their way", false, []string{"C" + poll + get, "S" + full, "S" + empty}},
		{"byte by byte", false, strings.Split("C"+strings.Join(strings.Split(get, ""), "|C"), "|")},
		{"empty lines between requests", false, []string{"C" + get, "C\r\n", "C\n" + get, "S" + full + full}},
		{"line ends without CR", false, []string{"CGET / HTTP/1.0\nA: b\n\n", "SHTTP/1.0 200 OK\nContent-Length: 1\n\nx"}},
		{"an interim response", false, []string{"C" + get, "SHTTP/1.1 100 Continue\r\n\r\n" + full}},
		{"HEAD", false, []string{"CHEAD / HTTP/1.1\r\n\r\n", "SHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", "C" + get, "S" + full}},
		{"no content", false, []string{"C" + get, "SHTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n", "C" + get, "S" + full}},
		{"chunks", false, []string{"C" + get, "S" + chunks + "5;x=y\r\nhello\r\n", "S1\r\n!\r\n0\r\nTrailer: x\r\n\r\n", "C" + get, "S" + full}},
		{"chunks of no number", false, []string{"C" + get, "S" + chunks + "zz\r\n"}},
		{"a length of no number", false, []string{"C" + get, "SHTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"}},
		{"a length below 0", false, []string{"CPOST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"}},
		{"a length of 0", false, []string{"CPOST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "SHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}},
		{"until the end", false, []string{"C" + get, "SHTTP/1.1 200 OK\r\n\r\nall ", "Sof it"}},
		{"in the middle of a body", false, []string{"C" + get, "SHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart"}},
		{"no HTTP", false, []string{"CGET /\r\n\r\n"}},
		{"no status", false, []string{"C" + get, "SHTTP/1.1 OK\r\n\r\n"}},
		{"no HTTP of a server", false, []string{"C" + get, "SICY 200 OK\r\n\r\n"}},
		{"no request", false, []string{"S" + full}},
		{"an upgrade", false, []string{"C" + get, "SHTTP/1.1 101 Switching Protocols\r\n\r\nanything", "Canything"}},
		{"TLS", false, []string{"C\x16\x03\x01\x02"}},
		{"neither", false, []string{"C\x00\x01\x02"}},
		{"HTTP/1.1 to HTTP/2", false, []string{"C" + preface + settings, "SHTTP/1.1 400 Bad Request\r\n\r\n"}},

		{"midway, nothing yet", true, []string{"C", "S"}},
		{"midway, what cannot be followed", true, []string{"Cthe rest of something", "Sand of another"}},
		{"midway, frames", true, []string{"Cthe rest of something", "C" + ping + data(1, "one") + data(3, "two"), "S" + data(1, "three")}},
		{"midway, the rest of a message", true, []string{"C" + string(dataOf(1, []byte("rest"))) + data(1, "one")}},
		{"midway, a reset", true, []string{"C" + data(1, "one"), "C" + reset, "S" + data(1, "late"), "C" + data(1, "later")}},
		{"midway, a stream of the server", true, []string{"S" + data(2, "one")}},
		{"midway, a beginning", true, []string{"C" + preface + settings + data(1, "one")}},
		{"midway, a request", true, []string{"Cthe rest", "C" + poll, "S" + full}},
		{"midway, a response to nothing", true, []string{"S" + full, "C" + get, "S" + full}},
		{"midway, TLS", true, []string{"C\x17\x03\x03\x02", "C" + ping, "S\x17\x03\x03\x02"}},

		{"lost before anything", false, []string{"!C", "C" + ping + data(1, "one")}},
		{"lost in a request", false, []string{"CGET / HT", "!C", "C" + get, "S" + full}},
		{"lost of an answer", false, []string{"C" + get, "!S", "S" + full, "C" + get}},
		{"lost in a message", true, []string{"C" + data(1, "one"), "C" + data(1, "two")[:12], "!C", "Cest", "C" + data(1, "three")}},
		{"lost twice", true, []string{"C" + data(1, "one"), "!C", "!C", "C" + data(1, "two")}},
		{"lost where nothing is followed", false, []string{"C\x16\x03\x01\x02", "!C", "C" + ping}},
	} {
		r := newRig(t, 1<<20)
		r.tap = NewTap(Config{Conn: 1, Sink: r.log, Memory: r.memory, Midway: c.midway, NewStream: func() session.StreamID { r.ids++; return r.ids }})
		fmt.Fprintf(&b, "== %s\n", c.name)
		at, ends := time.Unix(1, 0), ""
		for _, p := range c.pieces {
			lost := strings.HasPrefix(p, "!")
			p = strings.TrimPrefix(p, "!")
			side := session.Client
			if p[0] == 'S' {
				side = session.Server
			}
			if lost {
				r.tap.Lose(side, at, "the capture misses bytes")
			} else {
				ends += fmt.Sprint(" ", r.tap.Feed(side, at, []byte(p[1:])))
			}
		}
		r.tap.End(session.Client, at, "over")
		for i := range r.log.entries {
			b.WriteString(toldOf(&r.log.entries[i]) + "\n")
		}
		fmt.Fprintf(&b, "between messages at%s\n", ends)
		if used := r.memory.Used(); used != 0 {
			t.Errorf("%s: %d bytes are never given back", c.name, used)
		}
	}
	golden.Is(t, "testdata/told.txt", b.String())
}
