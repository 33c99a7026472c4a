package proxy

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// A handshake that the stop breaks off is no failure, one that had failed before
// is.
func TestFailureBesideTheStop(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	stop()
	for name, c := range map[string]struct {
		cause error
		told  bool
	}{
		"before": {errors.New("remote error: tls: no application protocol"), true},
		"by it":  {context.Canceled, false},
	} {
		t.Run(name, func(t *testing.T) {
			log := &memoryLog{}
			p, err := Listen(Config{Log: log})
			if err != nil {
				t.Fatal(err)
			}
			client, accepted := net.Pipe()
			defer client.Close()
			p.notOpened(&conn{id: 1, log: log, warn: p.warn}, &opening{ctx: stopping, nc: accepted},
				session.Entry{Kind: session.KindConnect, Peer: &session.Peer{Upstream: "1.2.3.4:5"}},
				&TLSFailure{Kind: FailedALPN, Side: session.Server, By: session.Server, Text: "it failed", Err: c.cause})
			told := false
			for _, e := range log.all() {
				told = told || e.Kind == session.KindNote && e.Note.Code == session.NoteTLSFailed
			}
			if all := log.all(); told != c.told || all[len(all)-1].Kind != session.KindDisconnect {
				t.Errorf("recorded is %+v", all)
			}
		})
	}
}
