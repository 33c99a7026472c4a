package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// istiod by way of a forwarded port: its certificate has other names than its
// address.
func TestServerOfAnotherName(t *testing.T) {
	t.Parallel()
	const name = "istiod.istio-system.svc"
	s := newSecured(t)
	dir := filepath.Join(s.dir, "istio")
	write(t, &s.inner.Credential, dir, "root-cert")
	write(t, s.inner.Issue(xdstest.Leaf{URIs: []string{proxyAsClient}}), dir, "cert-chain")
	if err := os.Rename(filepath.Join(dir, "cert-chain.key"), filepath.Join(dir, "key.pem")); err != nil {
		t.Fatal(err)
	}
	control := startControlPlaneAs(t, "caller", xdstest.Options{
		TLS: s.controlPlaneCalled(xdstest.Leaf{CommonName: "istiod", DNS: []string{name, "istiod.istio-system"}}),
	})
	control.set(t, emptyMesh(xdstest.ADS()).world())

	with := recipeArgs(t, "istiod run", s.dir)
	p := startProxyWith(t, control.Addr(), setup{args: with})
	connect(t, p.addr).close()
	p.stop(t)
	p.connectedTo(t, "", name)
	s.everyCall(t, call{proxyAsClient, name})

	i := slices.Index(with, "--upstream-server-name")
	p = startProxyWith(t, control.Addr(), setup{args: slices.Delete(with, i, i+2)})
	if c, err := connectWith(t, p.addr, insecure.NewCredentials()); err == nil {
		c.close()
		t.Error("without being told a name, the proxy takes the certificate of another")
	}
	p.stop(t)
	for _, words := range []string{`"` + name + `"`, "127.0.0.1", "--upstream-server-name " + name} {
		if said := p.said(t); !strings.Contains(said, words) {
			t.Errorf("the recording does not speak of %s: %s", words, said)
		}
	}
}
