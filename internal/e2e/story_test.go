package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
)

// The story of the demo, over unix sockets on both sides: the recording tells
// all of it, with clusters decoded to the bottom and without the private keys
// that passed.
func TestStory(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "e2e") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	story, err := xdstest.NewStory("unix:" + filepath.Join(dir, "up.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer story.Close()
	p := startProxyWith(t, story.Addr(), setup{listen: "unix:" + filepath.Join(dir, "down.sock")})
	if err := story.Play(t.Context(), p.addr, func(string) {}); err != nil {
		t.Fatal(err)
	}
	p.stop(t)

	said, variants := map[string]int{}, map[string]bool{}
	var clusters line
	named, removed := 0, 0
	for _, l := range p.watch(t) {
		if l.Kind != "message" {
			continue
		}
		for _, word := range append(l.Also, l.What) {
			said[word]++
		}
		variants[l.Variant] = true
		if l.Client == "" {
			t.Errorf("line %d does not know its client", l.Seq)
		}
		if l.What == "RESP" && len(l.Names) == 0 {
			t.Errorf("line %d is a RESP without names", l.Seq)
		}
		if l.What == "DELTA" { // may be empty, when a client comes back that holds all
			named += len(l.Names)
			removed += len(l.Removed)
		}
		if l.What == "RESP" && l.Type == "CDS" && slices.Contains(l.Names, "payments") {
			clusters = l
		}
	}
	for _, word := range []string{"SUB", "UNSUB", "RESP", "ACK", "DELTA"} {
		if said[word] == 0 {
			t.Errorf("no line says %s: %v", word, said)
		}
	}
	if said["NACK"] < 3 {
		t.Errorf("%d lines say NACK; the same cluster was refused three times", said["NACK"])
	}
	if named == 0 || removed == 0 {
		t.Errorf("DELTA lines name %d resources and %d removed ones", named, removed)
	}
	if !variants["sotw-ads"] || !variants["delta-ads"] {
		t.Errorf("variants: %v", variants)
	}

	shown := p.show(t, clusters.Seq)
	for _, text := range []string{
		"envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", "payments.example.com", "payments-cert",
		"envoy.extensions.upstreams.http.v3.HttpProtocolOptions", "max_concurrent_streams", "com.example.labels",
	} {
		if !strings.Contains(shown, text) {
			t.Errorf("show %d does not print %q", clusters.Seq, text)
		}
	}

	key := xdstest.FakeSecret("payments-cert", 0).GetTlsCertificate().GetPrivateKey().GetInlineString()
	key = key[40:80] // any piece of it
	masked := 0
	for _, e := range p.entries(t) {
		if e.Kind != session.KindMessage {
			continue
		}
		data := e.Message.Data.Bytes()
		if bytes.Contains(data, []byte(key)) {
			t.Errorf("entry %d holds a private key", e.Seq)
		}
		if e.Message.Masked {
			masked++
		}
	}
	if masked == 0 {
		t.Error("no message is masked")
	}
}
