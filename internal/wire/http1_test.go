package wire

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// exchange has net/http's own writers produce the bytes of requests and
// responses, pipelined on one connection.
func exchange(t *testing.T) (client, server string) {
	t.Helper()
	var c, s strings.Builder
	for i, path := range []string{"/v3/discovery:clusters", "/v3/discovery:listeners", "/ready"} {
		req := httptest.NewRequest("POST", "http://cp"+path, strings.NewReader(fmt.Sprintf(`{"node":{"id":"n%d"}}`, i)))
		if i == 1 {
			req.ContentLength, req.TransferEncoding = -1, []string{"chunked"}
		}
		dump, err := httputil.DumpRequestOut(req, true)
		if err != nil {
			t.Fatal(err)
		}
		c.Write(dump)
		if i == 0 {
			s.WriteString("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
		}
		resp := &http.Response{
			StatusCode: 200 + 104*(i/2), ProtoMajor: 1, ProtoMinor: 1, Request: req,
			Header: http.Header{"X-I": {fmt.Sprint(i)}}, Body: io.NopCloser(strings.NewReader("body")), ContentLength: 4,
		}
		if i == 1 {
			resp.ContentLength, resp.TransferEncoding = -1, []string{"chunked"}
			resp.Trailer = http.Header{"X-T": {"t"}}
		}
		if i == 2 { // a 304 has none, though it may say how long it would be
			resp.Body, resp.ContentLength = http.NoBody, 0
		}
		if err := resp.Write(&s); err != nil {
			t.Fatal(err)
		}
	}
	return c.String(), s.String()
}

func TestHTTP1(t *testing.T) {
	client, server := exchange(t)
	if _, err := http.ReadRequest(bufio.NewReader(strings.NewReader(client))); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		r := newRig(t, 1<<20)
		for _, side := range []struct {
			from session.Side
			text string
		}{{session.Client, client}, {session.Server, server}} {
			boundary := -1
			for rest := side.text; rest != ""; {
				n := 1 + rng.IntN(min(len(rest), 40))
				boundary = r.tap.Feed(side.from, time.Unix(1, 0), []byte(rest[:n]))
				if rest = rest[n:]; rest == "" && boundary != n {
					t.Fatalf("the last message ends at %d of %d", boundary, n)
				}
			}
		}
		r.tap.End(session.Client, time.Unix(2, 0), "over")
		r.wantKinds(
			"open", "message", "half-close", "open", "message", "half-close", "open", "message", "half-close",
			"header", "header", "message", "trailer", "header", "message", "trailer", "header", "trailer")
		if got := string(r.log.entries[4].Message.Data.Bytes()); got != `{"node":{"id":"n1"}}` {
			t.Fatalf("chunked request is %q", got)
		}
		if e := r.log.entries[15]; string(r.log.entries[14].Message.Data.Bytes()) != "body" || e.Status.HTTP != 200 || e.Stream != r.log.entries[3].Stream {
			t.Fatalf("chunked response is %+v", e)
		}
		if e := r.log.entries[17]; e.Status.HTTP != 304 {
			t.Fatalf("304 is %+v", e.Status)
		}
	}
}

func TestHTTP1Ends(t *testing.T) {
	const request = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
	for name, c := range map[string]struct {
		client, server string
		kinds          []string
	}{
		"until close":     {request, "HTTP/1.0 200 OK\r\n\r\nall of it", []string{"open", "half-close", "header", "message", "trailer"}},
		"cut":             {request, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", []string{"open", "half-close", "header", "message", "cancel"}},
		"no answer":       {request, "", []string{"open", "half-close", "cancel"}},
		"upgrade":         {request, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n\x00\x00", []string{"open", "half-close", "header", "trailer", "blind"}},
		"bad length":      {request, "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", []string{"open", "half-close", "header", "blind", "cancel"}},
		"bad chunk":       {request, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", []string{"open", "half-close", "header", "blind", "cancel"}},
		"unasked":         {"", "HTTP/1.1 200 OK\r\n\r\n", []string{"blind"}},
		"looks like h2":   {"PRI * HTTP/1.1\r\n\r\n", "", []string{"open", "half-close", "cancel"}},
		"h2 then garbage": {"PRI * HTTP/2.0\r\n\r\nSx", "", []string{"blind"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 1<<20)
			r.tap.Feed(session.Client, time.Unix(1, 0), []byte(c.client))
			r.tap.Feed(session.Server, time.Unix(1, 0), []byte(c.server))
			r.tap.End(session.Server, time.Unix(2, 0), "over")
			if got := r.kinds(); !slices.Equal(got, c.kinds) {
				t.Errorf("entries are %v, want %v", got, c.kinds)
			}
			if r.memory.Used() != 0 {
				t.Errorf("%d bytes of the budget are lost", r.memory.Used())
			}
		})
	}
}

// What came of a head is not copied with each of its lines: a head of many short ones would
// cost the square of its size.
func TestHeadIsNotCopiedWithEachLine(t *testing.T) {
	head := []byte("GET / HTTP/1.1\r\n" + strings.Repeat("a\n", 10_000))
	n := testing.AllocsPerRun(5, func() {
		tap := NewTap(Config{Sink: &discard{}, Memory: NewMemory(1 << 20)})
		tap.Feed(session.Client, time.Unix(0, 0), head)
	})
	if n > 200 {
		t.Errorf("%v allocations", n)
	}
}
