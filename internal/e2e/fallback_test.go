package e2e

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// A grpc-go that has two servers in its bootstrap, both behind one proxy: the
// first goes away before it has sent all that was asked for, the second takes over
// and has another listener of the same name.
func TestFallback(t *testing.T) {
	t.Parallel()
	const service = "shop.example"
	had, ended := make(chan struct{}), make(chan struct{})
	listener := func(route string) xdstest.Move {
		l := xdstest.APIListener(service, route)
		return answer(lds, route, "n", l)
	}
	first := startScript(t, xdstest.Part{hear(lds, ""), listener("one"), hear(lds, "n"), xdstest.Do(func() { close(had) }), xdstest.Alone()})
	second := startScript(t, xdstest.Part{hear(lds, ""), xdstest.Do(func() { <-ended }), listener("two"), hear(lds, "n"), xdstest.Alone()})
	p := startProxyWith(t, first.Addr(), setup{args: []string{"--listen", freeAddr(t), "--upstream", second.Addr()}})
	var other string
	eventually(t, "both listeners", func() bool {
		for line := range strings.Lines(p.stderr.String()) {
			if m := listening.FindStringSubmatch(strings.TrimSpace(line)); m != nil && m[2] == second.Addr() {
				other = m[1]
			}
		}
		return other != ""
	})
	one, err := xdstest.Bootstrap(p.addr, "falls-back")
	if err != nil {
		t.Fatal(err)
	}
	var bootstrap object
	if err := json.Unmarshal(one, &bootstrap); err != nil {
		t.Fatal(err)
	}
	servers := bootstrap["xds_servers"].([]any)
	both, err := json.Marshal(servers[0])
	if err != nil {
		t.Fatal(err)
	}
	bootstrap["xds_servers"] = append(servers, json.RawMessage(bytes.ReplaceAll(both, []byte(p.addr), []byte(other))))
	text, err := json.Marshal(bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	_, stop := startGRPCGo(t, text, nil, service)
	select {
	case <-had:
	case <-time.After(patience):
		t.Fatal("the client does not take what the first server sends")
	}
	go func() { _ = first.Stop() }()
	// The proxy resets the client before it records that, and the client is fast. Of
	// streams that are there at one time no rule says that one takes over.
	eventually(t, "the end of the first stream", func() bool {
		return slices.ContainsFunc(p.watch(t), func(l line) bool { return l.Conn == 1 && l.Kind == "disconnect" })
	})
	close(ended)
	acked := func() int {
		n := 0
		for _, l := range p.watch(t) {
			if l.What == "ACK" && l.Type == "LDS" {
				n++
			}
		}
		return n
	}
	eventually(t, "an ACK of what the second server sends", func() bool { return acked() == 2 })
	stop()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.ended(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	var report struct {
		Findings []struct{ Rule, Client, Type string }
	}
	if err := json.Unmarshal(p.run(t, "check", p.file, "-o", "json", "--fail-on", "never"), &report); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(report.Findings, struct{ Rule, Client, Type string }{"fallback-server-differs", "falls-back", "LDS"}) {
		t.Errorf("nobody says that another server has other content: %+v", report.Findings)
	}
}
