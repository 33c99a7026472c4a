package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// plant is a fault as both ends play it, and the rule that finds it.
type plant struct {
	rule           string
	server, client xdstest.Part
}

func plants(t *testing.T) []plant {
	one := endpoints(t, "a")
	return []plant{
		{
			"response-nonce-missing",
			xdstest.Part{hear(eds, ""), answer(eds, "1", "", one...), xdstest.Alone()},
			xdstest.Part{ask(eds, "", "", "a"), hear(eds, ""), leave},
		},
		{
			"ads-type-url-missing",
			xdstest.Part{hear("", ""), leave},
			xdstest.Part{ask("", "", "")},
		},
		{
			"ack-version-unknown",
			xdstest.Part{hear(eds, ""), answer(eds, "1", "n1", one...), hear(eds, "n1"), answer(eds, "2", "n2", one...), xdstest.Alone()},
			xdstest.Part{ask(eds, "", "", "a"), hear(eds, "n1"), ask(eds, "made up", "n1", "a"), hear(eds, "n2"), leave},
		},
		{
			"duplicate-resource",
			xdstest.Part{hear(eds, ""), answer(eds, "1", "n1", one[0], one[0]), xdstest.Alone()},
			xdstest.Part{ask(eds, "", "", "a"), hear(eds, "n1"), leave},
		},
		{
			"resource-type-mismatch",
			xdstest.Part{hear(cds, ""), answer(cds, "1", "n1", one...), xdstest.Alone()},
			xdstest.Part{ask(cds, "", ""), hear(cds, "n1"), leave},
		},
	}
}

// Of 20 faults of 5 causes, under load, a proxy that records nothing leaves 5
// dumps, in each of which check finds its fault.
func TestDumpOn(t *testing.T) {
	t.Parallel()
	last := 2 * time.Second
	if *minutes > 0 {
		last = time.Duration(*minutes * float64(time.Minute))
	}
	const rounds = 4
	all := plants(t)
	var parts []xdstest.Part
	for range rounds {
		for _, p := range all {
			parts = append(parts, p.server)
		}
	}
	faulty := startScript(t, parts...)
	control, err := xdstest.StartControlPlane(xdstest.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer control.Stop()
	dir := filepath.Join(t.TempDir(), "dumps")
	cmd := exec.Command(program(t), "run", "--headless", "--no-record", "--ring", "4MiB",
		"--listen", freeAddr(t), "--upstream", faulty.Addr(), "--listen", freeAddr(t), "--upstream", control.Addr(),
		"--dump-on", "error", "--dump-dir", dir, "--dump-before", "1m", "--dump-every", "24h")
	said, exited := newLines(), make(chan struct{})
	cmd.Stderr, cmd.Env = said, quietEnv(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ended error
	go func() {
		ended = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		if t.Failed() {
			t.Logf("stderr of xdsproxy:\n%s", said)
		}
	})
	addr := func(upstream string) string {
		return said.find(t, regexp.MustCompile(`listening on (\S+), upstream `+regexp.QuoteMeta(upstream)+`, recording memory$`), exited)[1]
	}
	faultyAddr, loadAddr := addr(faulty.Addr()), addr(control.Addr())
	stop := underLoad(t, control, loadAddr)
	begin := time.Now()
	for round := range rounds {
		for i, p := range all {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			if err := xdstest.PlayClient(ctx, faultyAddr, xdstest.SotWStream, p.client); err != nil {
				t.Fatalf("%s: %v", p.rule, err)
			}
			cancel()
			if round == 0 {
				said.find(t, regexp.MustCompile(`dumped the last minutes to \S*-`+p.rule+`-`), exited)
			}
			time.Sleep(time.Until(begin.Add(last * time.Duration(round*len(all)+i+1) / time.Duration(rounds*len(all)))))
		}
	}
	if pushes := stop(); pushes == 0 {
		t.Error("there was no load")
	}
	if err = cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-exited:
	case <-time.After(patience):
		t.Fatal("the proxy does not end on SIGTERM")
	}
	if ended != nil {
		t.Fatalf("after SIGTERM: %v", ended)
	}
	var want []string
	for _, p := range all {
		want = append(want, p.rule)
	}
	if found := findDumped(t, dir); !slices.Equal(found, slices.Sorted(slices.Values(want))) {
		t.Errorf("the dumps are of %q, want %q", found, want)
	}
	if err := faulty.Stop(); err != nil {
		t.Error(err)
	}
}

// findDumped are the rules that the dumps in a directory are about, each of which
// check must find in it.
func findDumped(t *testing.T, dir string) (rules []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`^dump-[0-9T.]+Z-(.+)-scripted-[0-9a-f]+\.xdsp$`)
	for _, f := range files {
		m := name.FindStringSubmatch(f.Name())
		if m == nil {
			t.Errorf("%q is no name of a dump", f.Name())
			continue
		}
		rules = append(rules, m[1])
		var report struct {
			Findings []struct{ Rule, Severity, Client string }
		}
		out := runProgram(t, "check", filepath.Join(dir, f.Name()), "-o", "json", "--fail-on", "never")
		if err := json.Unmarshal(out, &report); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(report.Findings, func(f struct{ Rule, Severity, Client string }) bool {
			return f.Rule == m[1] && f.Severity == "error" && f.Client == "scripted"
		}) {
			t.Errorf("check does not find %s in %s: %+v", m[1], f.Name(), report.Findings)
		}
	}
	slices.Sort(rules)
	return rules
}

// underLoad has clients connected that are pushed to as fast as they accept, and
// says how often that was once it is stopped.
func underLoad(t *testing.T, control *xdstest.ControlPlane, addr string) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	pushes := 0
	push := func(node string, n int) error {
		var clusters []string
		for i := range 20 {
			clusters = append(clusters, fmt.Sprintf("cluster-%d", i))
		}
		m := emptyMesh(nil)
		for _, name := range clusters {
			m.cluster(name, 1)
			m.endpointsOf(t, name, 1+n%4)
		}
		return control.Set(ctx, node, m.world())
	}
	nodes := []string{"load-0", "load-1", "load-2"}
	var clients []*xdstest.SotWClient
	for _, n := range nodes {
		if err := push(n, 0); err != nil {
			t.Fatal(err)
		}
		c := xdstest.NewSotWClient(xdstest.ClientOptions{Dial: addr, Node: &corev3.Node{Id: n, Cluster: "load"}})
		clients = append(clients, c)
		running.Go(func() { _ = c.Run(ctx) })
	}
	running.Go(func() {
		for n := 1; ctx.Err() == nil; n++ {
			for i, node := range nodes {
				before := ""
				_ = clients[i].Wait(ctx, func(s xdstest.SotWState) bool { before = s.Accepted[eds]; return before != "" })
				if push(node, n) != nil {
					return
				}
				if clients[i].Wait(ctx, func(s xdstest.SotWState) bool { return s.Accepted[eds] != before }) == nil {
					pushes++
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	return func() int {
		cancel()
		running.Wait()
		return pushes
	}
}
