package playback

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
)

// TestMain is also the command that a recording is played with: one side of a
// recording, until it is ended, or a client that leaves after the first response.
func TestMain(m *testing.M) {
	if len(os.Args) != 4 || strings.HasPrefix(os.Args[1], "-") {
		os.Exit(m.Run())
	}
	as, of, at := os.Args[1], os.Args[2], os.Args[3]
	if as != "server" { // it is told in a bootstrap whom to ask
		text, err := os.ReadFile(at)
		if err != nil {
			panic(err)
		}
		m := regexp.MustCompile(`"server_uri": *"([^"]*)"|"path": *"(/[^"]*)"`).FindStringSubmatch(string(text))
		if at = m[1]; at == "" {
			at = "unix:" + m[2]
		}
	}
	if as == "leaver" {
		leave(at)
	}
	r := Replay{
		Opener: &input.Opener{Console: &console.Console{Ctx: context.Background(), Stdin: strings.NewReader(""), Stdout: os.Stdout, Stderr: os.Stderr}}, As: as, Listen: at, Target: at, Idle: time.Minute, Output: "table",
		Live: Live{DialTimeout: time.Minute, Logger: zap.NewNop(), KeyLogs: func() (func(), error) { return func() {}, nil }, Announce: func() {}},
	}
	r.Options.Idle, r.Options.Authority, r.Options.Local = r.Idle, "localhost", true
	_ = r.Run(context.Background(), []string{of})
	time.Sleep(time.Hour) // it is ended
}

// leave asks for clusters, and is gone when it has got some.
func leave(at string) {
	cc, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()), replay.Bytes(1<<20), grpc.WithAuthority("xds"))
	if err != nil {
		panic(err)
	}
	stream, err := cc.NewStream(context.Background(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, xds.LookupMethod("/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources").Path)
	if err != nil {
		panic(err)
	}
	q := synth.Request{TypeURL: xds.TypeURL("CDS"), Node: &decode.Node{ID: "n1"}}
	out, in := q.Marshal(), []byte(nil)
	if err := errors.Join(stream.SendMsg(&out), stream.RecvMsg(&in)); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "bye")
	os.Exit(3)
}

