package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/minio/minio-go/v7"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/internal/objects/s3test"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// onDemand answers each request with a push that nothing can compress.
type onDemand struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	size int
}

func (o onDemand) StreamAggregatedResources(s discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	for n := 1; ; n++ {
		if _, err := s.Recv(); err != nil {
			return nil
		}
		noise := make([]byte, o.size)
		_, _ = rand.Read(noise)
		err := s.Send(&discovery.DiscoveryResponse{
			TypeUrl: resource.ClusterType, VersionInfo: strconv.Itoa(n), Nonce: strconv.Itoa(n),
			Resources: []*anypb.Any{{TypeUrl: resource.ClusterType, Value: append([]byte{0x0a, 1, 'c', 0xfa, 0x7f, 0x80, 0x40}, noise[:min(len(noise), 8192)]...)}},
		})
		if err != nil {
			return nil
		}
	}
}

func serveOnDemand(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(server, onDemand{size: 8192})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() { server.Stop(); <-served })
	return l.Addr().String()
}

// converse has a client take pushes until so many segments of the recording have
// ended.
func (p *proxy) converse(t *testing.T, segments int) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	req := &discovery.DiscoveryRequest{Node: &corev3.Node{Id: "gw-0"}, TypeUrl: resource.ClusterType}
	for {
		if err := stream.Send(req); err != nil {
			t.Fatal(err)
		}
		resp, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		req = &discovery.DiscoveryRequest{TypeUrl: resource.ClusterType, VersionInfo: resp.VersionInfo, ResponseNonce: resp.Nonce}
		if older, _ := filepath.Glob(strings.TrimSuffix(p.file, ".xdsp") + ".??????.xdsp"); len(older) >= segments {
			return
		}
		time.Sleep(10 * time.Millisecond) // the recorder gathers for 50
	}
}

// trouble is between a proxy and its archive.
type archiveTrouble struct {
	mu       sync.Mutex
	rng      *mrand.Rand
	off      atomic.Bool
	stalled  atomic.Bool
	release  chan struct{}
	trailers bool // are refused
	counts   map[string]int
}

func (f *archiveTrouble) hook(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	note := func(what string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.counts[what]++
	}
	if f.trailers && (r.Header.Get("X-Amz-Trailer") != "" || strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-")) {
		note("trailers refused")
		_, _ = io.Copy(io.Discard, r.Body)
		s3test.Refuse(w, http.StatusNotImplemented, "NotImplemented")
		return
	}
	if f.off.Load() {
		forward.ServeHTTP(w, r)
		return
	}
	if f.stalled.Load() {
		note("stalled")
		select {
		case <-f.release:
		case <-r.Context().Done():
		}
		s3test.Drop(w)
		return
	}
	f.mu.Lock()
	dice, some := f.rng.IntN(100), f.rng.Int64N(9000)
	f.mu.Unlock()
	put := r.Method == http.MethodPut
	switch {
	case put && dice < 8:
		note("dropped mid body")
		s3test.DropAfter(w, r, some)
	case put && dice < 16:
		note("answer lost")
		s3test.LoseAnswer(w, r, forward)
	case dice >= 16 && dice < 20:
		note("503")
		s3test.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
	case dice >= 20 && dice < 23:
		note("500")
		s3test.Refuse(w, http.StatusInternalServerError, "InternalError")
	case dice >= 23 && dice < 25:
		note("dropped")
		s3test.Drop(w)
	case r.Method == http.MethodGet && dice >= 25 && dice < 40:
		note("half an answer")
		s3test.HalfAnswer(w, r, forward)
	default:
		note("done")
		forward.ServeHTTP(w, r)
	}
}

var uploadedCount = regexp.MustCompile(`(?m)^xdsproxy_archive_(\w+) ([0-9.e+]+)$`)

// archiveMetrics are those of the archive, by what is behind xdsproxy_archive_.
func archiveMetrics(t *testing.T, p *proxy) map[string]float64 {
	t.Helper()
	at := p.stderr.find(t, regexp.MustCompile(`health and metrics on (http://\S+)`), p.exited)[1]
	resp, err := http.Get(at + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]float64)
	for _, m := range uploadedCount.FindAllStringSubmatch(string(text), -1) {
		out[m[1]], _ = strconv.ParseFloat(m[2], 64)
	}
	return out
}

