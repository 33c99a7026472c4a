package playback

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/xdstest/heard"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// played is a replay of one side.
type played struct {
	Replay
	out, said heard.Buffer
}

func play(t *testing.T, as, address string) *played {
	p := &played{}
	p.Replay = Replay{
		Opener: &input.Opener{Console: &console.Console{Ctx: t.Context(), Stdin: strings.NewReader(""), Stdout: &p.out, Stderr: &p.said, Color: "never"}},
		Judge:  check.Options{}, As: as, Idle: 3 * time.Second, Output: "table",
		Live: Live{DialTimeout: time.Minute, Logger: zap.NewNop(), KeyLogs: func() (func(), error) { return func() {}, nil }, Announce: func() {}},
	}
	p.Live.Record = p.unkept
	p.Options.Idle, p.Options.Authority, p.Options.Local = p.Idle, "localhost", true
	if as == "server" {
		p.Listen = address
	} else {
		p.Target = address
	}
	return p
}

// words is all that came of it.
func (p *played) words(err error) string {
	text := p.said.String() + p.out.String()
	if err != nil {
		text += "error: " + err.Error() + "\n"
		if f, is := errors.AsType[*console.Failure](err); is {
			for _, h := range f.Hints {
				text += "hint: " + h + "\n"
			}
			text += fmt.Sprintf("code: %d\n", f.Code)
		}
	}
	return text
}

// against plays a recording's server to the clients of another recording.
func against(t *testing.T, server, client *played, of, with string) string {
	t.Helper()
	var one, other error
	var both sync.WaitGroup
	both.Go(func() { one = server.Run(t.Context(), []string{of}) })
	for !strings.Contains(server.said.String(), "listening on") {
		if time.Sleep(time.Millisecond); t.Context().Err() != nil {
			t.Fatal("it does not listen")
		}
	}
	both.Go(func() { other = client.Run(t.Context(), []string{with}) })
	both.Wait()
	return "-- server\n" + server.words(one) + "-- client\n" + client.words(other)
}

func recording(name string) string {
	return filepath.Join("..", "..", "check", "testdata", "sessions", name+".xdsp")
}

// A recorded server and recorded clients, played against each other, say what they said. A fault,
// and another recording, show as differences, in a table and as JSON.
func TestAgainstEachOther(t *testing.T) {
	for _, tc := range []struct {
		name, of, with string
		change         func(server, client *played)
	}{
		{name: "same", of: "envoy-sotw-nack", with: "envoy-sotw-nack"},
		{name: "same-delta", of: "envoy-delta", with: "envoy-delta"},
		{name: "same-rest", of: "rest-nack", with: "rest-nack", change: func(s, c *played) { s.Quiet, c.Quiet = true, true }}, // polls end in any order
		{name: "recorded", of: "envoy-sotw-nack", with: "envoy-sotw-nack", change: func(s, _ *played) { s.Write = "again" }},
		{name: "json", of: "grpc-go-nack", with: "grpc-go-nack", change: func(s, c *played) { s.Output, c.Output = "json", "json" }},
		{name: "fault", of: "envoy-sotw-nack", with: "envoy-sotw-nack", change: func(s, _ *played) {
			// The one that waits longer hears of the other's end.
			s.Faults, s.IdleGiven, s.Idle, s.Options.Idle = []string{"drop:type:cds#1"}, true, 9*time.Second, 9*time.Second
		}},
		{name: "another", of: "grpc-go", with: "grpc-go-nack", change: func(s, _ *played) { s.Quiet = true }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			of, with := recording(tc.of), recording(tc.with)
			dir := t.TempDir()
			server, client := play(t, "server", "unix:"+filepath.Join(dir, "s")), play(t, "client", "unix:"+filepath.Join(dir, "s"))
			if tc.change != nil {
				tc.change(server, client)
			}
			if server.Write != "" {
				server.Write = filepath.Join(dir, "again.xdsp")
			}
			got := against(t, server, client, of, with)
			got = strings.NewReplacer(dir, "DIR", filepath.Dir(of), "SESSIONS").Replace(got)
			if server.Write != "" {
				f, err := recorder.Inspect(server.Write)
				if err != nil || f.Messages == 0 || !f.Complete {
					t.Errorf("the replay is recorded as %+v, %v", f, err)
				}
			}
			golden.Is(t, "testdata/"+tc.name+".txt", got)
		})
	}
}

// What cannot be played says so, and nothing listens.
func TestNothingToPlay(t *testing.T) {
	t.Parallel()
	got := ""
	for _, name := range []string{"server", "client"} {
		p := play(t, name, "unix:"+filepath.Join(t.TempDir(), "s"))
		p.CompareDump = OwnAdmin
		got += "== a dump, as " + name + "\n" + p.words(p.Run(t.Context(), []string{recording("demo")}))
	}
	for _, tc := range []struct {
		name   string
		change func(p *played)
	}{
		{"no client comes", func(p *played) { p.Idle = 50 * time.Millisecond; p.Options.Idle = p.Idle }},
		{"a fault that is none", func(p *played) { p.Faults = []string{"break:everything"} }},
		{"a fault for nothing", func(p *played) { p.Faults = []string{"drop:type:rtds"} }},
		{"words that nothing has", func(p *played) { p.Faults = []string{"drop:type = ="} }},
		{"a dump of nowhere", func(p *played) { p.CompareDump = "not an address" }},
		{"another client", func(p *played) { p.Client = "envoi" }},
		{"a command that is not there", func(p *played) { p.Commands = [][]string{{"/nonexistent/envoy"}} }},
		{"a command that ends", func(p *played) { p.Commands = [][]string{{"false"}} }},
		{"commands that end", func(p *played) { p.Commands = [][]string{{"false"}, {"sh", "-c", "echo no >&2; exit 3"}} }},
	} {
		p := play(t, "server", "unix:"+filepath.Join(t.TempDir(), "s"))
		tc.change(p)
		got += "== " + tc.name + "\n" + p.words(p.Run(t.Context(), []string{recording("envoy-sotw-nack")}))
	}
	p := play(t, "client", "unix:"+filepath.Join(t.TempDir(), "nobody"))
	p.Idle, p.Options.Idle = 100*time.Millisecond, 100*time.Millisecond
	got += "== nobody listens\n" + p.words(p.Run(t.Context(), []string{recording("envoy-sotw-nack")}))
	got = regexp.MustCompile(`/\S*/TestNothingToPlay\d+/\d+`).ReplaceAllString(got, "DIR")
	golden.Is(t, "testdata/nothing.txt", got)
}
