package playback

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

// rejecting is a client of clusters that rejects the one that is called bad, until the server has gone. It comes back
// when a stream ends.
func rejecting(t *testing.T, address string, rejects bool, over <-chan struct{}) {
	cc, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), replay.Bytes(1<<20), grpc.WithAuthority("xds"),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond}}))
	if err != nil {
		t.Error(err)
		return
	}
	defer cc.Close()
	method := xds.LookupMethod("/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources")
	for {
		select {
		case <-over:
			return
		default:
		}
		stream, err := cc.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method.Path)
		if err != nil {
			continue
		}
		q := synth.Request{TypeURL: xds.TypeURL("CDS"), Node: &decode.Node{ID: "n1"}}
		for out := q.Marshal(); stream.SendMsg(&out) == nil; out = q.Marshal() {
			var b []byte
			if stream.RecvMsg(&b) != nil {
				break
			}
			m := decode.Peek(method, session.Server, "", b)
			if q.Nonce, q.Error = m.Nonce, nil; rejects && slices.Contains(m.ResourceNames(), "bad") {
				q.Error = &decode.Error{Code: 3, Message: "bad: no such cipher"}
			} else {
				q.Version = m.Version
			}
		}
	}
}

const rejectedOnce = `C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[a,b]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=2 N=b res=[a,b,c,bad,d]
C> type=CDS V=1 N=b R=[] err="bad: no such cipher" code=3
`

// A bisection finds what a live client rejects, and writes the smallest conversation beside the recording or where it was asked to.
func TestBisect(t *testing.T) {
	dir := t.TempDir()
	sessions, err := filepath.Abs(recording(""))
	if err != nil {
		t.Fatal(err)
	}
	kept := func(name string) string { return filepath.Join(filepath.Dir(sessions), name+".xdsp") }
	t.Chdir(dir) // where what is found is written
	source := filepath.Join(dir, "bug.xds")
	if err := os.WriteFile(source, []byte(rejectedOnce), 0o600); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, c := range []struct {
		name   string
		client func(address string, over <-chan struct{}) // nil: none comes
		change func(b *Bisect)
	}{
		{"found", func(address string, over <-chan struct{}) { rejecting(t, address, true, over) }, func(*Bisect) {}},
		{"found, as JSON and recorded", func(address string, over <-chan struct{}) { rejecting(t, address, true, over) }, func(b *Bisect) {
			b.Output, b.Quiet, b.Script, b.Write = "json", true, filepath.Join(dir, "found.xds"), filepath.Join(dir, "all.xdsp")
		}},
		{"written already", nil, func(b *Bisect) { b.Script = filepath.Join(dir, "found.xds") }},
		{"accepted", func(address string, over <-chan struct{}) { rejecting(t, address, false, over) }, func(*Bisect) {}},
		{"nobody", nil, func(b *Bisect) { b.Wait = 10 * time.Millisecond }},
		{"no rejection", nil, func(b *Bisect) { b.Source = kept("envoy-sotw") }},
		{"another entry", nil, func(b *Bisect) { b.Seq = 3 }},
		{"polls", nil, func(b *Bisect) { b.Source = kept("rest-nack") }},
		{"not there", nil, func(b *Bisect) { b.Source = filepath.Join(dir, "none.xdsp") }},
	} {
		socket := filepath.Join(dir, strings.ReplaceAll(c.name, " ", "-"))
		p := play(t, "server", "unix:"+socket)
		b := &Bisect{Opener: p.Opener, Live: p.Live, Source: source, Listen: p.Listen, Timeout: time.Minute, Wait: time.Minute, Output: "table"}
		c.change(b)
		over := make(chan struct{})
		var playing sync.WaitGroup
		if c.client != nil {
			playing.Go(func() { c.client("unix:"+socket, over) })
		}
		got += "== " + c.name + "\n" + p.words(b.Run(t.Context()))
		close(over)
		playing.Wait()
	}
	for _, written := range []string{"found.xdsp", "all.xdsp", "bug-7.xdsp", "bug-7.xds"} {
		if _, err := os.Stat(filepath.Join(dir, written)); err != nil {
			t.Error(err)
		}
	}
	golden.Is(t, filepath.Join(filepath.Dir(sessions), "../../../internal/playback/testdata/bisect.txt"), strings.NewReplacer(dir, "DIR", filepath.Dir(sessions), "SESSIONS").Replace(got))
}
