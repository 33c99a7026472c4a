package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// The figures that are derived from what was counted.
func TestFigures(t *testing.T) {
	ns := []int64{1000, 2000, 3000, 4000, 5255}
	for p, want := range map[float64]float64{0: 1, .5: 3, .99: 4, 1: 5.25} {
		if got := quantile(ns, p); got != want {
			t.Errorf("quantile %v is %v, want %v", p, got, want)
		}
	}
	if got := quantile(nil, 1); got != 0 {
		t.Errorf("of nothing %v", got)
	}
	for in, want := range map[string]int64{"7-123456789": 123456789, "7": 0, "7-x": 0, "7-1-2": 0} {
		if got := sentAt(in); got != want {
			t.Errorf("%q was sent at %d", in, got)
		}
	}
	c := config{streams: 2, conns: 1, clusters: 200, pushes: 50, listen: address(t), pid: os.Getpid()}
	c.target = c.listen
	r, err := run(c)
	if err != nil {
		t.Fatal(err)
	}
	n := float64(r.Responses)
	near := func(name string, got, want, off float64) {
		if math.Abs(got-want) > off {
			t.Errorf("%s is %v, want %v, of %+v", name, got, want, r)
		}
	}
	near("megabytes per second", r.MBPerS, r.ResponsesPerS*float64(r.BytesPerResponse)/1e6, 0.02)
	near("responses", r.ResponsesPerS*r.WallS, n, 0.006*(r.ResponsesPerS+r.WallS)) // both are rounded
	near("CPU per response", r.CPUPerResponse*n/1e6, r.CPUS, 0.006)
	if r.PeakMB < 1 || r.PeakMB > 1e5 || r.PushP50 <= 0 || r.PushP50 > r.PushP99 || r.PushP99 > r.PushMax || r.PushMax > r.WallS*1e6+1e4 || r.CPUS < 0 || r.CPUS > 1000 {
		t.Errorf("%+v", r)
	}
	if _, err := run(config{listen: "nowhere"}); err == nil {
		t.Error("it listens nowhere")
	}
}

