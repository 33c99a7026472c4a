package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// bisection is the object of bisect -o json.
type bisection struct {
	Response  uint64 `json:"response"`
	NACK      uint64 `json:"nack"`
	Type      string `json:"type"`
	By        string `json:"by"`
	Resources int    `json:"resources"`
	Suspects  int    `json:"suspects"`
	Trials    int    `json:"trials"`
	Accepted  bool   `json:"accepted"`
	Culprits  []struct {
		Resources []struct{ Name, Type, Version string } `json:"resources"`
		Words     string                                 `json:"words"`
		Bare      bool                                   `json:"bare"`
	} `json:"culprits"`
	Rest     bool     `json:"rest_accepted"`
	Removals bool     `json:"removals"`
	Notes    []string `json:"notes"`
	Script   string   `json:"script"`

	Recording string `json:"recording"`
}

// culprits are their names, joined by "+" where they are so together.
func (b *bisection) culprits() []string {
	var out []string
	for _, c := range b.Culprits {
		var names []string
		for _, r := range c.Resources {
			names = append(names, r.Name)
		}
		slices.Sort(names)
		out = append(out, strings.Join(names, "+"))
	}
	slices.Sort(out)
	return out
}

// bisecting is a running bisect.
type bisecting struct {
	addr   string
	stdout bytes.Buffer
	stderr *lines
	exited chan struct{}
	err    error
	script string
}

var bisectReady = regexp.MustCompile(`^listening on (\S+), bisecting entry \d+ of `)

func startBisect(t *testing.T, recording string, args ...string) *bisecting {
	t.Helper()
	b := &bisecting{stderr: newLines(), exited: make(chan struct{}), script: filepath.Join(t.TempDir(), "found.xds")}
	args = append([]string{"bisect", recording, "--listen", freeAddr(t), "-o", "json", "--script", b.script, "--timeout", patience.String()}, args...)
	cmd := exec.Command(program(t), args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = &b.stdout, b.stderr, quietEnv(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		b.err = cmd.Wait()
		close(b.exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-b.exited
		if t.Failed() {
			t.Logf("bisect:\n%s%s", b.stderr, &b.stdout)
		}
	})
	b.addr = b.stderr.find(t, bisectReady, b.exited)[1]
	return b
}

// end waits for the end of a bisection and returns its exit code and result.
func (b *bisecting) end(t *testing.T) (int, bisection) {
	t.Helper()
	select {
	case <-b.exited:
	case <-time.After(4 * patience):
		t.Fatal("the bisection does not end")
	}
	code := 0
	if exit, is := errors.AsType[*exec.ExitError](b.err); is {
		code = exit.ExitCode()
	} else if b.err != nil {
		t.Fatal(b.err)
	}
	var found bisection
	if b.stdout.Len() > 0 {
		if err := json.Unmarshal(b.stdout.Bytes(), &found); err != nil {
			t.Fatalf("%v in %q", err, b.stdout.String())
		}
	}
	return code, found
}

// finds requires that these are the culprits, each rejected again in the script
// that is written.
func (b *bisecting) finds(t *testing.T, most int, want ...string) bisection {
	t.Helper()
	code, found := b.end(t)
	if got := found.culprits(); code != 0 || !slices.Equal(got, want) || !found.Rest {
		t.Fatalf("exit code %d, found %v, want %v: %+v", code, got, want, found)
	}
	if found.Trials > most {
		t.Errorf("%d trials, more than %d", found.Trials, most)
	}
	t.Logf("%d trials for %v among %d of %d", found.Trials, want, found.Suspects, found.Resources)
	for _, c := range found.Culprits {
		if c.Words == "" {
			t.Errorf("no words for %v", c.Resources)
		}
	}
	text, err := os.ReadFile(b.script)
	if err != nil || found.Script != b.script {
		t.Fatalf("%v, %q", err, found.Script)
	}
	for _, c := range found.Culprits {
		for _, r := range c.Resources {
			if !strings.Contains(string(text), r.Name) {
				t.Errorf("%s is not in the script:\n%s", r.Name, text)
			}
		}
	}
	out, err := exec.Command(program(t), "check", b.script, "-o", "json", "--fail-on", "never").Output()
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	var checked struct {
		Findings []struct {
			Rule  string   `json:"rule"`
			Count int      `json:"count"`
			Names []string `json:"names"`
		} `json:"findings"`
	}
	if err := json.Unmarshal(out, &checked); err != nil {
		t.Fatal(err)
	}
	rejected := 0
	for _, f := range checked.Findings {
		if f.Rule == "nack-received" {
			rejected += f.Count
		}
	}
	if rejected != len(want) {
		t.Errorf("check finds %d rejections in\n%s%s", rejected, text, out)
	}
	return found
}

// reproduces requires that a fresh Envoy does all that the recording says which
// bisect has written, and that it says itself so many times that it rejects.
func (b *bisection) reproduces(t *testing.T, v variant, times int) {
	t.Helper()
	r := startReplay(t, b.Recording, "--as", "server", "--listen", freeAddr(t))
	e, _ := launchEnvoy(t, v, "fresh", r.addr)
	r.asRecorded(t)
	e.stop(t) // of what it writes something may still be under way
	info, err := os.Stat(b.Recording)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes reproduce it", info.Size())
	if n := strings.Count(e.output.String(), "] gRPC config for "); n != times {
		t.Errorf("Envoy says %d times that it rejects something, not %d times", n, times)
	}
}

// plainCluster is one that asks for nothing.
func plainCluster(name string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name, ConnectTimeout: durationpb.New(time.Second),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
	}
}

