package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

// replayReport is the object of replay -o json.
type replayReport struct {
	Streams     int `json:"streams"`
	Expected    int `json:"expected"`
	Sent        int `json:"sent"`
	Received    int `json:"received"`
	Matched     int `json:"matched"`
	Differences []struct {
		Seq      uint64   `json:"seq"`
		Expected string   `json:"expected"`
		Got      string   `json:"got"`
		Detail   string   `json:"detail"`
		Names    []string `json:"names"`
		Type     string   `json:"type"`
	} `json:"differences"`
	Notes []string `json:"notes"`
}

// replaying is a running replay.
type replaying struct {
	addr   string // where the played server listens
	stdout bytes.Buffer
	stderr *lines
	exited chan struct{}
	err    error
}

var playing = regexp.MustCompile(`^listening on (\S+), playing the server of `)

var streamBegins = regexp.MustCompile(`^stream \d+ of .* begins`)

var streamOver = regexp.MustCompile(`^stream \d+ of .* is over`)

// startReplay starts xdsproxy replay; a played server is ready when it returns.
func startReplay(t *testing.T, recording string, args ...string) *replaying {
	t.Helper()
	r := &replaying{stderr: newLines(), exited: make(chan struct{})}
	cmd := exec.Command(program(t), append([]string{"replay", recording, "-o", "json"}, args...)...)
	cmd.Stdout, cmd.Stderr, cmd.Env = &r.stdout, r.stderr, quietEnv(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		r.err = cmd.Wait()
		close(r.exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-r.exited
		if t.Failed() {
			t.Logf("replay:\n%s%s", r.stderr, &r.stdout)
		}
	})
	if args[1] == "server" {
		r.addr = r.stderr.find(t, playing, r.exited)[1]
	}
	return r
}

// end waits for the end of a replay and returns its exit code and report.
func (r *replaying) end(t *testing.T) (int, replayReport) {
	t.Helper()
	select {
	case <-r.exited:
	case <-time.After(patience):
		t.Fatal("the replay does not end")
	}
	code := 0
	if exit, is := errors.AsType[*exec.ExitError](r.err); is {
		code = exit.ExitCode()
	} else if r.err != nil {
		t.Fatal(r.err)
	}
	var report replayReport
	if err := json.Unmarshal(r.stdout.Bytes(), &report); err != nil {
		t.Fatalf("%v in %q", err, r.stdout.String())
	}
	return code, report
}

// asRecorded requires that all was the same again.
func (r *replaying) asRecorded(t *testing.T) replayReport {
	t.Helper()
	code, report := r.end(t)
	if code != 0 || len(report.Differences) > 0 || report.Matched == 0 || report.Matched != report.Expected {
		t.Errorf("exit code %d, %+v; want all as recorded", code, report)
	}
	return report
}

// rejectedSession records an Envoy that starts, gets three updates and rejects
// a fourth.
func rejectedSession(t *testing.T, v variant) string {
	t.Helper()
	s := openScene(t, v, careful(v), func(m *mesh) {
		m.routes["routes"] = xdstest.DirectRoute("routes", "hello")
	})
	s.cluster("api", 1)
	s.endpointsOf(t, "api", 2)
	s.push(t)
	s.endpointsOf(t, "web", 2)
	s.push(t)
	s.routes["routes"] = xdstest.DirectRoute("routes", "hello again")
	s.push(t)
	s.clusters["bad"] = xdstest.BrokenCluster("bad", s.source)
	s.control.set(t, s.world())
	s.control.nack(t)
	return s.close(t)
}

// A recording brings a fresh Envoy, which has never seen the control plane, to
// where the other one was: ready, with the last accepted update, and with the
// same cluster rejected.
func TestReplayToEnvoy(t *testing.T) {
	t.Parallel()
	for i, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			recording := rejectedSession(t, v)
			r := startReplay(t, recording, "--as", "server", "--listen", freeAddr(t))
			node := envoyNode
			if i%2 == 1 {
				node = "another"
			}
			e := startEnvoy(t, v, node, r.addr)
			report := r.asRecorded(t)
			if said := strings.Join(report.Notes, "\n"); (node != envoyNode) != strings.Contains(said, `"another" plays "envoy"`) {
				t.Errorf("of an Envoy called %s the notes say %q", node, said)
			}
			eventually(t, "the last update", func() bool {
				body, err := get(e.url(t, "ingress"))
				return err == nil && body == "hello again"
			})
			stats, err := get("http://" + e.admin + "/stats?filter=cds.update_rejected")
			if err != nil || !strings.Contains(stats, "update_rejected: 1") {
				t.Errorf("%v, %q; want one rejected update", err, stats)
			}
		})
	}
}

