package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// shadowEvent is a line of replay --follow -o json.
type shadowEvent struct {
	Event   string    `json:"event"`
	Time    time.Time `json:"time"`
	Text    string    `json:"text"`
	Type    string    `json:"type"`
	Name    string    `json:"name"`
	Client  string    `json:"client"`
	Streams int       `json:"streams"`
	Detail  string    `json:"detail"`
	Summary *struct {
		Streams, Clients, Answers, Compared, Settled, Noise, Skipped, Again int
		Fields                                                              []string `json:"noise_fields"`
		Differences                                                         []struct {
			Type, Name, Detail string
			Streams            int
			Stands             bool
		}
	} `json:"summary"`
}

// shadowing is a running replay --follow.
type shadowing struct {
	cmd            *exec.Cmd
	stdout, stderr *lines
	exited         chan struct{}
	err            error
}

func startShadow(t *testing.T, live string, args ...string) *shadowing {
	t.Helper()
	s := &shadowing{stdout: newLines(), stderr: newLines(), exited: make(chan struct{})}
	s.cmd = exec.Command(program(t), append([]string{"replay", live, "--follow", "-o", "json"}, args...)...)
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.Env = s.stdout, s.stderr, quietEnv(t)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.exited
		if t.Failed() {
			t.Logf("replay --follow:\n%s%s", s.stderr, s.stdout)
		}
	})
	return s
}

func (s *shadowing) events(t *testing.T) (out []shadowEvent) {
	t.Helper()
	text := s.stdout.String()
	for line := range strings.Lines(text[:strings.LastIndexByte(text, '\n')+1]) {
		var e shadowEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		out = append(out, e)
	}
	return out
}

// until waits for an event after so many others of its kind.
func (s *shadowing) until(t *testing.T, what string, others int) (found shadowEvent) {
	t.Helper()
	eventually(t, what, func() bool {
		n := 0
		for _, e := range s.events(t) {
			if e.Event == what {
				if n == others {
					found = e
					return true
				}
				n++
			}
		}
		return false
	})
	return found
}

func (s *shadowing) count(t *testing.T, what string) (n int) {
	t.Helper()
	for _, e := range s.events(t) {
		if e.Event == what {
			n++
		}
	}
	return n
}

// agrees waits until nothing differs that has not settled: the machine may be
// busy.
func (s *shadowing) agrees(t *testing.T) {
	t.Helper()
	eventually(t, "nothing differs", func() bool { return s.count(t, "difference") == s.count(t, "settled") })
}

// end interrupts it, and returns its exit code and last event.
func (s *shadowing) end(t *testing.T) (code int, last shadowEvent) {
	t.Helper()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.exited:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	if exit, is := errors.AsType[*exec.ExitError](s.err); is {
		code = exit.ExitCode()
	} else if s.err != nil {
		t.Fatal(s.err)
	}
	all := s.events(t)
	if len(all) == 0 || all[len(all)-1].Summary == nil {
		t.Fatalf("no summary at the end: %+v", all)
	}
	return code, all[len(all)-1]
}

// shadowWorld is live clients, the control plane that they have, and others.
type shadowWorld struct {
	live, other *xdstest.ControlPlane
	nodes       []string
	account     *xdstest.Account // of other
	clusters    int
	round       int
	proxy       *proxy
	leave       func() // all clients do
	alter       func(by *xdstest.ControlPlane, w *xdstest.World)
}

const shadowPer = 5 // clients of a variant, in tests that need no crowd

