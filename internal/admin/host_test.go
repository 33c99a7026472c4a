package admin_test

import (
	"net"
	"net/http"
	"strings"
	"testing"
)

// elsewhere is an address of this machine that is not of loopback.
func elsewhere(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, is := a.(*net.IPNet); is && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("there is no other network than loopback")
	return ""
}

func askAs(t *testing.T, host, addr, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequest("GET", "http://"+addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// A page in a browser of this machine reads nothing under a name of its own.
func TestHostOnLoopback(t *testing.T) {
	_, _, addr := newServer(t, true)
	_, port, _ := net.SplitHostPort(addr)
	for _, host := range []string{
		addr, "127.0.0.1", "127.9.9.9:1", "[::1]:" + port, "[::1]", "localhost", "LOCALHOST.:" + port, "a.localhost", "named.EXAMPLE:1",
	} {
		if resp := askAs(t, host, addr, "/metrics"); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", host, resp.Status)
		}
	}
	for _, host := range []string{
		"evil.example", "evil.example:" + port, "localhost.evil.example", "127.0.0.1.evil.example", "notlocalhost", "0.0.0.0:" + port, "10.1.2.3", "[",
	} {
		for _, path := range []string{"/", "/metrics", "/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/trace?seconds=0.01"} {
			if resp := askAs(t, host, addr, path); resp.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("%s%s: %s", host, path, resp.Status)
			}
		}
		for _, path := range []string{"/healthz", "/readyz"} { // probes are never refused
			if resp := askAs(t, host, addr, path); resp.StatusCode == http.StatusMisdirectedRequest {
				t.Errorf("%s%s: %s", host, path, resp.Status)
			}
		}
	}
}

// HTTP/1.0 has no Host.
func TestNoHost(t *testing.T) {
	_, _, addr := newServer(t, false)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = c.Write([]byte("GET /metrics HTTP/1.0\r\n\r\n"))
	b := make([]byte, 12)
	if n, _ := c.Read(b); !strings.HasSuffix(string(b[:n]), " 200") {
		t.Errorf("%q", b[:n])
	}
}

// Where others can reach it, probes and scrapes come under the address of the pod
// or a name of it; browsers of this machine come over loopback.
func TestHostOnAllAddresses(t *testing.T) {
	_, _, addr := newServerAt(t, "0.0.0.0:0", false)
	_, port, _ := net.SplitHostPort(addr)
	pod := elsewhere(t)
	for _, c := range []struct {
		host, to string
		code     int
	}{
		{pod + ":" + port, pod, 200},
		{"xdsproxy.mesh.svc:9901", pod, 200},
		{pod, "127.0.0.1", 200}, // through a proxy beside it
		{"localhost", "127.0.0.1", 200},
		{"evil.example", "127.0.0.1", 421},
	} {
		if resp := askAs(t, c.host, net.JoinHostPort(c.to, port), "/metrics"); resp.StatusCode != c.code {
			t.Errorf("%s at %s: %s", c.host, c.to, resp.Status)
		}
	}
}