// TestArchive uploads segments through a network that does all that networks do, and
// has the proxy killed meanwhile: each arrives once, byte for byte. Its variants run
// beside each other; each has a bucket, a network and an environment of its own.
func TestArchive(t *testing.T) {
	t.Parallel()
	servers := map[bool]*s3test.Server{false: s3test.StartApart(t, false), true: s3test.StartApart(t, true)}
	for _, c := range []archiveVariant{
		{name: "plain", kills: 3, segments: 25},
		{name: "TLS with trailers", secure: true, supported: true, kills: 3, segments: 25},
		{more: true, name: "plain with trailers", supported: true, kills: 1, segments: 8},
		{more: true, name: "TLS", secure: true, kills: 1, segments: 8},
		{name: "trailers refused", supported: true, refuses: true, kills: 1, segments: 8},
		{more: true, name: "trailers refused over TLS", secure: true, supported: true, refuses: true, kills: 1, segments: 8},
		{more: true, name: "trailers refused, and not asked for", refuses: true, kills: 1, segments: 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.more {
				onlyFull(t)
			}
			t.Parallel()
			c.run(t, servers[c.secure])
		})
	}
}

// archiveVariant is a way to an archive, and how often the proxy is killed on it.
type archiveVariant struct {
	name                       string
	secure, supported, refuses bool
	more                       bool // only in make full
	kills, segments            int
}

func (c archiveVariant) run(t *testing.T, srv *s3test.Server) {
	bucket := "fleet-" + strings.Trim(regexp.MustCompile(`[^a-z]+`).ReplaceAllString(strings.ToLower(c.name), "-"), "-")
	if err := srv.MakeBucket(bucket); err != nil {
		t.Fatal(err)
	}
	between := srv.Stand()
	calculation := "when_required"
	if c.supported {
		calculation = "when_supported"
	}
	env := append(s3test.Environment(t, between.URL, between.CA), "AWS_REQUEST_CHECKSUM_CALCULATION="+calculation)
	bad := &archiveTrouble{rng: mrand.New(mrand.NewPCG(7, 7)), release: make(chan struct{}), trailers: c.refuses, counts: make(map[string]int)}
	t.Cleanup(func() { close(bad.release) })
	between.Set(bad.hook)
	upstream, dir := serveOnDemand(t), t.TempDir()
	start := func(n int) *proxy {
		return startProxyWith(t, upstream, setup{
			file: filepath.Join(dir, fmt.Sprintf("run%d.xdsp", n)), env: env,
			args: []string{"--max-size", "8KiB", "--archive", "s3://" + bucket + "/archive", "--archive-cluster", "west", "--archive-name", "gw-0", "--admin", "127.0.0.1:0"},
		})
	}
	for n := range c.kills {
		bad.stalled.Store(n == 1) // for all of a run
		p := start(n)
		p.converse(t, c.segments)
		p.kill()
	}
	bad.stalled.Store(false)
	p := start(c.kills)
	p.converse(t, c.segments)
	for m, end := archiveMetrics(t, p), time.Now().Add(2*patience); m["pending_segments"] != 0 || m["uploaded_segments_total"] < float64(c.segments); m = archiveMetrics(t, p) {
		if time.Now().After(end) {
			t.Fatalf("the archive does not get all: %v, %v", m, bad.counts)
		}
		time.Sleep(100 * time.Millisecond)
	}
	bad.off.Store(true)
	p.stop(t)
	arrivedOnce(t, srv, bucket, dir, c.kills+1, (c.kills+1)*c.segments)
	if left, _ := filepath.Glob(filepath.Join(dir, "*.archive*")); len(left) != 0 {
		t.Errorf("%q are left", left)
	}
	bad.mu.Lock()
	defer bad.mu.Unlock()
	t.Logf("%v", bad.counts)
	for _, what := range []string{"dropped mid body", "answer lost", "503"} {
		if c.kills == 3 && bad.counts[what] == 0 {
			t.Errorf("never %s", what)
		}
	}
	if c.kills == 3 && bad.counts["stalled"] == 0 {
		t.Error("never stalled")
	}
	if (bad.counts["trailers refused"] > 0) != (c.refuses && c.supported) {
		t.Errorf("%d requests with trailers", bad.counts["trailers refused"])
	}
	word := strings.Count(p.stderr.String(), "refuses checksums behind the body")
	if want := map[bool]int{true: 1}[c.refuses && c.supported]; word != want {
		t.Errorf("it was said %d times that trailers are refused", word)
	}
}