func shadowPlane(t *testing.T, o xdstest.Options) *xdstest.ControlPlane {
	t.Helper()
	o.Listen, o.OwnVersions = "127.0.0.1:0", true
	c, err := xdstest.StartControlPlane(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// newShadowWorld starts everything but the shadow: so many clients of each variant
// have what there is.
func newShadowWorld(t *testing.T, per int, live, other xdstest.Options, args ...string) *shadowWorld {
	t.Helper()
	w := &shadowWorld{account: xdstest.NewAccount(), clusters: 6}
	other.Account = w.account
	w.live, w.other = shadowPlane(t, live), shadowPlane(t, other)
	for i := range per {
		w.nodes = append(w.nodes, fmt.Sprintf("sotw-%d", i), fmt.Sprintf("delta-%d", i))
	}
	w.push(t, w.live, w.other)
	w.proxy = startProxyWith(t, w.live.Addr(), setup{args: args})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	w.leave = func() { cancel(); running.Wait() }
	t.Cleanup(w.leave)
	for _, node := range w.nodes {
		o := xdstest.ClientOptions{Dial: w.proxy.addr, Node: &corev3.Node{Id: node, Cluster: "shadowed"}}
		waiting, done := context.WithTimeout(t.Context(), patience)
		defer done()
		if strings.HasPrefix(node, "sotw") {
			c := xdstest.NewSotWClient(o)
			running.Go(func() { _ = c.Run(ctx) })
			if err := c.Wait(waiting, func(st xdstest.SotWState) bool {
				return st.Fresh[resource.EndpointType] || st.Rejected[resource.ClusterType] > 0
			}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		c := xdstest.NewDeltaClient(o)
		if err := errors.Join(c.Subscribe(resource.ClusterType), c.Subscribe(resource.EndpointType, w.names()...)); err != nil {
			t.Fatal(err)
		}
		running.Go(func() { _ = c.Run(ctx) })
		if err := c.Wait(waiting, func(st xdstest.DeltaState) bool { return len(st.Held[resource.EndpointType]) == w.clusters }); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *shadowWorld) names() (out []string) {
	for i := range w.clusters {
		out = append(out, fmt.Sprintf("cluster-%d", i))
	}
	return out
}

// push gives other endpoints to all clients of these control planes.
func (w *shadowWorld) push(t *testing.T, to ...*xdstest.ControlPlane) {
	t.Helper()
	w.round++
	for _, node := range w.nodes {
		for _, c := range to {
			var next xdstest.World
			for i, n := range w.names() {
				next.Clusters = append(next.Clusters, xdstest.Cluster(n, xdstest.ADS()))
				address := "10.0.0.1:80"
				if i == w.round%w.clusters {
					address = fmt.Sprintf("10.1.%d.%d:80", w.round>>8&255, w.round&255)
				}
				e, err := xdstest.Endpoints(n, address)
				if err != nil {
					t.Fatal(err)
				}
				next.Endpoints = append(next.Endpoints, e)
			}
			if w.alter != nil {
				w.alter(c, &next)
			}
			if err := c.Set(t.Context(), node, next); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// said is how many responses the other control plane has given, once all of them
// are answered.
func (w *shadowWorld) said(t *testing.T, least int) (n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.account.Wait(ctx, func(rs []xdstest.Record) bool {
		n = 0
		for _, r := range rs {
			if r.Kind == session.KindMessage && r.Side == session.Server {
				n++
			}
		}
		return n >= least && settled(rs)
	}); err != nil {
		t.Fatalf("the other control plane has said %d things, not %d, or they are not answered", n, least)
	}
	return n
}

// Two control planes that say the same, while both change all the time: no
// difference in a thousand answers.
func TestShadowSame(t *testing.T) {
	long := *minutes > 0
	if !long {
		t.Parallel()
	}
	w := newShadowWorld(t, 25, xdstest.Options{}, xdstest.Options{})
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr())
	s.until(t, "began", 0)
	said := w.said(t, 2*len(w.nodes))
	if long {
		for end := time.Now().Add(time.Duration(*minutes * float64(time.Minute))); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
			w.push(t, w.live, w.other)
		}
		time.Sleep(2 * time.Second)
	} else {
		for range 21 {
			w.push(t, w.live, w.other)
			said = w.said(t, said+len(w.nodes))
		}
	}
	time.Sleep(time.Second)
	s.agrees(t)
	code, last := s.end(t)
	sum := last.Summary
	t.Logf("%s", last.Text)
	if code != 0 || sum.Answers < 1000 || sum.Compared < 1000 || len(sum.Differences) > 0 || sum.Streams != len(w.nodes) || sum.Skipped+sum.Again > 0 {
		t.Errorf("exit code %d, %+v; want no difference in at least 1000 answers", code, sum)
	}
}

// One cluster that is another is the one that is named, once for all clients, and
// counts no more when the live server has it, too.
func TestShadowOneCluster(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, shadowPer, xdstest.Options{}, xdstest.Options{})
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr(), "--idle", "1m")
	s.until(t, "began", 0)
	w.said(t, 2*len(w.nodes))
	w.alter = func(by *xdstest.ControlPlane, next *xdstest.World) {
		if by == w.other {
			next.Clusters[3].ConnectTimeout = durationpb.New(7 * time.Second)
		}
	}
	changed := time.Now()
	w.push(t, w.live, w.other)
	e := s.until(t, "difference", 0)
	t.Logf("told %s after the change", e.Time.Sub(changed))
	if e.Type != "CDS" || e.Name != "cluster-3" || !strings.Contains(e.Detail, `connect_timeout: "7s" instead of `) {
		t.Errorf("%+v; want the timeout of cluster-3", e)
	}
	w.alter = func(_ *xdstest.ControlPlane, next *xdstest.World) {
		next.Clusters[3].ConnectTimeout = durationpb.New(7 * time.Second)
	}
	w.push(t, w.live, w.other)
	s.until(t, "settled", 0)
	w.alter = func(by *xdstest.ControlPlane, next *xdstest.World) {
		if by == w.other {
			next.Clusters = next.Clusters[:5]
		}
	}
	w.push(t, w.live, w.other)
	s.until(t, "difference", 1)
	time.Sleep(time.Second)
	eventually(t, "only one differs", func() bool { return s.count(t, "difference") == s.count(t, "settled")+1 })
	code, last := s.end(t)
	if d := last.Summary.Differences; code != 11 || len(d) != 1 || d[0].Type != "CDS" || d[0].Name != "cluster-5" || !d[0].Stands {
		t.Errorf("exit code %d, %+v; want 11 and cluster-5", code, d)
	}
}

// A control plane that is killed and comes back is told of, and asked for
// everything again.
func TestShadowRestart(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, shadowPer, xdstest.Options{}, xdstest.Options{})
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr())
	s.until(t, "began", 0)
	w.said(t, 2*len(w.nodes))
	w.other.Stop()
	s.until(t, "trouble", 0)
	w.push(t, w.live, w.other)
	if err := w.other.Start(); err != nil {
		t.Fatal(err)
	}
	s.until(t, "back", 0)
	said := w.said(t, 4*len(w.nodes))
	for range 3 {
		w.push(t, w.live, w.other)
		said = w.said(t, said+len(w.nodes))
	}
	s.agrees(t)
	before := s.count(t, "difference")
	w.alter = func(by *xdstest.ControlPlane, next *xdstest.World) {
		if by == w.other {
			next.Clusters[1].AltStatName = "another"
		}
	}
	w.push(t, w.live, w.other)
	if e := s.until(t, "difference", before); e.Name != "cluster-1" {
		t.Errorf("%+v; want cluster-1", e)
	}
	code, last := s.end(t)
	if sum := last.Summary; code != 11 || len(sum.Differences) != 1 || sum.Again < len(w.nodes) {
		t.Errorf("exit code %d, %+v; want one difference, and all streams asked again", code, sum)
	}
	if n := s.count(t, "trouble"); n > 2 {
		t.Errorf("the trouble is told %d times", n)
	}
}

// What a second instance of the present version says otherwise is noise, field by
// field; what the other version says besides is a difference.
func TestShadowNoise(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, 1, xdstest.Options{}, xdstest.Options{})
	second := shadowPlane(t, xdstest.Options{})
	w.alter = func(by *xdstest.ControlPlane, next *xdstest.World) {
		for i := range next.Clusters {
			stamp, err := structpb.NewStruct(map[string]any{"made": time.Now().Format(time.RFC3339Nano)})
			if err != nil {
				t.Error(err)
			}
			next.Clusters[i].Metadata = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"server": stamp}}
		}
		if by == w.other && w.round > 4 {
			next.Clusters[2].LbPolicy = clusterv3.Cluster_RANDOM
		}
	}
	w.push(t, w.live, w.other, second)
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr(), "--noise", second.Addr(), "--idle", "20s")
	s.until(t, "noise", 0)
	w.push(t, w.live, w.other, second)
	w.push(t, w.live, w.other, second)
	time.Sleep(time.Second)
	if n := s.count(t, "difference"); n > 0 {
		t.Errorf("%d differences before there was one", n)
	}
	w.push(t, w.live, w.other, second)
	e := s.until(t, "difference", 0)
	if e.Name != "cluster-2" || !strings.Contains(e.Detail, "lb_policy") || strings.Contains(e.Detail, "made") {
		t.Errorf("%+v; want the policy of cluster-2, and no more", e)
	}
	code, last := s.end(t)
	if sum := last.Summary; code != 11 || len(sum.Differences) != 1 || sum.Noise == 0 || len(sum.Fields) != 1 || !strings.HasPrefix(sum.Fields[0], "CDS metadata.") {
		t.Errorf("exit code %d, %+v; want one difference, and one field of noise", code, sum)
	}
}

