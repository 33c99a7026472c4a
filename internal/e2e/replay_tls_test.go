package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// listenFlags are the flags by which a played server wants certificates.
func listenFlags(t *testing.T, authority *xdstest.Authority, l xdstest.Leaf) (flags []string, ca, cert, key string) {
	t.Helper()
	ca, cert, key = clientFiles(t, authority)
	own, ownKey, err := authority.Issue(l).Write(t.TempDir(), "server")
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--tls-cert", own, "--tls-key", ownKey, "--tls-client-ca", ca}, ca, cert, key
}

// securedEnvoy starts an Envoy that asks addr in a TLS context.
func securedEnvoy(t *testing.T, v variant, addr string, context object) (e *envoy, admin string) {
	t.Helper()
	text := envoyBootstrap(t, v, envoyNode, addr)
	text["static_resources"].(object)["clusters"].([]object)[0]["transport_socket"] = tlsSocket(context)
	return launchEnvoyWith(t, text)
}

// A recording is played to an Envoy that verifies the server and shows a
// certificate; and one of that replay is as good as the first, though both went
// through TLS.
func TestReplayToEnvoyByTLS(t *testing.T) {
	t.Parallel()
	v := variants()[0]
	recording := rejectedSession(t, v)
	authority := xdstest.NewAuthority("mesh")
	flags, ca, cert, key := listenFlags(t, authority, xdstest.Leaf{URIs: []string{planeID}})
	context := object{"common_tls_context": object{
		"tls_certificates":   []object{{"certificate_chain": object{"filename": cert}, "private_key": object{"filename": key}}},
		"validation_context": object{"trusted_ca": object{"filename": ca}, "match_typed_subject_alt_names": named("URI", planeID)},
	}}
	again := filepath.Join(t.TempDir(), "again.xdsp")
	r := startReplay(t, recording, append([]string{"--as", "server", "--listen", freeAddr(t), "-w", again}, flags...)...)
	e, admin := securedEnvoy(t, v, r.addr, context)
	e.await(t, admin)
	r.asRecorded(t)
	e.stop(t)

	r = startReplay(t, again, append([]string{"--as", "server", "--listen", freeAddr(t)}, flags...)...)
	e, admin = securedEnvoy(t, v, r.addr, context)
	e.await(t, admin)
	r.asRecorded(t)
	eventually(t, "the last update", func() bool {
		body, err := get(e.url(t, "ingress"))
		return err == nil && body == "hello again"
	})
}

// The certificate is made by an authority of one's own, for the name that the
// client asks for.
func TestReplayMintsItsCertificate(t *testing.T) {
	t.Parallel()
	v := variants()[1]
	recording := rejectedSession(t, v)
	dir := filepath.Join(t.TempDir(), "authority")
	r := startReplay(t, recording, "--as", "server", "--listen", freeAddr(t), "--tls-ca-dir", dir)
	e, admin := securedEnvoy(t, v, r.addr, object{
		"sni": "istiod.istio-system.svc", "auto_sni_san_validation": true,
		"common_tls_context": object{"validation_context": object{"trusted_ca": object{"filename": filepath.Join(dir, "ca.pem")}}},
	})
	e.await(t, admin)
	r.asRecorded(t)
}

// A client without a certificate gets nothing, and the replay says why.
func TestReplayRefusesAStranger(t *testing.T) {
	t.Parallel()
	v := variants()[0]
	flags, ca, _, _ := listenFlags(t, xdstest.NewAuthority("mesh"), xdstest.Leaf{URIs: []string{planeID}})
	recording := filepath.Join(sessionsDir, "envoy-sotw-begins-anew.xdsp")
	if _, err := os.Stat(recording); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"replay", recording, "--as", "server", "--listen", freeAddr(t), "--idle", "3s"}, flags...)
	cmd := exec.Command(program(t), args...)
	stderr, exited := newLines(), make(chan struct{})
	cmd.Stderr, cmd.Env = stderr, quietEnv(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ended error
	go func() {
		ended = cmd.Wait()
		close(exited)
	}()
	addr := stderr.find(t, playing, exited)[1]
	securedEnvoy(t, v, addr, object{"common_tls_context": object{"validation_context": object{"trusted_ca": object{"filename": ca}}}})
	stderr.find(t, regexp.MustCompile(`^xdsproxy: error: nothing was played: .*certificate`), exited)
	<-exited
	if exit, is := errors.AsType[*exec.ExitError](ended); !is || exit.ExitCode() != 1 {
		t.Errorf("it ends with %v", ended)
	}
	if !strings.Contains(stderr.String(), "xdsproxy: hint: ") {
		t.Errorf("no hint: %s", stderr)
	}
}