// Among 500 clusters are two bad ones, of which Envoy names but one: what
// violates a constraint of its type keeps it from looking at the others.
func TestBisectClusters(t *testing.T) {
	t.Parallel()
	for i, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, v, careful(v), nil)
			for n := range 499 {
				name := fmt.Sprintf("cluster-%d", n)
				s.clusters[name] = plainCluster(name)
			}
			s.clusters["cluster-123"].ConnectTimeout = durationpb.New(0)
			s.clusters["cluster-377"].TransportSocket = unheardOf()
			s.control.set(t, s.world())
			words := s.control.nack(t).Error
			if strings.Contains(words, "cluster-377") {
				t.Fatalf("Envoy names both: %s", words)
			}
			recording := s.close(t)

			b := startBisect(t, recording)
			node := envoyNode
			if i%2 == 1 {
				node = "another"
			}
			launchEnvoy(t, v, node, b.addr)
			found := b.finds(t, 25, "cluster-123", "cluster-377")
			if found.Resources < 499 || found.Type != "CDS" || (found.By == "another") != (node == "another") {
				t.Errorf("%+v", found)
			}
			for _, c := range found.Culprits {
				if !c.Bare || !strings.Contains(c.Words, map[string]string{"cluster-123": "ConnectTimeout", "cluster-377": "unheard.of"}[c.Resources[0].Name]) {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

// Two listeners at one address are good, each by itself.
func TestBisectPair(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:2] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, v, careful(v), nil)
			address := freeAddr(t)
			for n := range 30 {
				s.listener(t, fmt.Sprintf("listener-%d", n), "routes")
			}
			for _, n := range []string{"listener-7", "listener-22"} {
				l := xdstest.Listener(n, address, "routes", s.source)
				s.listeners[n] = l
			}
			s.listeners["listener-15"].FilterChains[0].Filters[0].Name = "" // which violates a constraint
			s.control.set(t, s.world())
			s.control.nack(t)
			recording := s.close(t)

			b := startBisect(t, recording)
			launchEnvoy(t, v, envoyNode, b.addr)
			found := b.finds(t, 40, "listener-15", "listener-22+listener-7")
			found.reproduces(t, v, 2)
		})
	}
}

// Endpoints are asked for by name, and a response has only those that changed.
func TestBisectEndpoints(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:2] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, v, careful(v), func(m *mesh) {
				for n := range 24 {
					name := fmt.Sprintf("service-%d", n)
					m.cluster(name, 1)
					m.endpointsOf(t, name, 1)
				}
			})
			for n := range 24 {
				s.endpointsOf(t, fmt.Sprintf("service-%d", n), 2)
			}
			for _, n := range []string{"service-3", "service-20"} {
				s.endpoints[n].Endpoints[0].LbEndpoints[1].LoadBalancingWeight = wrapperspb.UInt32(0) // it has to be 1 at least
			}
			s.control.set(t, s.world())
			s.control.nack(t)
			recording := s.close(t)

			b := startBisect(t, recording)
			launchEnvoy(t, v, envoyNode, b.addr)
			found := b.finds(t, 20, "service-20", "service-3")
			if found.Type != "EDS" {
				t.Errorf("%+v", found)
			}
			found.reproduces(t, v, 4) // two responses, for each of two clusters
		})
	}
}

// Bad endpoints of a cluster that has a secret need the cluster, and with it the
// secret: what is written has it, and its key masked, whether the source has that
// or not.
func TestBisectSecrets(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{false, true} {
		t.Run(fmt.Sprintf("kept=%t", kept), func(t *testing.T) {
			t.Parallel()
			v := variants()[0]
			m := newMesh(t, v.source)
			m.secretCluster(t, "locked", "key")
			m.certify("key")
			m.endpointsOf(t, "locked", 2)
			c := startControlPlaneAs(t, envoyNode, careful(v))
			c.set(t, m.world())
			var how setup
			if kept {
				how.args = []string{"--keep-secrets"}
			}
			p := startProxyWith(t, c.Addr(), how)
			e := startEnvoy(t, v, envoyNode, p.addr)
			c.rest(t, quiet)
			m.endpointsOf(t, "locked", 3)
			m.endpoints["locked"].Endpoints[0].LbEndpoints[1].LoadBalancingWeight = wrapperspb.UInt32(0)
			c.set(t, m.world())
			c.nack(t)
			e.stop(t)
			p.stop(t)

			b := startBisect(t, p.file)
			launchEnvoy(t, v, envoyNode, b.addr)
			found := b.finds(t, 4, "locked")
			found.reproduces(t, v, 1)
			written, err := recorder.Open(found.Recording)
			if err != nil {
				t.Fatal(err)
			}
			defer written.Close()
			var all []byte
			for {
				e, err := written.Next(t.Context())
				if err != nil {
					break
				}
				if e.Message != nil {
					all = append(all, e.Message.Data.Bytes()...)
				}
			}
			key := m.secrets["key"].GetTlsCertificate().GetPrivateKey().GetInlineBytes()
			if bytes.Contains(all, key) || !bytes.Contains(all, []byte("[masked:")) || !written.Facts().Masked {
				t.Errorf("the key is not masked: %+v", written.Facts())
			}
		})
	}
}