// Commands that are the live side, as they are told of, and what became of them.
func TestCommandsBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, nack := os.Args[0], recording("grpc-go-nack")
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	got, n := "", 0
	tell := func(name, as string, sources []string, change func(p *played)) *played {
		n++
		p := play(t, as, "unix:"+filepath.Join(dir, fmt.Sprint("s", n)))
		p.Idle, p.Options.Idle = time.Minute, time.Minute
		change(p)
		text := p.words(p.Run(t.Context(), sources))
		got += "== " + name + "\n" + strings.NewReplacer(self, "PROGRAM", dir, "DIR", filepath.Dir(nack), "SESSIONS").Replace(text)
		return p
	}
	with := func(commands ...[]string) func(p *played) { return func(p *played) { p.Commands = commands } }
	player := []string{self, "client", nack, "{}"}
	tell("a client", "server", []string{nack}, with(player))
	tell("a client, recorded", "server", []string{nack}, func(p *played) {
		p.Commands, p.Write = [][]string{player}, filepath.Join(dir, "again.xdsp")
	})
	tell("two clients and two recordings", "server", []string{nack, filepath.Join(dir, "none.xdsp")}, with(player, []string{"false"}))
	tell("a server", "client", []string{nack}, func(p *played) { p.Commands = [][]string{{self, "server", nack, p.Target}} })
	tell("a server that listens nowhere", "client", []string{nack}, func(p *played) {
		p.Commands, p.Idle, p.Options.Idle = [][]string{{"sleep", "600"}}, 50*time.Millisecond, 50*time.Millisecond
	})
	tell("a client that does not come", "server", []string{nack}, func(p *played) {
		p.Commands, p.Idle, p.Options.Idle = [][]string{{"sleep", "600"}}, 50*time.Millisecond, 50*time.Millisecond
	})
	taken := tell("a place that is taken", "client", []string{nack}, func(p *played) {
		l, err := net.Listen("unix", strings.TrimPrefix(p.Target, "unix:"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		p.Commands = [][]string{{"true"}}
	})
	if taken.child != nil {
		t.Error("a command was started all the same")
	}

	two := file("two.xds", "C> type=CDS V= N= R=[] node=n1\n-- stream 2 peer=10.0.0.2\nC> type=CDS V= N= R=[] node=n2\nS< type=CDS V=1 N=a res=[web]\nC> type=CDS V=1 N=a R=[]\n")
	polls := file("polls.xds", "P> path=/v3/discovery:clusters type=CDS V= node=n2\np< 200 type=CDS V=1 res=[c1]\n-- stream 2 peer=10.0.0.3\nC> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[web]\nC> type=CDS V=1 N=a R=[]\n")
	later := file("later.xds", "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[web]\nC> type=CDS V=1 N=a R=[]\nP> path=/v3/discovery:clusters type=CDS V= node=n2\np< 200 type=CDS V=1 res=[c1]\n")
	tell("the second of two clients is sent something", "server", []string{two}, with([]string{"/nonexistent/client"}))
	tell("one that polls is sent something first", "server", []string{polls}, with([]string{"/nonexistent/client"}))
	tell("one that polls is sent something later", "server", []string{later}, with([]string{"/nonexistent/client"}))
	tell("of two clients one is named", "server", []string{two}, func(p *played) { p.Commands, p.Client = [][]string{{"/nonexistent/client"}}, "n1" })
	tell("xDS v2", "server", []string{file("old.xds", "-- stream 1 method=/envoy.service.discovery.v2.AggregatedDiscoveryService/StreamAggregatedResources\nC> type=v2.CDS V= N= R=[] node=n1\nS< type=v2.CDS V=1 N=a res=[web]\nC> type=v2.CDS V=1 N=a R=[]\n")}, with([]string{"/nonexistent/client"}))

	vain := func(streams int) string {
		text := ""
		for i := range streams {
			text += fmt.Sprintf("-- stream %d method=StreamAggregatedResources\nC> type=CDS V= N= R=[] node=n1 ua=envoy\n-- server-end code=14\n", i+1)
		}
		return text + "-- stream 9 method=StreamAggregatedResources\nC> type=CDS V= N= R=[] node=n1 ua=envoy\nS< type=CDS V=1 N=a res=[web]\nC> type=CDS V=1 N=a R=[]\n"
	}
	few, many := file("few.xds", vain(manyStreams-1)), file("many.xds", vain(manyStreams))
	patient := func(idle time.Duration, given bool) func(p *played) {
		return func(p *played) {
			p.Commands, p.Idle, p.Options.Idle, p.IdleGiven = [][]string{{"/nonexistent/client"}}, idle, idle, given
		}
	}
	tell("few streams in vain", "server", []string{few}, patient(10*time.Second, false))
	tell("many streams in vain", "server", []string{many}, patient(10*time.Second, false))
	tell("many streams in vain, with much patience", "server", []string{many}, patient(LongerThanEnvoy, false))
	tell("many streams in vain, with less patience", "server", []string{many}, patient(LongerThanEnvoy-1, false))
	tell("many streams in vain, with patience that was chosen", "server", []string{many}, patient(10*time.Second, true))

	golden.Is(t, "testdata/beside.txt", regexp.MustCompile(` {2,}`).ReplaceAllString(got, "  "))

	// One that leaves may have been the reason for what differs.
	once := file("once.xds", rejectedOnce)
	p := play(t, "server", "unix:"+filepath.Join(dir, "leaver"))
	p.Commands = [][]string{{self, "leaver", once, "{}"}}
	p.Idle, p.Options.Idle = time.Minute, time.Minute
	if text := p.words(p.Run(t.Context(), []string{once})); !strings.Contains(text, "i the command ended while it was played with: exit code 3; bye\n") || !strings.Contains(text, "code: 11\n") {
		t.Error(text)
	}
}

// What an Envoy holds after the play, held against what it accepted.
func TestDumpAfterPlay(t *testing.T) {
	t.Parallel()
	cluster := func(name, timeout string) string {
		return `{"version_info": "3", "cluster": {"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": "` + name + `", "type": "EDS", "connect_timeout": "` + timeout + `"}}`
	}
	dump := func(clusters ...string) string {
		return `{"configs": [{"@type": "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump", "bootstrap": {"node": {"id": "envoy"}}}, {"@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump", "version_info": "3", "dynamic_active_clusters": [` + strings.Join(clusters, ", ") + `]}]}`
	}
	got := ""
	for _, c := range []struct{ name, dump string }{
		{"one", dump(cluster("web", "1s"))}, {"another", dump(cluster("web", "7s"), cluster("new", "1s"))}, {"nothing", dump()}, {"no dump", "{"}, {"nobody", ""},
	} {
		dir := t.TempDir()
		at := "127.0.0.1:1"
		if c.dump != "" {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(c.dump)) }))
			defer s.Close()
			at = s.Listener.Addr().String()
		}
		of := recording("envoy-sotw-nack")
		server, client := play(t, "server", "unix:"+filepath.Join(dir, "s")), play(t, "client", "unix:"+filepath.Join(dir, "s"))
		server.CompareDump = at
		for _, p := range []*played{server, client} {
			p.Idle, p.Options.Idle = time.Minute, time.Minute
		}
		got += "== " + c.name + "\n" + strings.NewReplacer(dir, "DIR", filepath.Dir(of), "SESSIONS", at, "ADMIN").Replace(against(t, server, client, of, of))
	}
	golden.Is(t, "testdata/dumps.txt", got)
}