// The played clients show a certificate to another control plane, and verify
// its.
func TestReplayToControlPlaneByTLS(t *testing.T) {
	t.Parallel()
	v := variants()[0]
	s := openScene(t, v, careful(v), func(m *mesh) {
		m.cluster("api", 1)
		m.endpointsOf(t, "api", 2)
	})
	recording := s.close(t)
	s.control.Stop()
	m := &mutual{authority: xdstest.NewAuthority("mesh")}
	m.ca, m.cert, m.key = clientFiles(t, m.authority)
	other := func() *controlPlane {
		o := careful(v)
		o.TLS = m.serve(xdstest.Leaf{DNS: []string{"plane.e2e"}})
		c := startControlPlaneAs(t, envoyNode, o)
		c.set(t, s.world())
		return c
	}
	flags := []string{"--upstream-ca", m.ca, "--upstream-cert", m.cert, "--upstream-key", m.key, "--upstream-server-name", "plane.e2e"}
	startReplay(t, recording, append([]string{"--as", "client", "--target", other().Addr()}, flags...)...).asRecorded(t)
	again := filepath.Join(t.TempDir(), "again.xdsp")
	startReplay(t, recording, append([]string{"--as", "client", "--target", other().Addr(), "-w", again}, flags...)...).asRecorded(t)
	if f := factsOf(t, again); !f.Complete || f.Messages == 0 {
		t.Errorf("%+v", f)
	}
	s.cluster("api", 7)
	onlyCluster(t, startReplay(t, recording, append([]string{"--as", "client", "--target", other().Addr()}, flags...)...), "api")

	// Each thing that is wrong has its sentence.
	for _, c := range []struct{ want, flags string }{
		{`not for "127.0.0.1"`, strings.Join(flags[:6], " ")},
		{`is not signed by an authority`, strings.Join(flags[2:], " ")},
		{`it wants a client certificate`, strings.Join(append(flags[:2:2], flags[6:]...), " ")},
	} {
		args := append([]string{"replay", recording, "--as", "client", "--idle", "2s", "--target", other().Addr()}, strings.Fields(c.flags)...)
		cmd := exec.Command(program(t), args...)
		cmd.Env = quietEnv(t)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "xdsproxy: error: nothing was played: ") || !strings.Contains(string(out), c.want) {
			t.Errorf("want %s; exit code %d\n%s", c.want, code, out)
		}
	}
}

// One bad cluster of many is found by an Envoy that is spoken to by TLS.
func TestBisectByTLS(t *testing.T) {
	t.Parallel()
	v := variants()[0]
	s := openScene(t, v, careful(v), nil)
	for n := range 40 {
		name := fmt.Sprintf("cluster-%d", n)
		s.clusters[name] = plainCluster(name)
	}
	s.clusters["cluster-23"].ConnectTimeout = durationpb.New(0)
	s.control.set(t, s.world())
	s.control.nack(t)
	recording := s.close(t)
	flags, ca, cert, key := listenFlags(t, xdstest.NewAuthority("mesh"), xdstest.Leaf{URIs: []string{planeID}})
	b := startBisect(t, recording, flags...)
	securedEnvoy(t, v, b.addr, object{"common_tls_context": object{
		"tls_certificates":   []object{{"certificate_chain": object{"filename": cert}, "private_key": object{"filename": key}}},
		"validation_context": object{"trusted_ca": object{"filename": ca}, "match_typed_subject_alt_names": named("URI", planeID)},
	}})
	b.finds(t, 8, "cluster-23")
}
