package page

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
	"github.com/xdsproxy/xdsproxy/tui/source"
)

func listeners() []string {
	return []string{"127.0.0.1:18000", "[::]:18000", "[2001:db8::1]:18000", "proxy.example.com:18000", "unix:/run/xds.sock", "unix:@xds"}
}

// Envoy itself takes the snippets.
func TestEnvoyBootstrap(t *testing.T) {
	envoy := filepath.Join("..", "..", "..", ".tools", "envoy", "envoy", "_bin", "envoy")
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
	for _, secured := range []source.Route{{}, {Secure: true, Roots: roots, Upstream: "istiod:15012"}, {Secure: true, Roots: roots, Asked: true}} {
		for _, l := range listeners() {
			at := endpointOf(l)
			at.secure = securityOf(secured)
			validate(t, envoy, strings.NewReplacer(certFile, cert, keyFile, key).Replace(at.envoyBootstrap()))
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
		at, first := endpointOf(listen), "PRI * HTTP/2.0"
		if on[2] != "" {
			at.secure, first = securityOf(source.Route{Secure: true, Roots: on[2]}), "\x16\x03\x01"
		}
		resolver, err := xds.NewXDSResolverWithConfigForTesting([]byte(at.grpcBootstrap()))
		if err != nil {
			t.Fatalf("%v\n%s", err, at.grpcBootstrap())
		}
		conn, err := grpc.NewClient("xds:///shop", grpc.WithResolvers(resolver), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatalf("%v\n%s", err, at.grpcBootstrap())
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
