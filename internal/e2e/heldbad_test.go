package e2e

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/session"
)

// Whatever is at the addresses where clients are to be asked what they hold, traffic
// and what is known of it stay as they are, memory is bounded, and each cause is said
// once.
func TestHeldBadInput(t *testing.T) {
	t.Parallel()
	v := variants()[0]
	m := newMesh(t, v.source)
	c := startControlPlaneAs(t, envoyNode, careful(v))
	c.set(t, m.world())

	bad := badAdmins(t)
	admin := freeAddr(t)
	args := []string{"--envoy-admin", admin, "--held-interval", "200ms", "--admin", "127.0.0.1:0"}
	for _, b := range bad {
		args = append(args, b.flag, b.name+"="+b.addr)
	}
	p := startProxyWith(t, c.Addr(), setup{args: args})
	s := &scene{mesh: m, control: c, proxy: p}
	text := envoyBootstrap(t, v, envoyNode, p.addr)
	text["admin"] = object{"address": addressFor(t, admin)}
	e, path := launchEnvoyWith(t, text)
	e.await(t, path)
	s.envoy = e

	causes := func() map[string][]string {
		met := map[string][]string{}
		for _, e := range heldEntries(t, p.file) {
			if e.Held.Failed != "" {
				met[e.Held.Node] = append(met[e.Held.Node], e.Held.Failed)
			}
		}
		return met
	}
	s.becomes(t, "RDS", "routes", effect.InEffect)
	url := p.stderr.find(t, metricsAt, p.exited)[1]
	for n := range 12 {
		before := askedOf(t, url)
		s.cluster("web", int64(n+2))
		s.endpointsOf(t, "web", n+2)
		s.push(t)
		eventually(t, "more looks", func() bool { return askedOf(t, url) > before })
	}
	eventually(t, "each cause", func() bool {
		met := causes()
		for _, b := range bad {
			if len(met[b.name]) == 0 {
				return false
			}
		}
		return true
	})
	s.route("routes", "web", xdsCluster)
	s.push(t)
	for _, of := range [][2]string{{"CDS", "web"}, {"EDS", "web"}, {"LDS", "ingress"}, {"RDS", "routes"}} {
		s.becomes(t, of[0], of[1], effect.InEffect)
	}
	peak := p.memory(t, "VmHWM")
	t.Logf("%d MiB at most", peak>>20)
	if peak > mostWithBadAdmins {
		t.Errorf("%d MiB", peak>>20)
	}
	met := causes()
	for _, b := range bad {
		if got := met[b.name]; len(got) != 1 || !strings.Contains(got[0], b.want) {
			t.Errorf("of %s it is said: %q", b.name, got)
		}
		if n := strings.Count(p.stderr.String(), b.want); n != 1 {
			t.Errorf("%q is logged %d times", b.want, n)
		}
	}
	_, all := effects(t, s.close(t), impatient())
	for _, f := range butWarming(all) {
		t.Errorf("%s: %s", f.Rule.ID, f.Message)
	}
	gaps := 0
	for _, e := range p.entries(t) {
		if e.Kind == session.KindGap {
			gaps++
		}
	}
	if gaps > 0 {
		t.Errorf("%d gaps", gaps)
	}
	compare(t, c.account, p)
}

// mostWithBadAdmins bounds the memory of the whole program. An answer may have 64 MiB.
const mostWithBadAdmins = 600 << 20

type badAdmin struct{ name, flag, addr, want string }

// badAdmins are what may be where an Envoy was expected.
func badAdmins(t *testing.T) (all []badAdmin) {
	t.Helper()
	serve := func(name, want string, h http.HandlerFunc) {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		all = append(all, badAdmin{name, "--envoy-admin", s.Listener.Addr().String(), want})
	}
	serve("page", "it answers with a page", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<!DOCTYPE html><title>Somebody else</title>")
	})
	filler := strings.Repeat("x", 1<<20)
	serve("huge", "its answer is longer than 64 MiB", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"configs": [{"x": "`)
		for range 300 {
			if _, err := fmt.Fprint(w, filler); err != nil {
				return
			}
		}
		fmt.Fprint(w, `"}]}`)
	})
	serve("token", "it wants to know who asks", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	serve("other", "it is node", func(w http.ResponseWriter, q *http.Request) {
		if strings.HasPrefix(q.URL.Path, "/config_dump") {
			fmt.Fprint(w, `{"configs": [{"@type": "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump", "bootstrap": {"node": {"id": "somebody"}}}]}`)
		}
	})
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	all = append(all, badAdmin{"tls", "--envoy-admin", secure.Listener.Addr().String(), "it does not speak plain HTTP"})
	all = append(all, badAdmin{"nobody", "--envoy-admin", freeAddr(t), "nobody listens there"})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	go func() {
		for {
			c, err := silent.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
		}
	}()
	all = append(all, badAdmin{"silent", "--envoy-admin", silent.Addr().String(), "it did not answer in full within"})
	return all
}
