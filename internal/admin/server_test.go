package admin_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/xdsproxy/xdsproxy/internal/admin"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/recorder"
)

func TestMain(m *testing.M) {
	// After a refusal, net/http lingers for half a second by itself.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// newServer is a Server of a real log, on a port of its own.
func newServer(t testing.TB, profiles bool) (*admin.Server, *admin.Metrics, string) {
	t.Helper()
	return newServerAt(t, "127.0.0.1:0", profiles)
}

func newServerAt(t testing.TB, at string, profiles bool) (*admin.Server, *admin.Metrics, string) {
	t.Helper()
	log, err := recorder.Create(filepath.Join(t.TempDir(), "s.xdsp"), recorder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	metrics := admin.NewMetrics(nil)
	s := admin.New(admin.Config{
		Metrics: metrics, Stats: log.Stats, Clients: func() int { return 3 }, Refused: func() uint64 { return 2 }, QueueBytes: 64 << 20,
		Memory: func() engine.Memory { return engine.Memory{Past: 5, Budget: 7, Forgotten: 3} },
		Build:  admin.Build{Version: "v1.2.3"}, Profiles: profiles, Address: "Named.example:9901",
	})
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(l)
	t.Cleanup(func() {
		s.Close(time.Second)
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, metrics, l.Addr().String()
}

// ask sends one request on a connection of its own.
func ask(t testing.TB, method, addr, path string) (code int, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequest(method, "http://"+addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestReadiness(t *testing.T) {
	s, _, addr := newServer(t, false)
	for _, step := range []struct {
		to   func()
		code int
		body string
	}{
		{func() {}, 503, "not ready: the proxy is starting\n"},
		{s.Serving, 200, "ready\n"},
		{s.Draining, 503, "not ready: the proxy is stopping, and accepts no more connections\n"},
		{s.Serving, 503, "not ready: the proxy is stopping, and accepts no more connections\n"},
	} {
		step.to()
		if code, body := ask(t, "GET", addr, "/readyz"); code != step.code || body != step.body {
			t.Errorf("/readyz: %d %q, not %d %q", code, body, step.code, step.body)
		}
		if code, body := ask(t, "GET", addr, "/healthz"); code != 200 || body != "ok\n" {
			t.Errorf("/healthz: %d %q", code, body)
		}
	}
}

func TestPaths(t *testing.T) {
	_, _, plain := newServer(t, false)
	_, _, profiles := newServer(t, true)
	for _, c := range []struct {
		method, addr, path string
		code               int
	}{
		{"GET", plain, "/", 200},
		{"HEAD", plain, "/healthz", 200},
		{"POST", plain, "/healthz", 405},
		{"DELETE", plain, "/metrics", 405},
		{"GET", plain, "/elsewhere", 404},
		{"GET", plain, "/debug/pprof/", 404},
		{"GET", plain, "/debug/pprof/heap", 404},
		{"GET", profiles, "/debug/pprof/", 200},
		{"GET", profiles, "/debug/pprof/heap", 200},
		{"GET", profiles, "/debug/pprof/trace?seconds=0.01", 200},
		{"GET", profiles, "/debug/pprof/trace?seconds=100000", 400},
		{"GET", profiles, "/debug/pprof/trace?seconds=NaN", 400},
		{"GET", profiles, "/debug/pprof/trace?seconds=1e300", 400},
		{"GET", profiles, "/debug/pprof/profile?seconds=301", 400},
		{"GET", profiles, "/debug/pprof/heap?seconds=9223372036854775807", 400},
		{"GET", profiles, "/debug/pprof/trace?seconds=-1", 400},
		{"GET", profiles, "/debug/pprof/cmdline", 404}, // it may hold credentials
		{"PUT", profiles, "/debug/pprof/symbol", 405},
	} {
		if code, body := ask(t, c.method, c.addr, c.path); code != c.code {
			t.Errorf("%s %s: %d, not %d: %s", c.method, c.path, code, c.code, body)
		}
	}
}

// What is sent is bounded, and who sends nothing holds nothing up.
func TestRudePeers(t *testing.T) {
	s, _, addr := newServer(t, false)
	var silent []net.Conn
	for range 8 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		silent = append(silent, c)
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /metrics HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", strings.Repeat("a", 64<<10))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("headers of 64 KiB: %s", resp.Status)
	}
	if code, _ := ask(t, "GET", addr, "/metrics"); code != 200 {
		t.Errorf("beside silent peers: %d", code)
	}
	s.Close(0) // those who said nothing are not waited for
	for _, c := range silent {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a connection outlived the server")
		}
	}
}
