package shadow

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// entries are a recording that ends after a while.
type entries struct {
	list []session.Entry
	wait time.Duration
}

func (s *entries) Next(ctx context.Context) (e session.Entry, err error) {
	if len(s.list) > 0 {
		e, s.list = s.list[0], s.list[1:]
		return e, nil
	}
	select {
	case <-time.After(s.wait):
		return e, io.EOF
	case <-ctx.Done():
		return e, ctx.Err()
	}
}

// A stream that began before the recording is not asked: who asks, and for what,
// is not known. That is said.
func TestBeganBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		request := (&request{url: "type.googleapis.com/envoy.config.cluster.v3.Cluster", nonce: "3", version: "2"}).encode()
		src := &entries{wait: time.Second, list: []session.Entry{
			{Seq: 1, Kind: session.KindConnect, Conn: 1, Side: session.Client, Peer: &session.Peer{}},
			{Seq: 2, Kind: session.KindMessage, Conn: 1, Stream: 1, Side: session.Client, Message: &session.Message{
				Data: session.Chunks{request}, Size: int64(len(request)), WireSize: int64(len(request)),
			}},
		}}
		var texts []string
		sum, err := Run(t.Context(), src, Options{
			Idle: time.Second, Event: func(e Event) { texts = append(texts, e.Text) },
			Target: Target{Name: "B", Dial: func(context.Context) (net.Conn, error) {
				t.Error("it is asked")
				return nil, errors.New("nobody")
			}},
		})
		if err != nil || sum.Streams != 0 || !strings.Contains(strings.Join(texts, "\n"), "1 open streams began before the recording") {
			t.Errorf("%v, %+v, %q", err, sum, texts)
		}
	})
}

func TestMetadata(t *testing.T) {
	md, masked := metadataOf([]session.Field{
		{Name: ":path", Value: "/x"},
		{Name: "te", Value: "trailers"},
		{Name: "grpc-timeout", Value: "1S"},
		{Name: "clusterid", Value: "east"},
		{Name: "authorization", Value: "Bearer [masked:0123456789]"},
		{Name: "trace-bin", Value: "AAE"},
		{Name: "odd name", Value: "x"},
		{Name: "line", Value: "a\nb"},
	})
	if len(md) != 2 || md.Get("clusterid")[0] != "east" || md.Get("trace-bin")[0] != "\x00\x01" || len(masked) != 1 || masked[0] != "authorization" {
		t.Errorf("%q, %q", md, masked)
	}
}
