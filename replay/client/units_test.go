package client

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/replay"
)

// Of a stream that began before its recording the request for a type may be missing: then
// none is sent. What was recorded in part is missing, too.
func TestNeverAsked(t *testing.T) {
	const asks, asksInPart, asksOther, answers = 'a', 'p', 'o', 'r'
	for steps, want := range map[string]bool{"r": true, "ar": false, "pr": true, "or": true, "ra": true, "opar": false, "rar": true, "o": false, "": false} {
		for _, partial := range []bool{true, false} {
			s := &replay.Stream{Partial: partial, Topics: []*replay.Topic{{}, {}}}
			for i, step := range steps {
				of := replay.Step{Topic: 1, Server: step == answers, Whole: step != asksInPart}
				if step == asksOther {
					of.Topic = 0
				}
				if step == answers {
					s.Topics[1].Responses = append(s.Topics[1].Responses, int32(i))
				}
				s.Steps = append(s.Steps, of)
			}
			if got := (&role{Stream: s}).neverAsked(1); got != (want && partial) {
				t.Errorf("%q, partial %t: never asked %t", steps, partial, got)
			}
		}
	}
}

// A reply may be compressed, as it says.
func TestReadReply(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte("content")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		encoding, body, want string
		fails                bool
	}{
		{"", "content", "content", false},
		{"identity", "content", "content", false},
		{"gzip", b.String(), "content", false},
		{"gzip", "content", "", true},
		{"gzip", b.String()[:b.Len()-9], "", true},
		{"", b.String(), b.String(), false},
	} {
		w := &http.Response{Header: http.Header{}, Body: io.NopCloser(strings.NewReader(c.body))}
		w.Header.Set("Content-Encoding", c.encoding)
		got, err := read(w)
		if (err != nil) != c.fails || !c.fails && string(got) != c.want {
			t.Errorf("%q: %q, %v", c.encoding, got, err)
		}
	}
}
