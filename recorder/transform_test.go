package recorder

import (
	"bytes"
	"compress/gzip"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// Transform sees plain messages in order, and what it replaces is nowhere in
// the file.
func TestTransform(t *testing.T) {
	var seen []session.Seq
	l := create(t, Options{NoTicks: true, Transform: func(e *session.Entry) {
		seen = append(seen, e.Seq)
		if e.Message == nil || e.Message.Compressed {
			return
		}
		m := *e.Message
		m.Data = session.Chunks{bytes.ReplaceAll(m.Data.Bytes(), []byte("secret"), []byte("masked"))}
		m.Masked = true
		e.Message = &m
	}})
	secret := []byte("the secret of it")
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	_, _ = gz.Write(secret)
	_ = gz.Close()
	given := message(1, packed.String())
	given.Message.Encoding, given.Message.Compressed = "gzip", true
	before := *given.Message
	l.Append(given)
	l.Append(message(2, string(secret)))
	closeLog(t, l)

	all, _ := readAll(t, l.Path())
	for _, e := range all {
		if m := e.Message; string(m.Data.Bytes()) != "the masked of it" || !m.Masked || m.Compressed {
			t.Errorf("entry %d: %+v", e.Seq, m)
		}
	}
	if len(seen) != 2 || seen[0] != 1 || seen[1] != 2 {
		t.Errorf("seen %v", seen)
	}
	if given.Message.Compressed != before.Compressed || given.Message.Size != before.Size {
		t.Error("the message that was appended has changed")
	}
	if plain := inflated(t, l.Path()); strings.Contains(plain, "secret") {
		t.Error("the secret is in the file")
	}
}

// If Transform cannot say what is secret, everything is.
func TestTransformPanics(t *testing.T) {
	l := create(t, Options{NoTicks: true, Transform: func(e *session.Entry) {
		if e.Seq == 2 || e.Seq > 6 {
			panic("secret")
		}
	}})
	for range 3 {
		e := message(1, "secret payload")
		e.Headers = []session.Field{{Name: "authorization", Value: "secret"}}
		l.Append(e)
	}
	for range 2 {
		l.Append(session.Entry{Kind: session.KindOpen, Method: "/path?secret", Sent: []session.Field{{Name: "x", Value: "secret"}}})
		l.Append(session.Entry{Kind: session.KindTrailer, Status: &session.Status{Code: 14, Message: "secret"}})
		l.Append(session.Entry{Kind: session.KindGoAway, GoAway: &session.GoAway{Debug: "secret"}})
	}
	closeLog(t, l)
	all, facts := readAll(t, l.Path())
	others := all[3:]
	all = all[:3]
	for i, e := range others {
		lost := i >= 3
		if (lost != (e.Method == "/path") || lost != (e.Sent == nil)) && e.Method != "" || e.Status != nil && (lost != (e.Status.Message == "") || e.Status.Code != 14) ||
			e.GoAway != nil && lost != (e.GoAway.Debug == "") {
			t.Errorf("entry %d: %+v", e.Seq, e)
		}
	}
	if len(others) != 6 || !facts.Complete {
		t.Fatalf("%d entries", len(all))
	}
	for i, e := range all {
		lost := i == 1
		if lost != (len(e.Message.Data) == 0) || lost != e.Message.Truncated || lost != (len(e.Headers) == 0) ||
			lost != (len(e.Problems) == 1) || e.Message.Size != 14 {
			t.Errorf("entry %d: %+v, message %+v", e.Seq, e, e.Message)
		}
	}
	if n := strings.Count(inflated(t, l.Path()), "secret"); n != 4+4 {
		t.Errorf("%d secrets in the file, of 8 in five entries", n)
	}
}

// What no reader would take is not written.
func TestTooLargeHead(t *testing.T) {
	l := create(t, Options{NoTicks: true})
	e := message(1, "payload")
	e.Headers = []session.Field{{Name: "x", Value: strings.Repeat("x", format.MaxHead)}}
	l.Append(e)
	l.Append(message(1, "next"))
	closeLog(t, l)
	all, _ := readAll(t, l.Path())
	if len(all) != 2 || len(all[0].Problems) != 1 || all[0].Headers != nil || all[0].Stream != 1 || !all[0].Message.Truncated {
		t.Errorf("%d entries, the first %+v", len(all), all[0])
	}
}

// inflated is what `zstd -dc` makes of a recording.
func inflated(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	plain, err := dec.DecodeAll(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}
