package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// holder is a management server for REST that answers a poll which has what there
// is when something has changed, or with 304 after a while. What it says depends on
// nothing but what it is asked: who has nothing gets version 1, who has that of the
// endpoints gets version 2 later.
type holder struct {
	*httptest.Server
	source *corev3.ConfigSource // by which the clients ask for more
	quick  *corev3.ConfigSource // the same, of those that give up soon

	mu      sync.Mutex
	polls   map[string]int // by path and version
	gaveUp  map[string]int // polls whose client did not wait for the answer, by path
	refuses []int          // the statuses of the next polls for listeners
}

// hold is how long a poll for endpoints is held, less than its client waits, and one
// for routes, which is more.
const hold = time.Second

func startHolder(t *testing.T) *holder {
	t.Helper()
	of := func(timeout time.Duration) *corev3.ConfigSource {
		return &corev3.ConfigSource{
			ResourceApiVersion: corev3.ApiVersion_V3,
			ConfigSourceSpecifier: &corev3.ConfigSource_ApiConfigSource{ApiConfigSource: &corev3.ApiConfigSource{
				ApiType: corev3.ApiConfigSource_REST, TransportApiVersion: corev3.ApiVersion_V3, ClusterNames: []string{xdsCluster},
				RefreshDelay: durationpb.New(100 * time.Millisecond), RequestTimeout: durationpb.New(timeout),
			}},
		}
	}
	s := &holder{source: of(10 * hold), quick: of(hold / 2)}
	s.reset()
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *holder) addr() string { return s.Listener.Addr().String() }

// reset makes the server forget whom it has refused.
func (s *holder) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polls, s.gaveUp, s.refuses = map[string]int{}, map[string]int{}, []int{404, 500, 503}
}

// refuse lets polls for listeners have these statuses.
func (s *holder) refuse(statuses ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = statuses
}

func (s *holder) count(of func(*holder) map[string]int, key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return of(s)[key]
}

func polledFor(s *holder) map[string]int { return s.polls }
func givenUp(s *holder) map[string]int   { return s.gaveUp }