// Routes are asked for by name, for the sake of listeners.
func TestBisectRoutes(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, v, careful(v), func(m *mesh) {
				for n := range 8 {
					m.listener(t, fmt.Sprintf("listener-%d", n), fmt.Sprintf("routes-%d", n))
					m.route(fmt.Sprintf("routes-%d", n), "web")
				}
			})
			s.routes["routes-5"].VirtualHosts[0].Domains = nil
			s.control.set(t, s.world())
			s.control.nack(t)
			recording := s.close(t)

			b := startBisect(t, recording)
			launchEnvoy(t, v, envoyNode, b.addr)
			found := b.finds(t, 10, "routes-5")
			if found.Type != "RDS" {
				t.Errorf("%+v", found)
			}
			found.reproduces(t, v, 1)
		})
	}
}

// A gRPC client asks for clusters by name.
func TestBisectGRPC(t *testing.T) {
	t.Parallel()
	backend, err := xdstest.StartBackend(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Stop)
	m := emptyMesh(xdstest.Self())
	var others []string
	for n := range 16 {
		others = append(others, fmt.Sprintf("other-%d", n))
	}
	for _, n := range append([]string{"greeter"}, others...) {
		m.cluster(n, 1)
		m.endpointsAt(t, n, backend.Addr())
	}
	m.route("routes", "greeter", others...)
	m.apiListener(t, service, "routes")
	c := startControlPlane(t, "grpc-go")
	c.set(t, m.world())
	p := startProxy(t, c.Addr())
	out, stop := startGRPCGo(t, plainBootstrap(t, p.addr, "grpc-go"), nil, service)
	eventually(t, "an answer", func() bool { return out.last() == serving })
	c.rest(t, quiet)
	for _, n := range append([]string{"greeter"}, others...) {
		m.cluster(n, 2)
	}
	m.clusters["other-11"] = xdstest.BrokenCluster("other-11", m.source)
	c.set(t, m.world())
	c.nack(t)
	stop()
	p.stop(t)
	c.Stop()

	b := startBisect(t, p.file)
	_, stop = startGRPCGo(t, plainBootstrap(t, b.addr, "grpc-go"), nil, service)
	found := b.finds(t, 12, "other-11")
	stop()

	r := startReplay(t, found.Recording, "--as", "server", "--listen", freeAddr(t))
	_, stop = startGRPCGo(t, plainBootstrap(t, r.addr, "grpc-go"), nil, service)
	r.asRecorded(t)
	stop()
}

// What the client accepts now is a difference.
func TestBisectAccepted(t *testing.T) {
	t.Parallel()
	v := variants()[0]
	recording := rejectedSession(t, v)
	repaired := filepath.Join(t.TempDir(), "repaired.xdsp")
	repair(t, recording, repaired)
	b := startBisect(t, repaired)
	launchEnvoy(t, v, envoyNode, b.addr)
	code, found := b.end(t)
	if code != 11 || !found.Accepted || found.Trials != 1 || len(found.Culprits) > 0 {
		t.Errorf("exit code %d, %+v", code, found)
	}
}

// An Envoy whose connection breaks in the middle of a trial comes back, and goes
// on from what it still has.
func TestBisectReconnect(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:2] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, v, careful(v), nil)
			for n := range 2000 {
				name := fmt.Sprintf("cluster-%d", n)
				s.clusters[name] = plainCluster(name)
			}
			s.clusters["cluster-1234"].ConnectTimeout = durationpb.New(0)
			s.control.set(t, s.world())
			s.control.nack(t)
			recording := s.close(t)
			trials := filepath.Join(t.TempDir(), "trials.xdsp")
			b := startBisect(t, recording, "-w", trials)
			cut := cutting(t, b.addr, 50_000)
			launchEnvoy(t, v, envoyNode, cut)
			b.finds(t, 8, "cluster-1234")
			if f := factsOf(t, trials); f.Connections < 2 {
				t.Errorf("the connection was not cut: %+v", f)
			}
		})
	}
}

// cutting listens for connections to addr and breaks the first one when so many
// bytes have come from there.
func cutting(t *testing.T, addr string, after int64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addr)
			if err != nil {
				client.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(server, client)
				server.Close()
			}()
			go func() {
				if n == 0 {
					_, _ = io.CopyN(client, server, after)
					server.Close()
				} else {
					_, _ = io.Copy(client, server)
				}
				client.Close()
			}()
		}
	}()
	return l.Addr().String()
}