// A rejection is repeated to the other control plane for the same content.
func TestShadowRejection(t *testing.T) {
	t.Parallel()
	bad := func(_ *xdstest.ControlPlane, next *xdstest.World) {
		next.Clusters[0] = xdstest.BrokenCluster("cluster-0", xdstest.ADS())
	}
	w := newShadowWorld(t, 1, xdstest.Options{ResendPause: time.Hour}, xdstest.Options{ResendPause: time.Hour})
	w.alter = bad
	w.push(t, w.live, w.other)
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.account.Wait(ctx, func(rs []xdstest.Record) bool {
		return slices.ContainsFunc(rs, func(r xdstest.Record) bool { return r.Error != "" && r.TypeURL == resource.ClusterType })
	}); err != nil {
		t.Errorf("the other control plane hears of no rejection")
	}
	if code, last := s.end(t); code != 0 || len(last.Summary.Differences) > 0 {
		t.Errorf("exit code %d, %+v; want no difference", code, last.Summary)
	}
}

// mute is a control plane that ends every stream so, or never, and says nothing.
func mute(t *testing.T, answer error) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, ss grpc.ServerStream) error {
		if answer == nil {
			<-ss.Context().Done()
		}
		return answer
	}))
	served := make(chan struct{})
	go func() { defer close(served); _ = g.Serve(l) }()
	t.Cleanup(func() { g.Stop(); <-served })
	return l.Addr().String()
}

