package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
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
	o.Listen, o.OwnVersions = freeAddr(t), true
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
		c.Subscribe(resource.ClusterType)
		c.Subscribe(resource.EndpointType, w.names()...)
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
				e := xdstest.Endpoints(n, address)
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
