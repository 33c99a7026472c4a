package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	controlName  = "control.example"
	controlToken = "a-token-of-some-length"
)

// tokenFile is a file that holds a token.
func tokenFile(t *testing.T, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// rewriteTo are the flags that make requests fit for a server behind
// controlName that demands the token.
func rewriteTo(file string) setup {
	return setup{args: []string{"--upstream-authority", controlName, "--header-from-file", "authorization=" + file, "--header", "x-team=blue"}}
}

// demand admits who has a token, and came for controlName.
func demand(token string) func(metadata.MD) error {
	return func(md metadata.MD) error {
		if got := md.Get("authorization"); !slices.Equal(got, []string{"Bearer " + token}) {
			return status.Errorf(codes.Unauthenticated, "%d authorizations", len(got))
		}
		if got := md.Get(":authority"); !slices.Equal(got, []string{controlName}) {
			return status.Errorf(codes.NotFound, "for %q", got)
		}
		return nil
	}
}

// rewritten requires that what a recording has of its requests was rewritten,
// and returns how many there are.
func rewritten(t *testing.T, entries []session.Entry) (n int) {
	t.Helper()
	for _, e := range entries {
		if e.Note != nil {
			t.Errorf("note %s: %s", e.Note.Code, e.Note.Text)
		}
		if e.Kind != session.KindOpen {
			continue
		}
		n++
		if session.Get(e.Headers, "x-team") != "" || session.Get(e.Headers, ":authority") == controlName {
			t.Errorf("entry %d: the client sent %v", e.Seq, e.Headers)
		}
		if session.Get(e.Sent, "x-team") != "blue" || session.Get(e.Sent, ":authority") != controlName || !strings.HasPrefix(session.Get(e.Sent, "authorization"), "Bearer [masked:") {
			t.Errorf("entry %d: the server got %v", e.Seq, e.Sent)
		}
	}
	return n
}

// echo sends back what each request holds, on streams that demand a token.
type echo struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	mu    sync.Mutex
	token string
	seen  []metadata.MD
}

func (s *echo) StreamAggregatedResources(st discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	md, _ := metadata.FromIncomingContext(st.Context())
	s.mu.Lock()
	s.seen = append(s.seen, md)
	err := demand(s.token)(md)
	s.mu.Unlock()
	for err == nil {
		var req *discovery.DiscoveryRequest
		if req, err = st.Recv(); err == nil {
			err = st.Send(&discovery.DiscoveryResponse{
				VersionInfo: "1", Nonce: req.GetVersionInfo(), TypeUrl: req.GetTypeUrl(),
				ControlPlane: &corev3.ControlPlane{Identifier: req.GetNode().GetUserAgentName()},
			})
		}
	}
	return err
}