// Of more streams than a slow control plane is asked at one time, those whose
// clients leave before their turn are skipped.
func TestShadowSkips(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, 40, xdstest.Options{}, xdstest.Options{})
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", mute(t, nil), "--idle", "1m")
	s.until(t, "behind", 0)
	w.leave()
	eventually(t, "streams are skipped", func() bool {
		return slices.ContainsFunc(s.events(t), func(e shadowEvent) bool { return strings.Contains(e.Text, "are skipped") })
	})
	time.Sleep(time.Second)
	if _, last := s.end(t); last.Summary.Skipped == 0 || last.Summary.Skipped > 16 || last.Summary.Streams != 80 {
		t.Errorf("%+v; want at most 16 of 80 streams skipped", last.Summary)
	}
}

// Another control plane that refuses, hangs, or speaks another variant is told of
// once, and live clients go on.
func TestShadowTrouble(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, 1, xdstest.Options{}, xdstest.Options{})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	hangs, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hangs.Close() })
	for _, c := range []struct {
		addr, want string
		args       []string
	}{
		{closed.Addr().String(), "connection refused", nil},
		{closed.Addr().String(), "connection refused", []string{"--upstream-authority", "through.a.proxy"}},
		{hangs.Addr().String(), "it hangs", nil},
		{mute(t, nil), "it hangs", nil},
		{mute(t, status.Error(codes.Unimplemented, "unknown method")), "it does not speak", nil},
	} {
		s := startShadow(t, w.proxy.file, append([]string{"--as", "client", "--target", c.addr, "--idle", "1s"}, c.args...)...)
		if e := s.until(t, "trouble", 0); !strings.Contains(e.Text, c.want) {
			t.Errorf("%+v; want %q", e, c.want)
		}
		w.push(t, w.live)
		time.Sleep(1500 * time.Millisecond)
		var texts []string
		for _, e := range s.events(t) {
			if e.Event == "trouble" {
				if slices.Contains(texts, e.Text) {
					t.Errorf("told twice: %s", e.Text)
				}
				texts = append(texts, e.Text)
			}
		}
		if code, last := s.end(t); code != 1 || last.Summary.Compared+len(last.Summary.Differences) > 0 {
			t.Errorf("exit code %d, %+v", code, last.Summary)
		}
	}
}

