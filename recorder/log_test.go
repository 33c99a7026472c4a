package recorder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/xdsproxy/xdsproxy/session"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("RECORDER_TEST_VICTIM"); path != "" {
		victim(path)
	}
	goleak.VerifyTestMain(m)
}

// create starts a log in a directory of the test's own.
func create(t testing.TB, o Options) *Log {
	t.Helper()
	l, err := Create(filepath.Join(t.TempDir(), "session.xdsp"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func closeLog(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// message is an entry of a stream with a payload.
func message(stream session.StreamID, payload string) session.Entry {
	return session.Entry{
		Conn: 1, Stream: stream, Side: session.Server, Kind: session.KindMessage,
		Message: &session.Message{
			Data: session.Chunks{[]byte(payload)}, Size: int64(len(payload)), WireSize: int64(len(payload)),
		},
	}
}

func open(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// drain reads up to an error, which is nil for io.EOF.
func drain(r *Reader) ([]session.Entry, error) {
	var all []session.Entry
	for e, err := range r.Entries(context.Background()) {
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	return all, nil
}

func readAll(t testing.TB, path string) ([]session.Entry, Facts) {
	t.Helper()
	r := open(t, path)
	all, err := drain(r)
	if err != nil {
		t.Fatal(err)
	}
	return all, r.Facts()
}

// without leaves out entries of a kind.
func without(kind session.Kind, all []session.Entry) []session.Entry {
	var out []session.Entry
	for _, e := range all {
		if e.Kind != kind {
			out = append(out, e)
		}
	}
	return out
}

func TestRecordAndRead(t *testing.T) {
	l := create(t, Options{Masked: true, Program: "test 1"})
	want := []session.Entry{
		{Conn: 1, Kind: session.KindConnect, Peer: &session.Peer{Client: "a", Upstream: "b", ServerTLS: &session.TLS{Version: "1.3", Identities: []string{"spiffe://a/b"}, NotAfter: time.Unix(2e9, 0).UTC(), Verified: true}}},
		message(1, "hello"),
		message(2, ""),
	}
	for i := range want {
		if seq := l.Append(want[i]); seq != session.Seq(i+1) {
			t.Errorf("entry %d got number %d", i, seq)
		}
	}
	closeLog(t, l)
	if seq := l.Append(want[0]); seq != 0 {
		t.Errorf("an entry after the end got number %d", seq)
	}
	closeLog(t, l)

	got, facts := readAll(t, l.Path())
	got = without(session.KindTime, got)
	if len(got) != len(want) {
		t.Fatalf("read %d entries, wrote %d", len(got), len(want))
	}
	for i, e := range got {
		if e.Seq != session.Seq(i+1) || e.Time.IsZero() {
			t.Errorf("entry %d has number %d and time %v", i, e.Seq, e.Time)
		}
		if i > 0 && e.Time.Before(got[i-1].Time) {
			t.Errorf("entry %d is before the one before", e.Seq)
		}
	}
	if p := cmp.Diff(want[0].Peer, got[0].Peer); p != "" {
		t.Error(p)
	}
	if s := string(got[1].Message.Data.Bytes()); s != "hello" {
		t.Errorf("message is %q", s)
	}
	if !facts.Complete || facts.Damaged || !facts.Masked || facts.Program != "test 1" ||
		facts.Messages != 2 || facts.Streams != 2 || facts.Connections != 1 || facts.MessageBytes != 5 {
		t.Errorf("facts: %+v", facts)
	}
	info, err := os.Stat(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 || info.Size() != facts.Bytes || info.Size() != l.Stats().Bytes {
		t.Errorf("file: mode %v, %d bytes; facts %d, stats %d", info.Mode(), info.Size(), facts.Bytes, l.Stats().Bytes)
	}
}

func TestCreateDoesNotOverwrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "there.xdsp")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error is %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "mine" {
		t.Errorf("the file now holds %q", b)
	}
	if _, err := Create(filepath.Join(path, "x"), Options{}); err == nil {
		t.Error("a recording below a file")
	}
}
