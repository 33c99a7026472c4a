package rewrite

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// requests1 are requests of HTTP/1.1 clients.
func requests1() []string {
	return []string{
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\nHost: a\nX-Set:old\n\n",
		"POST /v3/discovery:clusters HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nAuthorization: Basic x\r\nAUTHORIZATION: y\r\n\r\nhello\r\nGET /2 HTTP/1.1\r\nHost: b\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nx-trailer: 1\r\n\r\nPOST / HTTP/1.1\r\nhost: c\r\nContent-Length: 0\r\n\r\n",
		"PROPFIND /x HTTP/1.0\r\nconnection:  keep-alive \r\n\r\n",
	}
}

func TestHTTP1(t *testing.T) {
	for i, want := range []string{
		"GET / HTTP/1.1\r\nhost: h:1\r\nx-set: new\r\nauthorization: Bearer z\r\n\r\n",
		"GET / HTTP/1.1\nHost: h:1\r\nX-Set: new\r\nauthorization: Bearer z\r\n\n",
		"POST /v3/discovery:clusters HTTP/1.1\r\nHost: h:1\r\nContent-Length: 5\r\nAuthorization: Bearer z\r\nx-set: new\r\n\r\nhello" +
			"GET /2 HTTP/1.1\r\nHost: h:1\r\nx-set: new\r\nauthorization: Bearer z\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h:1\r\nTransfer-Encoding: chunked\r\nx-set: new\r\nauthorization: Bearer z\r\n\r\n5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nx-trailer: 1\r\n\r\n" +
			"POST / HTTP/1.1\r\nhost: h:1\r\nContent-Length: 0\r\nx-set: new\r\nauthorization: Bearer z\r\n\r\n",
		"PROPFIND /x HTTP/1.0\r\nhost: h:1\r\nconnection:  keep-alive \r\nx-set: new\r\nauthorization: Bearer z\r\n\r\n",
	} {
		src := load(t, &Rules{Authority: "h:1", Headers: []Header{{Name: "x-set", Value: "new"}, {Name: "authorization", Value: "Bearer z"}}})
		in := []byte(requests1()[i])
		for name, cut := range map[string]func(int) int{"whole": whole, "one by one": single} {
			if got, err := passed(src.Rewriter(), in, cut); err != nil || string(got) != want {
				t.Errorf("%s: %v\n%q, want\n%q", name, err, got, want)
			}
		}
	}
}

// Without rules that apply, a request stays what it was, byte for byte.
func TestHTTP1Untouched(t *testing.T) {
	src := load(t, &Rules{})
	for _, in := range requests1() {
		in = strings.ReplaceAll(in, "hello\r\nGET", "helloGET") // an empty line between two requests is dropped
		if got, err := passed(src.Rewriter(), []byte(in), whole); err != nil || !bytes.Equal(got, []byte(in)) {
			t.Errorf("%v\n%q, want\n%q", err, got, in)
		}
	}
}

// What came of a head is not copied with each of its lines: a head of many short ones would
// cost the square of its size.
func TestHeadIsNotCopiedWithEachLine(t *testing.T) {
	head := []byte("GET / HTTP/1.1\r\n" + strings.Repeat("a\n", 10_000))
	src := load(t, allOfIt(t))
	n := testing.AllocsPerRun(5, func() {
		if _, err := src.Rewriter().Write(io.Discard, head); err != nil {
			t.Fatal(err)
		}
	})
	if n > 200 {
		t.Errorf("%v allocations", n)
	}
}