// A token that is masked in the recording comes from a file.
func TestShadowHeader(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, 1, xdstest.Options{}, xdstest.Options{Admit: func(md metadata.MD) error {
		if got := md.Get("authorization"); len(got) != 1 || got[0] != "Bearer of-the-second" {
			return status.Errorf(codes.Unauthenticated, "authorization is %q", got)
		}
		return nil
	}})
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr())
	if e := s.until(t, "trouble", 0); !strings.Contains(e.Text, "Unauthenticated") {
		t.Errorf("%+v; want Unauthenticated", e)
	}
	s.end(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("Bearer of-the-second\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr(), "--header-from-file", "authorization="+token)
	s.until(t, "began", 0)
	w.said(t, 2*len(w.nodes))
	time.Sleep(time.Second)
	if code, last := s.end(t); code != 0 || len(last.Summary.Differences) > 0 {
		t.Errorf("exit code %d, %+v; want no difference", code, last.Summary)
	}
}

// A secret that is masked in the recording is none that the other control plane
// lacks, and is not shown.
func TestShadowSecret(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, 1, xdstest.Options{}, xdstest.Options{})
	w.alter = func(by *xdstest.ControlPlane, next *xdstest.World) {
		c, err := xdstest.TLSCluster("cluster-5", "s", xdstest.ADS())
		if err != nil {
			t.Error(err)
		}
		if by == w.other && w.round > 2 {
			c.AltStatName = "another"
		}
		next.Clusters[5] = c
		next.Secrets = append(next.Secrets, xdstest.FakeSecret("s", 1))
	}
	w.push(t, w.live, w.other)
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.account.Wait(ctx, func(rs []xdstest.Record) bool {
		return settled(rs) && slices.ContainsFunc(rs, func(r xdstest.Record) bool { return r.TypeURL == resource.SecretType && r.Side == session.Server })
	}); err != nil {
		t.Fatal("the other control plane is not asked for the secret")
	}
	w.push(t, w.live, w.other)
	if e := s.until(t, "difference", 0); e.Name != "cluster-5" || !strings.Contains(e.Detail, "alt_stat_name") {
		t.Errorf("%+v; want cluster-5", e)
	}
	time.Sleep(time.Second)
	code, last := s.end(t)
	if code != 11 || len(last.Summary.Differences) != 1 {
		t.Errorf("exit code %d, %+v; want cluster-5 alone", code, last.Summary)
	}
	key := string(xdstest.FakeSecret("s", 1).GetTlsCertificate().GetPrivateKey().GetInlineString())
	if key == "" || strings.Contains(s.stdout.String(), strings.TrimSpace(strings.Split(key, "\n")[1])) {
		t.Error("the key is shown")
	}
}

// Of a recording of which only the newest segments are left the shadow begins
// where it is known who asks for what: in the state of the world with the next
// answer, in delta with the next stream.
func TestShadowSegments(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, 2, xdstest.Options{}, xdstest.Options{}, "--max-age", "1s", "--keep", "1")
	begun := func() bool {
		files, _ := filepath.Glob(filepath.Join(filepath.Dir(w.proxy.file), "*"))
		return len(files) < 2 || strings.HasSuffix(files[0], "session.000001.xdsp")
	}
	eventually(t, "the first segment is deleted", func() bool {
		w.push(t, w.live, w.other)
		time.Sleep(200 * time.Millisecond)
		return !begun()
	})
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr())
	s.until(t, "began", 0)
	for range 20 {
		w.push(t, w.live, w.other)
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(time.Second)
	code, last := s.end(t)
	if sum := last.Summary; code != 0 || len(sum.Differences) > 0 || sum.Compared < 2 {
		t.Errorf("exit code %d, %+v; want no difference for the clients of the state of the world", code, sum)
	}
	unknown := 0
	for _, e := range s.events(t) {
		if strings.Contains(e.Text, "not asked before it is known again") {
			unknown++
		}
	}
	if unknown < 2 {
		t.Errorf("%d times it is said that it is not known what a client wants; want it for both that ask by delta", unknown)
	}
}

// One that is slow is said to be behind, and has no difference for it.
func TestShadowBehind(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, 1, xdstest.Options{}, xdstest.Options{Admit: func(metadata.MD) error {
		time.Sleep(2500 * time.Millisecond)
		return nil
	}})
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr(), "--idle", "1m")
	s.until(t, "behind", 0)
	s.until(t, "caught-up", 0)
	w.said(t, 2*len(w.nodes))
	s.agrees(t)
	if code, last := s.end(t); code != 0 || len(last.Summary.Differences)+last.Summary.Skipped > 0 || last.Summary.Compared == 0 {
		t.Errorf("exit code %d, %+v; want no difference", code, last.Summary)
	}
}