// arrivedOnce holds what the store has, as another client is told, against what is on
// disk.
func arrivedOnce(t *testing.T, srv *s3test.Server, bucket, dir string, recordings, least int) {
	t.Helper()
	s := srv.Client()
	byContent := make(map[string]string)
	names := make(map[string]bool)
	shape := regexp.MustCompile(`^archive/cluster=west/date=\d{4}-\d\d-\d\d/proxy=gw-0/(\d{8}T\d{6}Z-[a-z0-9]{12})\.\d{6}\.xdsp$`)
	n := 0
	for o := range s.ListObjectsIter(t.Context(), bucket, minio.ListObjectsOptions{Recursive: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		m := shape.FindStringSubmatch(o.Key)
		if m == nil {
			t.Fatalf("a key %s", o.Key)
		}
		names[m[1]] = true
		c, _, _, err := s.GetObject(t.Context(), bucket, o.Key, minio.GetObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(c)
		_ = c.Close()
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := byContent[string(text)]; twice {
			t.Errorf("%s is %s once more", o.Key, other)
		}
		byContent[string(text)] = o.Key
		n++
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.xdsp"))
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, file := range files {
		f, err := recorder.InspectFile(file)
		var damage *recorder.DamageError
		if err != nil && !errors.As(err, &damage) {
			t.Fatal(err)
		}
		if f.Facts.Entries == 0 {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if byContent[string(text)] == "" {
			t.Errorf("%s is not there, byte for byte", file)
			continue
		}
		whole++
	}
	// A kill can leave the newest segment with two names.
	if whole < n || n < least || len(names) != recordings {
		t.Errorf("%d objects of %d recordings, and %d files; at least %d of %d should be there", n, len(names), whole, least, recordings)
	}
	t.Logf("%d segments of %d recordings", n, len(names))
}

// TestArchiveSaysSo is what people are told: where it goes, what is wrong, what is
// left, and that the next run has it.
func TestArchiveSaysSo(t *testing.T) {
	srv := s3test.Start(t, false)
	upstream, dir := serveOnDemand(t), t.TempDir()
	run := func(n int, url string, more ...string) *proxy {
		return startProxyWith(t, upstream, setup{file: filepath.Join(dir, fmt.Sprintf("run%d.xdsp", n)), args: append([]string{"--max-size", "8KiB", "--archive", url, "--archive-name", "gw-0"}, more...)})
	}
	// The bucket comes only later.
	p := run(0, "s3://later/x/")
	p.converse(t, 3)
	p.stderr.find(t, regexp.MustCompile(`archive: .*the bucket later does not exist.*create the bucket`), p.exited)
	p.stop(t)
	for _, want := range []string{
		"each finished segment is uploaded to s3://later/x/cluster=default/date=DATE/proxy=gw-0/",
		"could not be uploaded and stay on disk; the next run with the same --archive that records into the same directory uploads them",
	} {
		if strings.Count(p.stderr.String(), want) != 1 {
			t.Errorf("%q is not said once:\n%s", want, p.stderr)
		}
	}
	if n := strings.Count(p.stderr.String(), "does not exist"); n != 1 {
		t.Errorf("said %d times:\n%s", n, p.stderr)
	}
	if err := srv.MakeBucket("later"); err != nil {
		t.Fatal(err)
	}
	p = run(1, "s3://later/x/")
	p.converse(t, 1)
	p.stop(t)
	p.stderr.find(t, regexp.MustCompile(`uploaded [5-9] segments, .*, to s3://later/x/`), p.exited)
	if text := p.stderr.String(); strings.Contains(text, "archive:") {
		t.Errorf("a word too many:\n%s", text)
	}

	// An archive in a directory.
	store := t.TempDir()
	p = run(2, "file://"+store+"/fleet")
	p.converse(t, 2)
	p.stop(t)
	found := 0
	_ = filepath.Walk(store, func(path string, info os.FileInfo, err error) error {
		if err == nil && strings.HasSuffix(path, ".xdsp") {
			found++
			text, _ := os.ReadFile(path)
			if !bytes.Contains(text[:64], []byte("xdsp")) {
				t.Errorf("%s is no recording", path)
			}
		}
		return nil
	})
	if found < 2 {
		t.Errorf("%d files", found)
	}
}
