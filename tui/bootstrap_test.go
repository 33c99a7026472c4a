package tui

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/xds"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/tui/view/page"
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

func listeners() []string {
	return []string{"127.0.0.1:18000", "[::]:18000", "[2001:db8::1]:18000", "proxy.example.com:18000", "unix:/run/xds.sock", "unix:@xds"}
}

// Envoy itself takes the snippets.
func TestEnvoyBootstrap(t *testing.T) {
	envoy := filepath.Join("..", ".tools", "envoy", "envoy", "_bin", "envoy")
	if _, err := os.Stat(envoy); errors.Is(err, fs.ErrNotExist) {
		if os.Getenv("CI") == "true" {
			t.Fatal("Envoy is not there: make envoy")
		}
		t.Skip("Envoy is not there: make envoy")
	}
	root := xdstest.NewAuthority("root")
	roots, _, err := root.Write(t.TempDir(), "root")
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := root.Issue(xdstest.Leaf{}).Write(t.TempDir(), "client")
	if err != nil {
		t.Fatal(err)
	}
	for _, secured := range []Route{{}, {Secure: true, Roots: roots, Upstream: "istiod:15012"}, {Secure: true, Roots: roots, Asked: true}} {
		for _, l := range listeners() {
			at := page.EndpointOf(l)
			at.Secure = page.SecurityOf(secured)
			validate(t, envoy, strings.NewReplacer(page.CertFile, cert, page.KeyFile, key).Replace(at.EnvoyBootstrap()))
		}
	}
}

func validate(t *testing.T, envoy, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "envoy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(envoy, "--mode", "validate", "--config-path", file, "--log-level", "error").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s%s", err, out, text)
	}
}

// With the snippets gRPC comes to the address that they name.
func TestGRPCBootstrap(t *testing.T) {
	roots, _, err := xdstest.NewAuthority("root").Write(t.TempDir(), "root")
	if err != nil {
		t.Fatal(err)
	}
	for _, on := range [][3]string{{"tcp", "127.0.0.1:0"}, {"unix", filepath.Join(t.TempDir(), "xds.sock")}, {"tcp", "127.0.0.1:0", roots}} {
		l, err := net.Listen(on[0], on[1])
		if err != nil {
			t.Fatal(err)
		}
		listen := l.Addr().String()
		if on[0] == "unix" {
			listen = "unix:" + listen
		}
		at, first := page.EndpointOf(listen), "PRI * HTTP/2.0"
		if on[2] != "" {
			at.Secure, first = page.SecurityOf(Route{Secure: true, Roots: on[2]}), "\x16\x03\x01"
		}
		resolver, err := xds.NewXDSResolverWithConfigForTesting([]byte(at.GrpcBootstrap()))
		if err != nil {
			t.Fatalf("%v\n%s", err, at.GrpcBootstrap())
		}
		conn, err := grpc.NewClient("xds:///shop", grpc.WithResolvers(resolver), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatalf("%v\n%s", err, at.GrpcBootstrap())
		}
		conn.Connect()
		came, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		preface := make([]byte, len(first))
		if _, err := io.ReadFull(came, preface); err != nil || string(preface) != first {
			t.Errorf("%s: %q came, %v", listen, preface, err)
		}
		came.Close()
		l.Close()
		conn.Close()
	}
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
	if got := d.m.top().(*page.Bootstrap).Pages(); got != 0 {
		t.Errorf("%d pages", got)
	}
}

// However small the screen is, the snippet that is copied is whole.
func TestSnippetIsWhole(t *testing.T) {
	d := drive(t, proxying("127.0.0.1:18000"), 40, 10, Options{Theme: "mono"})
	d.press("b")
	v := d.m.top().(*page.Bootstrap)
	if s := v.Snippet(); !strings.HasPrefix(s, "node:\n") || !strings.HasSuffix(s, "port_value: 18000}\n") {
		t.Errorf("the snippet is\n%s", s)
	}
	_ = d.frame()
}