// Many streams of grpc-go at once, with metadata that takes several frames and
// repeats itself, and with messages both ways. The token changes on the way.
func TestRewriteGRPC(t *testing.T) {
	t.Parallel()
	server, gs := &echo{token: "first-token-long-enough-hunter2"}, grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(gs, server)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = gs.Serve(l) }()
	t.Cleanup(gs.Stop)
	file := tokenFile(t, server.token)
	p := startProxyWith(t, l.Addr().String(), rewriteTo(file))

	talk := func(conn *grpc.ClientConn, i int) error {
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		ctx = metadata.AppendToOutgoingContext(ctx, "x-stream", fmt.Sprint(i), "x-same", "same", "x-team", "red", "x-team", "green",
			"x-large", strings.Repeat(fmt.Sprint(i), 4000+rng.IntN(8000)), "raw-bin", string([]byte{0, 1, byte(i)}), "authorization", "Basic mine")
		stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
		if err != nil {
			return err
		}
		for k := range 10 {
			text := strings.Repeat("n", rng.IntN(100_000))
			if err := stream.Send(&discovery.DiscoveryRequest{VersionInfo: fmt.Sprint(k), TypeUrl: resource.ClusterType, Node: &corev3.Node{Id: "n", UserAgentName: text}}); err != nil {
				return err
			}
			resp, err := stream.Recv()
			if err != nil {
				return err
			}
			if resp.GetNonce() != fmt.Sprint(k) || resp.GetControlPlane().GetIdentifier() != text {
				return fmt.Errorf("stream %d: answer %s to %d", i, resp.GetNonce(), k)
			}
		}
		return stream.CloseSend()
	}
	round := func(first int) {
		t.Helper()
		var all sync.WaitGroup
		for c := range 3 {
			conn, err := grpc.NewClient("passthrough:///"+p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			for i := range 20 {
				all.Go(func() {
					if err := talk(conn, first+20*c+i); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
	}
	round(100)
	server.mu.Lock()
	server.token = "second-token-long-enough-hunter2"
	server.mu.Unlock()
	if err := os.WriteFile(file, []byte("second-token-long-enough-hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	round(200)

	ids := map[string]bool{}
	for _, md := range server.seen {
		id := md.Get("x-stream")[0]
		ids[id] = true
		if !slices.Equal(md.Get("x-team"), []string{"blue"}) || md.Get("x-same")[0] != "same" || !strings.HasPrefix(md.Get("x-large")[0], id+id) || len(md.Get("raw-bin")[0]) != 3 {
			t.Errorf("stream %s came with %.300v", id, md)
		}
	}
	if len(ids) != 120 || len(server.seen) != 120 {
		t.Errorf("%d streams of %d came", len(server.seen), len(ids))
	}
	p.stop(t)
	var opens []session.Entry
	for _, e := range p.entries(t) {
		if e.Kind == session.KindOpen {
			opens = append(opens, e)
		}
	}
	if len(opens) != 120 {
		t.Errorf("%d streams are recorded", len(opens))
	}
	masks := map[string]int{}
	for _, e := range opens {
		masks[session.Get(e.Sent, "authorization")]++
		if session.Get(e.Sent, ":authority") != controlName || session.Get(e.Headers, ":authority") == controlName || session.Get(e.Headers, "x-team") != "red" || session.Get(e.Sent, "x-team") != "blue" {
			t.Fatalf("recorded as sent: %.300v", e.Sent)
		}
	}
	if len(masks) != 2 {
		t.Errorf("two tokens have the masks %v", masks)
	}
	shown := string(p.run(t, "show", p.file, fmt.Sprint(opens[0].Seq)))
	for _, want := range []string{"sent:\n", "value: " + controlName, "value: blue", "value: red", "Bearer [masked:"} {
		if !strings.Contains(shown, want) {
			t.Errorf("show does not say %q:\n%s", want, shown)
		}
	}
	if object := p.show(t, uint64(opens[0].Seq)); !strings.Contains(object, `"sent":`) {
		t.Errorf("show -o json has no member sent: %.500s", object)
	}
	for place, text := range map[string][]byte{"the recording": decompressed(t, contents(t, p.file)), "show": []byte(shown), "the log": []byte(p.stderr.String())} {
		if bytes.Contains(text, []byte("hunter2")) {
			t.Errorf("%s holds a token", place)
		}
	}
}

// What headers are set to from files is nowhere to be found, whatever their
// names are.
func TestRewriteKeepsSecrets(t *testing.T) {
	t.Parallel()
	seeded := &seeds{}
	upstream := seeded.serve(t)
	token, odd, key := tokenFile(t, seeded.secret("file")), tokenFile(t, seeded.secret("odd")), tokenFile(t, seeded.secret("key"))
	p := startProxyWith(t, upstream, setup{args: []string{
		"--header-from-file", "authorization=" + token, "--header-from-file", "x-odd=" + odd, "--header-from-file", "x-api-key=" + key,
	}})
	for i := range 3 {
		if err := seeded.asks().converse(t.Context(), p.addr); err != nil {
			t.Fatal(err)
		}
		text := seeded.secret("changed") + "\n"
		if i == 1 {
			text = seeded.secret("broken") + "\x00" // tells of itself in the log
		}
		if err := os.WriteFile(odd, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.stop(t)
	seeded.search(t, p)
	if !strings.Contains(p.stderr.String(), "x-odd") {
		t.Error("the broken file is not told of")
	}
	for _, e := range p.entries(t) {
		if e.Kind == session.KindOpen && !strings.HasPrefix(session.Get(e.Sent, "x-odd"), "[mask") {
			t.Errorf("x-odd is recorded as %q", session.Get(e.Sent, "x-odd"))
		}
	}
}

// A real Envoy, through a whole story, in front of a control plane that demands
// what Envoy does not have.
func TestRewriteEnvoy(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			tool(t, "envoy", "envoy", "_bin", "envoy")
			c := startControlPlaneAs(t, "rewrite-"+v.name, xdstest.Options{Admit: demand(controlToken)})
			p := startProxyWith(t, c.Addr(), rewriteTo(tokenFile(t, controlToken)))
			end := comesBack
			if !v.ads() { // what is said on one stream may not have been heard when another is at rest
				end = drains
			}
			envoyStory(t, v, c, p.addr, end)
			p.stop(t)
			compare(t, c.account, p)
			var opens []session.Entry
			for _, e := range p.entries(t) {
				if e.Kind == session.KindOpen {
					opens = append(opens, e)
				}
			}
			if n := rewritten(t, opens); n == 0 {
				t.Error("no stream is recorded")
			}
		})
	}
}

// behind leads an Envoy through a short story with a control plane behind
// something at upstream that chooses by :authority.
func behind(t *testing.T, c *controlPlane, upstream string) {
	t.Helper()
	v := variants()[0]
	world := func(answer string) xdstest.World {
		l := xdstest.Listener("ingress", "127.0.0.1:0", "routes", v.source)
		w := xdstest.World{}
		w.Listeners = append(w.Listeners, l)
		w.Routes = append(w.Routes, xdstest.DirectRoute("routes", answer))
		return w
	}
	c.set(t, world("one"))
	p := startProxyWith(t, upstream, rewriteTo(tokenFile(t, controlToken)))
	e := startEnvoy(t, v, c.node, p.addr)
	url := e.url(t, "ingress")
	for _, answer := range []string{"one", "two", "three"} {
		c.set(t, world(answer))
		eventually(t, "the answer "+answer, func() bool {
			body, err := get(url)
			return err == nil && body == answer
		})
	}
	e.stop(t)
	p.stop(t)
	var opens []session.Entry
	for _, e := range p.entries(t) {
		if e.Kind == session.KindOpen {
			opens = append(opens, e)
		}
	}
	if rewritten(t, opens) == 0 {
		t.Error("no stream is recorded")
	}
}

// Envoy as the server: what does not ask for controlName, with the token, never
// reaches the control plane.
func TestRewriteBehindEnvoy(t *testing.T) {
	t.Parallel()
	path := tool(t, "envoy", "envoy", "_bin", "envoy")
	c := startControlPlaneAs(t, "behind-envoy", xdstest.Options{Admit: demand(controlToken)})
	host, port, err := net.SplitHostPort(c.Addr())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	front := filepath.Join(dir, "front.sock")
	at := xdsClusterAt("STATIC", socket(host, json.Number(port)))
	bootstrap, err := json.Marshal(object{"static_resources": object{
		"clusters": []object{at},
		"listeners": []object{{
			"name": "front", "address": object{"pipe": object{"path": front}},
			"filter_chains": []object{{"filters": []object{{"name": "hcm", "typed_config": object{
				"@type":       "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
				"stat_prefix": "front", "codec_type": "HTTP2", "stream_idle_timeout": "0s",
				"http_filters": []object{{"name": "envoy.filters.http.router", "typed_config": object{"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}},
				"route_config": object{"virtual_hosts": []object{{
					"name": "control", "domains": []string{controlName},
					"routes": []object{{
						"match": object{"prefix": "/", "headers": []object{{"name": "authorization", "string_match": object{"exact": "Bearer " + controlToken}}}},
						"route": object{"cluster": xdsCluster, "timeout": "0s"},
					}},
				}}},
			}}}}},
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "front.json")
	if err := os.WriteFile(config, bootstrap, 0o600); err != nil {
		t.Fatal(err)
	}
	startServer(t, front, exec.Command(path, "--config-path", config, "--concurrency", "1", "--use-dynamic-base-id", "--disable-hot-restart", "--log-level", "warning"))
	behind(t, c, "unix:"+front)
}

// nginx as the server.
func TestRewriteBehindNginx(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx"
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("nginx is not installed")
	}
	c := startControlPlaneAs(t, "behind-nginx", xdstest.Options{Admit: demand(controlToken)})
	dir := t.TempDir()
	front := filepath.Join(dir, "front.sock")
	config := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log stderr;
events {}
http {
  access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  server { listen unix:%[2]s http2 default_server; return 404; }
  server {
    listen unix:%[2]s http2; server_name %[3]s; client_max_body_size 0;
    location / { grpc_pass grpc://%[4]s; grpc_set_header Host $host; grpc_read_timeout 1h; }
  }
}
`, dir, front, controlName, c.Addr())
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	startServer(t, front, exec.Command(path, "-c", file, "-p", dir, "-e", "stderr"))
	behind(t, c, "unix:"+front)
}

// startServer starts a program that listens on a unix socket.
func startServer(t *testing.T, at string, cmd *exec.Cmd) {
	t.Helper()
	output := newLines()
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		if t.Failed() {
			t.Logf("output of %s:\n%s", cmd.Path, output)
		}
	})
	eventually(t, "it listens", func() bool {
		conn, err := net.Dial("unix", at)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}