func (s *holder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var asked struct {
		Version string   `json:"version_info"`
		Names   []string `json:"resource_names"`
	}
	if err != nil || json.Unmarshal(body, &asked) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	typ := r.URL.Path[strings.LastIndexByte(r.URL.Path, ':')+1:]
	s.mu.Lock()
	s.polls[typ+" "+asked.Version]++
	status := 0
	if typ == "listeners" && len(s.refuses) > 0 {
		status, s.refuses = s.refuses[0], s.refuses[1:]
	}
	s.mu.Unlock()
	if status > 0 {
		http.Error(w, "not now", status)
		return
	}
	next, wait := "1", time.Duration(0)
	switch {
	case asked.Version == "":
	case typ == "endpoints" && asked.Version == "1":
		next, wait = "2", hold
	case typ == "routes":
		next, wait = "", 2*hold
	default:
		next, wait = "", hold
	}
	select {
	case <-time.After(wait):
	case <-r.Context().Done():
		s.mu.Lock()
		s.gaveUp[typ]++
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	if next == "" {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	out := s.content(typ, next)
	for len(out) > 0 && r.ProtoMajor == 1 { // in chunks
		n := min(100, len(out))
		_, _ = w.Write(out[:n])
		_ = http.NewResponseController(w).Flush()
		out = out[n:]
	}
	_, _ = w.Write(out)
}

// content is a response in JSON.
func (s *holder) content(typ, version string) []byte {
	var m proto.Message
	switch typ {
	case "clusters":
		m = xdstest.Cluster("web", s.source)
	case "endpoints":
		m = xdstest.Endpoints("web", "127.0.0.1:1100"+version)
	case "listeners":
		m = xdstest.Listener("ingress", "127.0.0.1:0", "routes", s.quick)
	case "routes":
		m = xdstest.DirectRoute("routes", "hello")
	}
	a, err := anypb.New(m)
	if err != nil {
		return nil
	}
	out, _ := protojson.MarshalOptions{UseProtoNames: true}.Marshal(&discovery.DiscoveryResponse{VersionInfo: version, TypeUrl: a.TypeUrl, Resources: []*anypb.Any{a}})
	return out
}

// Polls that are held, that are refused, and that nobody answers in time: each is
// paired with its answer, nothing of it is taken for a mistake or for a rejection,
// and a fresh Envoy does the same in a replay. So does the server.
func TestLongPolls(t *testing.T) {
	t.Parallel()
	for _, http1 := range []bool{true, false} {
		t.Run(map[bool]string{true: "HTTP/1.1", false: "HTTP/2"}[http1], func(t *testing.T) {
			t.Parallel()
			path := envoyPath(t)
			s := startHolder(t)
			file := filepath.Join(t.TempDir(), "envoy.json")
			var source object
			text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(s.source)
			if err != nil || json.Unmarshal(text, &source) != nil {
				t.Fatal(err)
			}
			bootstrap := envoyBootstrap(t, variant{dynamic: object{"cds_config": source, "lds_config": source}}, "held", s.addr())
			if http1 {
				for _, options := range bootstrap["static_resources"].(object)["clusters"].([]object)[0]["typed_extension_protocol_options"].(object) {
					options.(object)["explicit_http_config"] = object{"http_protocol_options": object{}}
				}
			}
			writeBootstrap(t, file, bootstrap)
			p, _ := startWrap(t, nil, "--bootstrap", file, "--", path, "-c", "{}", "--concurrency", "1",
				"--use-dynamic-base-id", "--disable-hot-restart", "--log-level", "off")
			eventually(t, "polls with the last versions, and some that were given up", func() bool {
				return s.count(polledFor, "endpoints 2") >= 2 && s.count(givenUp, "routes") >= 2 && s.count(polledFor, "listeners 1") >= 2
			})
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			p.ended(t)
			s.longPolls(t, p)

			if report := playedAlike(t, p.file, nil, path); report.Streams != 4 {
				t.Errorf("%+v", report)
			}
			s.reset()
			var report replayReport
			code, said := played(t, &report, nil, p.file, "--as", "client", "--target", s.addr())
			if code != 0 || report.Matched != report.Expected || report.Matched < 4 || report.Streams != 4 {
				t.Errorf("the same server: exit code %d, %+v\n%s", code, report, said)
			}
			s.refuse(slices.Repeat([]int{403}, 1000)...)
			code, said = played(t, &report, nil, p.file, "--as", "client", "--target", s.addr(), "--idle", "5s")
			if code != 11 || !strings.Contains(fmt.Sprint(report.Differences), "status 403") {
				t.Errorf("a server that refuses: exit code %d, %+v\n%s", code, report, said)
			}
		})
	}
}

// longPolls looks at what was recorded of the long polls of an Envoy.
func (s *holder) longPolls(t *testing.T, p *proxy) {
	t.Helper()
	asked := map[uint64]line{}
	for _, l := range p.watch(t) {
		switch {
		case l.Kind == "message" && l.Side == "client":
			asked[l.Stream] = l
		case l.Kind == "message" && l.What == "RESP" && l.Version != "":
			of := asked[l.Stream]
			want := map[string]string{"": "1", "1": "2"}[of.Version]
			if of.Type != l.Type || l.Version != want || len(l.Problems) > 0 {
				t.Errorf("%+v answers %+v", l, of)
			}
		}
		if len(l.Problems) > 0 {
			t.Errorf("%+v", l)
		}
		if l.What == "NACK" {
			t.Errorf("it is said that %+v rejects something", l)
		}
	}
	var status struct {
		Clients []struct {
			Client string
			Types  []struct{ Type, State string }
		}
	}
	if err := json.Unmarshal(p.run(t, "status", p.file, "-o", "json"), &status); err != nil {
		t.Fatal(err)
	}
	if len(status.Clients) != 1 || len(status.Clients[0].Types) != 4 {
		t.Fatalf("%+v", status)
	}
	for _, typ := range status.Clients[0].Types {
		if typ.State != "SYNCED" {
			t.Errorf("%+v", status)
		}
	}
	var found struct {
		Findings []struct{ Rule, Message string }
	}
	if err := json.Unmarshal(p.run(t, "check", p.file, "-o", "json", "--fail-on", "never"), &found); err != nil {
		t.Fatal(err)
	}
	for _, f := range found.Findings {
		t.Errorf("%+v", f)
	}
}

// The polls of an Envoy are played to a fresh one, which is told nothing but to begin.
func TestReplayPolls(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(sessionsDir + "/rest-*.xdsp")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d sessions, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".xdsp"), func(t *testing.T) {
			t.Parallel()
			playedAlike(t, file, nil, envoyPath(t))
		})
	}
}

// polledPaths are the paths of REST, by the type that they are for.
func polledPaths() map[string]string {
	return map[string]string{
		"CDS": "clusters", "EDS": "endpoints", "LDS": "listeners", "RDS": "routes", "SDS": "secrets", "RTDS": "runtime",
		"ECDS": "extension_configs", "SRDS": "scoped-routes",
	}
}

