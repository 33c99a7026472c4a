package replay_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/client"
	"github.com/xdsproxy/xdsproxy/replay/server"

	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/recorder"
)

// planOf is the plan of a recording.
func planOf(t testing.TB, file string) *replay.Plan {
	t.Helper()
	r, err := recorder.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := replay.Read(t.Context(), r, func() (*recorder.Reader, error) { return recorder.Open(file) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// against plays both sides of a recording against each other.
func against(t testing.TB, file string, o replay.Options) (server, client *replay.Report) {
	t.Helper()
	return facing(t, planOf(t, file), planOf(t, file), o)
}

// facing plays the server of one recording to the clients of another.
func facing(t testing.TB, sp, cp *replay.Plan, o replay.Options) (byServer, byClient *replay.Report) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if o.Idle == 0 {
		o.Idle = 5 * time.Second
	}
	so, co := o, o
	so.Say = func(s string) { t.Log("server:", s) }
	co.Say = func(s string) { t.Log("client:", s) }
	done := make(chan *replay.Report)
	go func() {
		r, err := server.Serve(t.Context(), l, sp, so)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	byClient, err = client.Play(t.Context(), func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", l.Addr().String())
	}, cp, co)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	return <-done, byClient
}

// Every kept session, the one side against the other: both say the same as then.
// Of polls, which are not played, both say so.
func TestAgainstItself(t *testing.T) {
	files, err := filepath.Glob(replay.SessionsDir + "/*.xdsp")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d sessions, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".xdsp"), func(t *testing.T) {
			t.Parallel()
			server, client := against(t, file, replay.Options{})
			polls := strings.HasPrefix(filepath.Base(file), "rest-")
			for name, r := range map[string]*replay.Report{"server": server, "client": client} {
				if polls && r.Expected == 0 && len(r.Notes) == 1 && strings.HasPrefix(r.Notes[0], "not played: ") {
					continue
				}
				if strings.HasPrefix(filepath.Base(file), "envoy-per-type") && strings.Contains(strings.Join(r.Notes, " "), "restart the live one") {
					t.Errorf("%s: of streams of single types it is said that the client went away: %q", name, r.Notes)
				}
				if r.Differs() || r.Matched != r.Expected || r.Matched == 0 {
					t.Errorf("%s: %+v", name, r)
				}
			}
		})
	}
}