// An Envoy whose control plane went away and came back is led through both
// streams.
func TestReplayReconnect(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, v, careful(v), nil)
			s.control.restart(t)
			s.control.rest(t, quiet)
			s.cluster("api", 1)
			s.endpointsOf(t, "api", 2)
			s.push(t)
			recording := s.close(t)
			r := startReplay(t, recording, "--as", "server", "--listen", freeAddr(t))
			startEnvoy(t, v, envoyNode, r.addr)
			if report := r.asRecorded(t); report.Streams < 2 {
				t.Errorf("%d streams were played", report.Streams)
			}
		})
	}
}

// A gRPC client finds its backend by what was recorded.
func TestReplayToGRPC(t *testing.T) {
	t.Parallel()
	for _, impl := range implementations() {
		t.Run(impl.name, func(t *testing.T) {
			t.Parallel()
			impl.need(t)
			backend, err := xdstest.StartBackend(1)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(backend.Stop)
			m := emptyMesh(xdstest.Self())
			m.cluster("greeter", 1)
			m.endpointsAt(t, "greeter", backend.Addr())
			m.route("routes", "greeter")
			m.apiListener(t, service, "routes")
			c := startControlPlane(t, impl.name)
			c.set(t, m.world())
			p := startProxy(t, c.Addr())
			out, stop := impl.start(t, plainBootstrap(t, p.addr, impl.name), nil, service)
			eventually(t, "an answer", func() bool { return out.last() == serving })
			m.clusters["greeter"] = xdstest.BrokenCluster("greeter", m.source)
			c.set(t, m.world())
			c.nack(t)
			stop()
			p.stop(t)
			c.Stop()

			r := startReplay(t, p.file, "--as", "server", "--listen", freeAddr(t))
			out, stop = impl.start(t, plainBootstrap(t, r.addr, impl.name), nil, service)
			eventually(t, "an answer", func() bool { return out.last() == serving })
			r.asRecorded(t)
			stop()
		})
	}
}

// What was rejected then and is accepted now is a difference, and so is its
// counterpart.
func TestReplayDiffers(t *testing.T) {
	t.Parallel()
	v := variants()[0]
	recording := rejectedSession(t, v)
	repaired := filepath.Join(t.TempDir(), "repaired.xdsp")
	repair(t, recording, repaired)
	r := startReplay(t, repaired, "--as", "server", "--listen", freeAddr(t), "--idle", "5s")
	startEnvoy(t, v, envoyNode, r.addr)
	code, report := r.end(t)
	found := false
	for _, d := range report.Differences {
		found = found || d.Expected == "NACK" && d.Got == "ACK"
	}
	if code != 11 || !found || report.Matched >= report.Expected {
		t.Errorf("exit code %d, %+v", code, report)
	}
	if !strings.Contains(r.stderr.String(), "expected NACK, got ACK") {
		t.Errorf("it says %s", r.stderr)
	}
}

// An Envoy that answers what the recorded client let pass for ever differs.
func TestReplayCuredSilence(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:2] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, v, careful(v), nil)
			s.endpointsOf(t, "web", 2)
			s.push(t)
			silent := filepath.Join(t.TempDir(), "silent.xdsp")
			response := silence(t, s.close(t), silent)
			r := startReplay(t, silent, "--as", "server", "--listen", freeAddr(t), "--idle", "5s")
			startEnvoy(t, v, envoyNode, r.addr)
			code, report := r.end(t)
			if d := report.Differences; code != 11 || len(d) != 1 || d[0].Seq != response || d[0].Expected != "no answer" || d[0].Got != "ACK" {
				t.Errorf("exit code %d, %+v; want an ACK of entry %d instead of silence", code, report, response)
			}
		})
	}
}