// All paths of both versions are read, in HTTP/1.1 and HTTP/2, however the reply
// is sent: in chunks, compressed, on a connection that is closed behind it.
func TestPollsOfAllForms(t *testing.T) {
	t.Parallel()
	const inner = `{"@type":"type.googleapis.com/google.protobuf.Struct","value":{"name":"one"}}`
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		reply := fmt.Sprintf(`{"version_info":"7","resources":[%s]}`, inner)
		if r.Header.Get("X-Close") != "" {
			w.Header().Set("Connection", "close")
		}
		out := io.Writer(w)
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			out = z
		}
		for len(reply) > 0 {
			n := min(20, len(reply))
			_, _ = io.WriteString(out, reply[:n])
			reply = reply[n:]
			_ = http.NewResponseController(w).Flush()
		}
	}))
	h.Config.Protocols = new(http.Protocols)
	h.Config.Protocols.SetHTTP1(true)
	h.Config.Protocols.SetUnencryptedHTTP2(true)
	h.Start()
	t.Cleanup(h.Close)
	p := startProxy(t, h.Listener.Addr().String())
	polls := 0
	for _, http1 := range []bool{true, false} {
		transport := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}
		transport.Protocols.SetHTTP1(http1)
		transport.Protocols.SetUnencryptedHTTP2(!http1)
		for _, version := range []string{"v2", "v3"} {
			for typ, path := range polledPaths() {
				if version == "v2" && typ == "ECDS" {
					continue
				}
				for i, header := range []string{"", "X-Close", "Accept-Encoding"} {
					body := fmt.Sprintf(`{"version_info":"%d","node":{"id":"n","cluster":"c"},"resource_names":["one"]}`, i)
					r, err := http.NewRequest(http.MethodPost, "http://"+p.addr+"/"+version+"/discovery:"+path, strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					r.Header.Set("Content-Type", "application/json")
					if header != "" {
						r.Header.Set(header, "gzip")
					}
					w, err := transport.RoundTrip(r)
					if err != nil {
						t.Fatal(err)
					}
					_, _ = io.Copy(io.Discard, w.Body)
					_ = w.Body.Close()
					polls++
				}
			}
		}
		transport.CloseIdleConnections()
	}
	p.stop(t)
	asked, answered := 0, 0
	for _, l := range p.watch(t) {
		if l.Kind != "message" {
			continue
		}
		path := l.Method[strings.LastIndexByte(l.Method, ':')+1:]
		if polledPaths()[l.Type] != path || l.Variant != "rest" || len(l.Problems) > 0 {
			t.Errorf("%+v", l)
		}
		switch {
		case l.Side == "client" && slices.Equal(l.Names, []string{"one"}):
			asked++
		case l.Side == "server" && l.Version == "7":
			answered++
		}
	}
	if asked != polls || answered != polls {
		t.Errorf("of %d polls, %d are read, and %d answers", polls, asked, answered)
	}
}

// Thirty thousand polls that bring nothing new are one line, one client, and no more
// memory than ten thousand.
func TestManyPolls(t *testing.T) {
	t.Parallel()
	const few, many = 10_000, 30_000
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"version_info":"1"`)) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, `{"version_info":"1","resources":[{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"c"}]}`)
	}))
	t.Cleanup(h.Close)
	p := startProxy(t, h.Listener.Addr().String())
	// Of its own: the end of any httptest server closes what http.DefaultClient keeps open.
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	poll := func(version string) {
		w, err := client.Post("http://"+p.addr+"/v3/discovery:clusters", "application/json",
			strings.NewReader(`{"version_info":"`+version+`","node":{"id":"n","cluster":"c"}}`))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, w.Body)
		_ = w.Body.Close()
	}
	poll("")
	early := int64(0)
	for i := range many {
		if poll("1"); i == few {
			early = resident(t, p.cmd.Process.Pid)
		}
	}
	if late := resident(t, p.cmd.Process.Pid); early > 0 && late > early+32<<20 {
		t.Errorf("%d MiB after %d polls, %d MiB after %d", early>>20, few, late>>20, many)
	}
	p.stop(t)
	shown := string(p.run(t, "watch", p.file, "--no-follow"))
	// Connections come and go: net/http keeps none whose request took it long to write.
	if lines := strings.Count(shown, "\n") - strings.Count(shown, " CONN ") - strings.Count(shown, " GONE "); lines > 12 || !strings.Contains(shown, "x29,998 ") {
		t.Errorf("%d lines:\n%s", lines, shown)
	}
	var status struct {
		Clients []struct {
			Types []struct{ State, Version string }
		}
	}
	if err := json.Unmarshal(p.run(t, "status", p.file, "-o", "json"), &status); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(status.Clients); got != "[{[{SYNCED 1}]}]" {
		t.Errorf("status is %s", got)
	}
	var report replayReport
	if code, said := played(t, &report, nil, p.file, "--as", "client", "--target", h.Listener.Addr().String()); code != 0 || report.Matched != 1 || report.Sent > 5 {
		t.Errorf("exit code %d, %+v\n%s", code, report, said)
	}
}

// resident is how much memory a process takes, in bytes; 0 where that is not told.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var all, here int64
	if _, err := fmt.Sscan(string(text), &all, &here); err != nil {
		t.Fatal(err)
	}
	return here * int64(os.Getpagesize())
}
