package tui

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/tui/key"
)

// proxying is the source of a proxy with these listeners.
func proxying(listen ...string) Source {
	src := fileSource(sessionPath("envoy-sotw-nack"))
	src.Live, src.Proxy = true, &Proxy{Clients: func() int { return 0 }, Stats: noStats}
	for _, l := range listen {
		src.Proxy.Routes = append(src.Proxy.Routes, Route{Listen: l, Upstream: "istiod.istio-system:15010"})
	}
	return src
}

func TestBootstrapView(t *testing.T) {
	d := drive(t, proxying("127.0.0.1:18000", "[::]:18001"), 80, 35, Options{Theme: "mono"})
	d.press("b")
	d.golden("bootstrap-80x35")
	shows(t, d, "page 1 of 4", `address: "127.0.0.1", port_value: 18000`)
	d.press("tab")
	shows(t, d, "page 2 of 4", `"server_uri": "127.0.0.1:18000"`)
	d.press("v")
	shows(t, d, "page 3 of 4", "listens on every address")
	d.press("G")
	shows(t, d, `address: "127.0.0.1", port_value: 18001`)
	d.press("shift+tab", "y")
	shows(t, d, "copied the snippet", "page 2 of 4")
	d.press("b")
	hides(t, d, "> Bootstrap")

	d = drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono"})
	d.press("b")
	shows(t, d, "There is no proxy here.", "xdsproxy run --upstream ADDR")
	d.press("tab", "y")
	shows(t, d, "there is no proxy here to connect to")
}

// However small the screen is, the snippet that is copied is whole.
func TestSnippetIsWhole(t *testing.T) {
	d := drive(t, proxying("127.0.0.1:18000"), 40, 10, Options{Theme: "mono"})
	d.press("b")
	if s, _ := copied(t, d.m.top().Do(d.m, key.Copy)); !strings.HasPrefix(s, "node:\n") || !strings.HasSuffix(s, "port_value: 18000}\n") {
		t.Errorf("the snippet is\n%s", s)
	}
	_ = d.frame()
}