// A real Envoy gets every push of a live server as it comes, and what only it
// rejects is told.
func TestFollowToEnvoy(t *testing.T) {
	for _, v := range variants()[:2] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			w := newShadowWorld(t, 1, xdstest.Options{}, xdstest.Options{})
			s := startShadow(t, w.proxy.file, "--as", "server", "--listen", "127.0.0.1:0")
			addr := s.stderr.find(t, playing, s.exited)[1]
			e, admin := launchEnvoy(t, v, v.name+"-0", addr)
			if v.name == "sotw" { // whose live client asks for listeners, too
				e.await(t, admin)
			}
			eventually(t, "Envoy is welcome", func() bool {
				return slices.ContainsFunc(s.events(t), func(e shadowEvent) bool { return strings.Contains(e.Text, "is given what") })
			})
			w.push(t, w.live)
			w.alter = func(_ *xdstest.ControlPlane, next *xdstest.World) {
				next.Clusters[4].ClusterDiscoveryType = &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{Name: "no.such.type"}}
			}
			w.push(t, w.live)
			d := s.until(t, "difference", 0)
			if d.Type != "CDS" || !strings.Contains(d.Text, "NACK, where the recorded client gave ACK") || !strings.Contains(d.Detail, "no.such.type") {
				t.Errorf("%+v; want the rejection of no.such.type", d)
			}
			code, last := s.end(t)
			t.Logf("%s", last.Text)
			if sum := last.Summary; code != 11 || len(sum.Differences) != 1 || sum.Compared < 3 {
				t.Errorf("exit code %d, %+v; want one difference, and other answers as recorded", code, sum)
			}
			e.stop(t)
		})
	}
}

// What a real Envoy asks, in each variant, is asked of another control plane as
// the running proxy sees it, what Envoy rejects is rejected there, too, and the
// two say the same.
func TestShadowOfEnvoy(t *testing.T) {
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			tool(t, "envoy", "envoy", "_bin", "envoy")
			node := "envoy-" + v.name
			live, other := startControlPlane(t, node), startControlPlane(t, node)
			viewer := "unix:" + filepath.Join(t.TempDir(), "v.sock")
			p := startProxyWith(t, live.Addr(), setup{args: []string{"--viewer", viewer}})
			s := startShadow(t, viewer, "--as", "client", "--target", other.Addr())
			s.until(t, "began", 0)
			set := func(route string, more ...*clusterv3.Cluster) {
				l, err := xdstest.Listener("ingress", "127.0.0.1:0", "routes", v.source)
				if err != nil {
					t.Fatal(err)
				}
				e, err := xdstest.Endpoints("web", "127.0.0.1:9")
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range []*controlPlane{live, other} {
					c.set(t, xdstest.World{
						Clusters:  append([]*clusterv3.Cluster{xdstest.Cluster("web", v.source)}, more...),
						Endpoints: []*endpointv3.ClusterLoadAssignment{e},
						Listeners: []*listenerv3.Listener{l},
						Routes:    []*routev3.RouteConfiguration{xdstest.DirectRoute("routes", route)},
					})
				}
			}
			set("one")
			e := startEnvoy(t, v, node, p.addr)
			answers := func(want string) {
				eventually(t, "the answer "+want, func() bool {
					body, err := get(e.url(t, "ingress"))
					return err == nil && body == want
				})
			}
			answers("one")
			set("two")
			answers("two")
			set("three", xdstest.BrokenCluster("broken", v.source))
			if was, is := live.nack(t), other.nack(t); is.Error != was.Error || is.TypeURL != was.TypeURL {
				t.Errorf("the other control plane hears %q, not %q", is.Error, was.Error)
			}
			set("four")
			answers("four")
			other.settle(t)
			time.Sleep(time.Second)
			s.agrees(t)
			code, last := s.end(t)
			t.Logf("%s", last.Text)
			if sum := last.Summary; code != 0 || len(sum.Differences) > 0 || sum.Compared < 4 || sum.Skipped+sum.Again > 0 {
				t.Errorf("exit code %d, %+v; want no difference", code, sum)
			}
			e.stop(t)
		})
	}
}