// The cost of a process is that of its direct children, too.
func TestCost(t *testing.T) {
	if cpu, peak := cost(0); cpu != 0 || peak != 0 {
		t.Errorf("nobody takes %v s, %d KB", cpu, peak)
	}
	cmd := exec.Command("sh", "-c", "sleep 600 & sleep 600 & sleep 600 & wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var children []string
	defer func() {
		for _, c := range children {
			if pid, err := strconv.Atoi(c); err == nil {
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill()
				}
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	running := func(pid string) bool { // it is not a copy of the shell any more
		name, _ := os.ReadFile("/proc/" + pid + "/comm")
		return strings.TrimSpace(string(name)) == "sleep"
	}
	for len(children) < 3 || !running(children[0]) || !running(children[1]) || !running(children[2]) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
		if err != nil {
			t.Skip(err)
		}
		children = strings.Fields(string(b))
	}
	var sum int64
	for _, c := range children {
		pid, _ := strconv.Atoi(c)
		cpu, peak := cost(pid)
		if peak <= 0 || cpu <= 0 || cpu > 60 {
			t.Errorf("a child takes %v s, %d KB", cpu, peak)
		}
		sum += peak
	}
	if _, all := cost(cmd.Process.Pid); all <= sum {
		t.Errorf("all take %d KB, and the children alone %d", all, sum)
	}
}

// What changes from push to push walks through the list.
func TestChurn(t *testing.T) {
	changed := func(s *server, i int) (out []int) {
		for j, a := range s.resources(i) {
			if string(a.Value) != string(s.body[j].Value) {
				out = append(out, j)
			}
		}
		return out
	}
	s := &server{cfg: config{churn: 2, entropy: 8}, body: makeClusters(5, 8)}
	for i, want := range map[int][]int{0: nil, 1: {2, 3}, 2: {0, 4}, 3: {1, 2}} { // the first is as it was prepared
		if got := changed(s, i); !slices.Equal(got, want) {
			t.Errorf("push %d changes %v, want %v", i, got, want)
		}
	}
	names := func(i int) (out string) {
		for _, r := range s.deltaResources(i) {
			out += " " + r.Name + "@" + r.Version
		}
		return out
	}
	for i, want := range map[int]string{1: " c0@1 c1@1 c2@1 c3@1 c4@1", 2: " c4@2 c0@2", 3: " c1@3 c2@3"} {
		if got := names(i); got != want {
			t.Errorf("delta push %d has%s, want%s", i, got, want)
		}
	}
	s.cfg.churn = 0
	if got := names(2); got != " c0@1 c1@1 c2@1 c3@1 c4@1" || len(changed(s, 2)) > 0 {
		t.Errorf("without churn, push 2 has%s", got)
	}
	one, again, other := makeCluster(1, 0, 0), makeCluster(1, 0, 0), makeCluster(1, 0, 1)
	if string(one.Value) != string(again.Value) || string(one.Value) == string(other.Value) || !strings.Contains(string(one.Value), strings.Repeat("x", 64)) ||
		strings.Contains(string(makeCluster(1, 8, 0).Value), "xx") || sum(bodies([]*discovery.Resource{{Resource: one}})) != checksum(makeClusters(2, 0)[1:]).Identifier {
		t.Error("clusters are not what they are made of")
	}
}

// Pushes keep to their schedule, and streams that do not come up are not waited for without end.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{cfg: config{interval: 4 * time.Millisecond, streams: 2}}
		begin := time.Now()
		for i, want := range []time.Duration{0, 4 * time.Millisecond, 8 * time.Millisecond, 12 * time.Millisecond} {
			if s.pace(begin, i); time.Since(begin) != want {
				t.Errorf("push %d comes after %s", i, time.Since(begin))
			}
		}
		s.ready.Add(1)
		begin = time.Now()
		if err := s.waitReady(time.Second); err == nil || err.Error() != "only 1 of 2 streams came up" || time.Since(begin) > time.Second+5*time.Millisecond || time.Since(begin) < time.Second {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		s.ready.Add(1)
		if err := s.waitReady(0); err != nil {
			t.Error(err)
		}
	})
}

// A rejection is one, and an answer to something else as well.
func TestNacksAreCounted(t *testing.T) {
	s := &server{cfg: config{pushes: 3}, body: makeClusters(1, 0), start: make(chan struct{})}
	close(s.start)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gs := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(gs, s)
	go gs.Serve(l)
	defer gs.Stop()
	cc, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	cl := discovery.NewAggregatedDiscoveryServiceClient(cc)
	answers := []struct {
		nonce string // "" that of the response
		err   *status.Status
	}{{"", nil}, {"other", nil}, {"", &status.Status{Message: "no"}}}
	sotw, err := cl.StreamAggregatedResources(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	delta, err := cl.DeltaAggregatedResources(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if sotw.Send(&discovery.DiscoveryRequest{}) != nil || delta.Send(&discovery.DeltaDiscoveryRequest{}) != nil {
		t.Fatal("nothing can be sent")
	}
	for _, a := range answers {
		m, err := sotw.Recv()
		if err != nil {
			t.Fatal(err)
		}
		d, err := delta.Recv()
		if err != nil {
			t.Fatal(err)
		}
		one, two := m.Nonce, d.Nonce
		if a.nonce != "" {
			one, two = a.nonce, a.nonce
		}
		if sotw.Send(&discovery.DiscoveryRequest{ResponseNonce: one, ErrorDetail: a.err}) != nil || delta.Send(&discovery.DeltaDiscoveryRequest{ResponseNonce: two, ErrorDetail: a.err}) != nil {
			t.Fatal("nothing can be sent")
		}
	}
	if _, err := sotw.Recv(); err != io.EOF {
		t.Error(err)
	}
	if _, err := delta.Recv(); err != io.EOF {
		t.Error(err)
	}
	if got := s.nacks.Load(); got != 4 {
		t.Errorf("%d rejections, want 4", got)
	}
}
