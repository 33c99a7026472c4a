package e2e

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/credentials"
)

// mount fills a directory as Kubernetes mounts secrets: each file is a link
// into ..data, which is a link to the version that counts.
func mount(t *testing.T, dir, version string, fill func(dir string)) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	version = ".." + version
	fill(filepath.Join(dir, version))
	files, err := os.ReadDir(filepath.Join(dir, version))
	must(err)
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(dir, f.Name())); err != nil {
			must(os.Symlink(filepath.Join("..data", f.Name()), filepath.Join(dir, f.Name())))
		}
	}
	must(os.Symlink(version, filepath.Join(dir, "..data_tmp")))
	must(os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
}

// The certificates and the roots of a proxy are replaced while an Envoy is
// connected: on both legs others are trusted from then on.
func TestCertificatesAreRotated(t *testing.T) {
	t.Parallel()
	for name, mounted := range map[string]bool{"files are renamed": false, "links are swapped": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool(t, "envoy", "envoy", "_bin", "envoy")
			s := &secured{dir: t.TempDir()}
			rotate := func(version string) {
				s.renew(t, version)
				if dir := filepath.Join(s.dir, "xdsproxy"); mounted {
					mount(t, dir, version, func(dir string) { s.issueProxy(t, dir) })
				} else {
					s.issueProxy(t, dir)
				}
			}
			rotate("first")
			var now atomic.Pointer[tls.Config] // what the control plane shows, and whom it takes
			now.Store(s.controlPlane())
			v := variants()[0]
			o := careful(v)
			o.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return now.Load(), nil }}
			control := startControlPlaneAs(t, "caller", o)
			p := startProxyWith(t, control.Addr(), setup{args: recipeArgs(t, "mutual run", s.dir)})
			m := newMesh(t, v.source)
			control.set(t, m.world())
			first := startEnvoy(t, v.securely(t, "mutual envoy", s.dir, nil), control.node, p.addr)
			control.rest(t, quiet)
			ask := func(c *tls.Config) error {
				t.Helper()
				called, err := connectWith(t, p.addr, credentials.NewTLS(c))
				if err == nil {
					called.close()
				}
				return err
			}
			outdated := s.client(t, "envoy/envoy")

			rotate("second")
			now.Store(s.controlPlane())
			m.endpointsOf(t, "web", 2)
			control.push(t, func() { control.set(t, m.world()) })
			if n := p.info(t).Connections; n != 1 {
				t.Errorf("%d connections after the rotation; the first one should have gone on", n)
			}
			startEnvoy(t, v.securely(t, "mutual envoy", s.dir, nil), control.node, p.addr)
			if err := ask(s.client(t, "envoy/envoy")); err != nil {
				t.Errorf("with new certificates: %v", err)
			}
			if err := ask(outdated); err == nil || !strings.Contains(err.Error(), "unknown authority") {
				t.Errorf("a client that trusts the old authority alone gets %v", err)
			}
			outdated.RootCAs = s.outer.Pool()
			if err := ask(outdated); err == nil {
				t.Error("the proxy takes a certificate of the old authority")
			}

			rotate("third") // and the control plane stays behind
			if err := ask(s.client(t, "envoy/envoy")); err == nil {
				t.Error("the proxy takes a control plane of the old authority")
			}
			m.endpointsOf(t, "web", 1)
			control.push(t, func() { control.set(t, m.world()) }) // to both Envoys, on old connections
			first.stop(t)
			p.stop(t)
			s.everyCall(t, call{proxyAsClient, ""})
			p.connectedTo(t, envoyIdentity, controlIdentity)
			versions := []string{"first", "second", "second"}
			peers := p.peers(t)
			if len(peers) != len(versions) {
				t.Fatalf("%d connections came about, want %d: %+v", len(peers), len(versions), peers)
			}
			for i, v := range versions {
				c, s := peers[i].ClientTLS, peers[i].ServerTLS
				if c == nil || s == nil || !strings.Contains(c.Issuer, "outer "+v) || !strings.Contains(s.Issuer, "inner "+v) {
					t.Errorf("connection %d: %+v and %+v; want certificates of the %s authorities", i+1, c, s, v)
				}
			}
			said := p.said(t)
			for _, words := range []string{"bad certificate", "inner second"} {
				if !strings.Contains(said, words) {
					t.Errorf("the notes do not speak of %q:\n%s", words, said)
				}
			}
		})
	}
}