// silence copies a recording without the answer to its last response, and as if
// a minute had passed before its end. It returns the response.
func silence(t *testing.T, from, to string) (response uint64) {
	t.Helper()
	all := recordertest.Entries(t, from)
	last := 0
	for i, e := range all {
		if e.Kind == session.KindMessage && e.Side == session.Server {
			last = i
		}
	}
	out, err := recorder.Create(to, recorder.Options{NoTicks: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range all {
		if i > last {
			e.Time = e.Time.Add(time.Minute)
		}
		if i <= last || e.Kind != session.KindMessage {
			out.Append(e)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return uint64(all[last].Seq)
}

// An Envoy that is still starting is waited for.
func TestReplayToLateEnvoy(t *testing.T) {
	t.Parallel()
	v := variants()[0]
	r := startReplay(t, filepath.Join(sessionsDir, "envoy-sotw.xdsp"), "--as", "server", "--listen", freeAddr(t), "--idle", "3s")
	time.Sleep(4 * time.Second)
	startEnvoy(t, v, envoyNode, r.addr)
	r.asRecorded(t)
}

// An Envoy that asks in another way than the recorded one is not played, and the
// report says in which.
func TestReplayToOtherVariant(t *testing.T) {
	t.Parallel()
	r := startReplay(t, filepath.Join(sessionsDir, "envoy-sotw.xdsp"), "--as", "server", "--listen", freeAddr(t), "--idle", "2s")
	startEnvoy(t, variants()[1], envoyNode, r.addr)
	code, _ := r.end(t)
	const want = "opened a stream of DeltaAggregatedResources, and in the recording"
	if code != 1 || !strings.Contains(r.stderr.String(), want) {
		t.Errorf("exit code %d, and it does not say %q", code, want)
	}
}

// repair copies a recording with a good cluster in the place of the bad one.
func repair(t *testing.T, from, to string) {
	t.Helper()
	out, err := recorder.Create(to, recorder.Options{NoTicks: true})
	if err != nil {
		t.Fatal(err)
	}
	good := xdstest.Cluster("bad", xdstest.ADS())
	good.ClusterDiscoveryType, good.EdsClusterConfig = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}, nil
	bytesOf, err := proto.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	repaired := 0
	for _, e := range recordertest.Entries(t, from) {
		var m discovery.DiscoveryResponse
		if e.Kind == session.KindMessage && e.Side == session.Server && proto.Unmarshal(e.Message.Data.Bytes(), &m) == nil {
			for _, res := range m.GetResources() {
				if strings.HasSuffix(res.GetTypeUrl(), "Cluster") && bytes.Contains(res.GetValue(), []byte("bad")) {
					res.Value = bytesOf
					repaired++
				}
			}
			data, err := proto.Marshal(&m)
			if err != nil {
				t.Fatal(err)
			}
			message := *e.Message
			message.Data, message.Size = session.Chunks{data}, int64(len(data))
			e.Message = &message
		}
		out.Append(e)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if repaired == 0 {
		t.Fatal("the recording has no bad cluster")
	}
}

// The clients of a recording find in another control plane with the same world
// what they found then; if one cluster differs, that one is named.
func TestReplayToControlPlane(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run("envoy-"+v.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, v, careful(v), func(m *mesh) {
				m.cluster("api", 1)
				m.endpointsOf(t, "api", 2)
			})
			recording := s.close(t)
			s.control.Stop()
			other := func() *controlPlane {
				c := startControlPlaneAs(t, envoyNode, careful(v))
				c.set(t, s.world())
				return c
			}
			startReplay(t, recording, "--as", "client", "--target", other().Addr()).asRecorded(t)
			s.cluster("api", 7)
			onlyCluster(t, startReplay(t, recording, "--as", "client", "--target", other().Addr()), "api")
		})
	}
	t.Run("grpc-go", func(t *testing.T) {
		t.Parallel()
		m := emptyMesh(xdstest.Self())
		m.cluster("greeter", 1)
		backend, err := xdstest.StartBackend(1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(backend.Stop)
		m.endpointsAt(t, "greeter", backend.Addr())
		m.route("routes", "greeter")
		m.apiListener(t, service, "routes")
		c := startControlPlane(t, "grpc-go")
		c.set(t, m.world())
		p := startProxy(t, c.Addr())
		out, stop := startGRPCGo(t, plainBootstrap(t, p.addr, "grpc-go"), nil, service)
		eventually(t, "an answer", func() bool { return out.last() == serving })
		c.settle(t)
		stop()
		p.stop(t)
		c.Stop()
		other := func() *controlPlane {
			c := startControlPlane(t, "grpc-go")
			c.set(t, m.world())
			return c
		}
		startReplay(t, p.file, "--as", "client", "--target", other().Addr()).asRecorded(t)
		m.cluster("greeter", 7)
		onlyCluster(t, startReplay(t, p.file, "--as", "client", "--target", other().Addr()), "greeter")
	})
}

// A control plane that is silent for longer than the recorded one was finds the
// clients waiting: they ask in the recorded order, and name no nonce that it did
// not give.
func TestReplayToSlowControlPlane(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, v, careful(v), func(m *mesh) {
				m.cluster("api", 1)
				m.endpointsOf(t, "api", 2)
			})
			recording := s.close(t)
			s.control.Stop()
			c := startControlPlaneAs(t, envoyNode, careful(v))
			again := filepath.Join(t.TempDir(), "again.xdsp")
			r := startReplay(t, recording, "--as", "client", "--target", c.Addr(), "-w", again)
			r.stderr.find(t, streamBegins, r.exited)
			time.Sleep(3 * time.Second) // it has no world yet, so that it does not answer
			c.set(t, s.world())
			r.asRecorded(t)
			recorded := askedAhead(s.control.account.Messages())
			for typ := range askedAhead(c.account.Messages()) {
				if !recorded[typ] {
					t.Errorf("%s was asked for before anything was answered", typ)
				}
			}
			given := map[string]bool{"": true}
			for _, m := range c.account.Messages() {
				switch {
				case m.Side == session.Server:
					given[m.Nonce] = true
				case !given[m.Nonce]:
					t.Errorf("a request for %s names the nonce %q, which nobody gave", m.TypeURL, m.Nonce)
				}
			}
			check := exec.Command(program(t), "check", again)
			check.Env = quietEnv(t)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("of what was replayed, check says: %v\n%s", err, out)
			}
		})
	}
}

// askedAhead are the types that were asked for before the first response.
func askedAhead(messages []xdstest.Record) map[string]bool {
	out := map[string]bool{}
	for _, m := range messages {
		if m.Side == session.Server {
			break
		}
		out[m.TypeURL] = true
	}
	return out
}

func onlyCluster(t *testing.T, r *replaying, name string) {
	t.Helper()
	code, report := r.end(t)
	if code != 11 || len(report.Differences) != 1 || report.Differences[0].Type != "CDS" ||
		len(report.Differences[0].Names) != 1 || report.Differences[0].Names[0] != name {
		t.Errorf("exit code %d, %+v; want cluster %s alone", code, report, name)
	}
	if !strings.Contains(report.Differences[0].Detail, "connect_timeout") {
		t.Errorf("it does not say what differs: %+v", report.Differences[0])
	}
}

// Sessions that were kept, against an Envoy of today.
func TestReplayKeptSessions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(sessionsDir + "/envoy-*.xdsp")
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]recordedSession{}
	for _, s := range sessions() {
		kept[s.name] = s
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".xdsp")
		var v variant
		for _, o := range variants() {
			if strings.HasPrefix(name, "envoy-"+o.name) && len(o.name) > len(v.name) {
				v = o
			}
		}
		if differs := kept[name].differs; differs != nil {
			differs(&v)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startReplay(t, file, "--as", "server", "--listen", freeAddr(t))
			e := startEnvoy(t, v, envoyNode, r.addr)
			if strings.HasSuffix(name, "-begins-anew") { // as another process
				r.stderr.find(t, streamOver, r.exited)
				e.stop(t)
				startEnvoy(t, v, envoyNode, r.addr)
			}
			if traffic := kept[name].traffic; traffic != nil {
				traffic(t, e)
			}
			r.asRecorded(t)
		})
	}
}

// A recording with a hole in its start-up, and one that begins after it: an
// Envoy is led through the rest, and what is missing is said.
func TestReplayWhatIsLeft(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, note string
		lost       func(e *session.Entry) bool
	}{
		{"gap", "were lost when it was recorded", func(e *session.Entry) bool { return e.Seq >= 8 && e.Seq <= 10 }},
		{"middle", "was not recorded from its beginning", func(e *session.Entry) bool {
			e.Carried = e.Seq <= 3
			return e.Seq > 3 && e.Seq <= 10
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			in, err := recorder.Open(filepath.Join(sessionsDir, "envoy-sotw.xdsp"))
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			file := filepath.Join(t.TempDir(), "rest.xdsp")
			out, err := recorder.Create(file, recorder.Options{NoTicks: true})
			if err != nil {
				t.Fatal(err)
			}
			for first := session.Seq(0); ; {
				e, err := in.Next(t.Context())
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				switch lost := test.lost(&e); {
				case lost && first == 0:
					first = e.Seq
				case !lost:
					if first > 0 && test.name == "gap" {
						out.Append(session.Entry{Kind: session.KindGap, Time: e.Time, Side: session.Proxy, Gap: &session.Gap{
							First: first, Last: e.Seq - 1, Entries: uint64(e.Seq - first), Streams: []session.StreamID{e.Stream},
						}})
					}
					first = 0
					out.Append(e)
				}
			}
			if err := out.Close(); err != nil {
				t.Fatal(err)
			}
			r := startReplay(t, file, "--as", "server", "--listen", freeAddr(t))
			startEnvoy(t, variants()[0], envoyNode, r.addr)
			report := r.asRecorded(t)
			if said := strings.Join(report.Notes, "\n"); !strings.Contains(said, test.note) {
				t.Errorf("no note says %q: %s", test.note, said)
			}
		})
	}
}
