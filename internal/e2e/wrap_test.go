package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"sigs.k8s.io/yaml"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// startWrap starts the program with a command, and waits for the first of its
// listeners.
func startWrap(t *testing.T, env []string, args ...string) (p *proxy, stdout *lines) {
	t.Helper()
	p = &proxy{file: filepath.Join(t.TempDir(), "session.xdsp"), stderr: newLines(), exited: make(chan struct{})}
	stdout = newLines()
	p.cmd = exec.Command(program(t), append([]string{"wrap", "-w", p.file}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = stdout, p.stderr, append(quietEnv(t), env...)
	p.cmd.WaitDelay = patience
	// A group of its own, so that no command is left over.
	ownGroup(p.cmd)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		killGroup(p.cmd)
		<-p.exited
		if t.Failed() {
			t.Logf("output of xdsproxy wrap:\n%s\n%s", stdout, p.stderr)
		}
	})
	p.addr = p.stderr.find(t, listening, p.exited)[1]
	return p, stdout
}

// ended waits for the program and returns its exit code.
func (p *proxy) ended(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

// The real Envoy, with one word in front of its command.
func TestWrapEnvoy(t *testing.T) {
	t.Parallel()
	vs := map[string]variant{}
	for _, v := range variants() {
		vs[v.name] = v
	}
	six := "[::1]:0"
	for _, c := range []struct {
		name, variant, listen, file string
		// address is how Envoy finds the server.
		discovery string
		address   func(server string) object
		cluster   object // what else is in it
		bootstrap bool   // named to xdsproxy, not to Envoy
	}{
		{
			name: "ADS by name", variant: "sotw", file: "envoy.yaml", discovery: "STRICT_DNS",
			address: func(server string) object { return socket("localhost", port(server)) },
		},
		{
			name: "delta on a unix socket", variant: "delta", file: "envoy.json", listen: "unix:", discovery: "STATIC", bootstrap: true,
			address: func(server string) object {
				return object{"pipe": object{"path": strings.TrimPrefix(server, "unix:")}}
			},
		},
		{
			name: "single types on IPv6", variant: "per-type", file: "envoy.yaml", listen: six, discovery: "LOGICAL_DNS",
			address: func(server string) object { return socket("::1", port(server)) },
			cluster: object{"dns_lookup_family": "V6_ONLY"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := tool(t, "envoy", "envoy", "_bin", "envoy")
			if c.listen == six {
				l, err := net.Listen("tcp", six)
				if err != nil {
					t.Skip("there is no IPv6 here")
				}
				l.Close()
			}
			dir := t.TempDir()
			o := xdstest.Options{Listen: c.listen}
			if c.listen == "unix:" {
				o.Listen += filepath.Join(dir, "cp.sock")
			}
			control := startControlPlaneAs(t, "wrapped", o)
			v := vs[c.variant]
			text := envoyBootstrap(t, v, control.node, "127.0.0.1:1")
			cluster := xdsClusterAt(c.discovery, c.address(control.Addr()))
			for k, value := range c.cluster {
				cluster[k] = value
			}
			text["static_resources"] = object{"clusters": []object{cluster}}
			config, admin := filepath.Join(dir, c.file), filepath.Join(dir, "admin")
			writeBootstrap(t, config, text)
			before, err := os.ReadFile(config)
			if err != nil {
				t.Fatal(err)
			}

			listener := xdstest.Listener("ingress", "127.0.0.1:0", "routes", v.source)
			control.set(t, xdstest.World{
				Listeners: []*listenerv3.Listener{listener},
				Routes:    []*routev3.RouteConfiguration{xdstest.DirectRoute("routes", "one")},
			})
			args := []string{path, "-c", config}
			if c.bootstrap {
				args = []string{"--bootstrap", config, "--", path, "-c", "{}"}
			}
			p, out := startWrap(t, nil, append(args, "--admin-address-path", admin, "--concurrency", "1",
				"--use-dynamic-base-id", "--disable-hot-restart", "--log-level", "warning")...)
			e := &envoy{output: out, exited: p.exited}
			e.await(t, admin)
			url := e.url(t, "ingress")
			eventually(t, "the answer", func() bool {
				body, err := get(url)
				return err == nil && body == "one"
			})
			control.settle(t)
			copied := copyOf(t, p)
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if code := p.ended(t); code != 0 { // Envoy's, when it is told to end
				t.Errorf("exit code %d", code)
			}
			if _, err := get("http://" + e.admin + "/ready"); err == nil {
				t.Error("Envoy goes on")
			}
			if _, err := os.Stat(copied); !os.IsNotExist(err) {
				t.Errorf("%s is left over: %v", copied, err)
			}
			if after, err := os.ReadFile(config); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the bootstrap is not what it was: %v", err)
			}
			if f := p.info(t); !f.Complete || f.Messages == 0 || f.Gaps > 0 {
				t.Errorf("%+v", f)
			}
			if !strings.HasPrefix(control.Addr(), "unix:") { // which has no ports to tell connections by
				compare(t, control.account, p)
			}
		})
	}
}

func port(server string) json.Number {
	_, p, _ := net.SplitHostPort(server)
	return json.Number(p)
}

// copyOf is the path of the bootstrap that Envoy was given, by what the system
// says of its command line.
func copyOf(t *testing.T, p *proxy) string {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", p.cmd.Process.Pid))
	pid, _, found := strings.Cut(string(children), " ")
	for n := 0; err == nil && !found; n++ { // another thread may have started it
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.cmd.Process.Pid))
		if n == len(tasks) {
			t.Fatal("no process below xdsproxy wrap")
		}
		children, err = os.ReadFile(tasks[n])
		pid, _, found = strings.Cut(string(children), " ")
	}
	if err != nil {
		t.Skipf("the system does not say which processes there are: %v", err)
	}
	line, err := os.ReadFile("/proc/" + pid + "/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	path := strings.Split(string(line), "\x00")[2]
	file, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if file.Mode().Perm() != 0o600 || dir.Mode().Perm() != 0o700 {
		t.Errorf("the copy of the bootstrap is %v in %v", file.Mode(), dir.Mode())
	}
	return path
}

func writeBootstrap(t *testing.T, path string, content object) {
	t.Helper()
	text, err := json.MarshalIndent(content, "", " ")
	if err == nil && strings.HasSuffix(path, ".yaml") {
		text, err = yaml.JSONToYAML(text)
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What Envoy takes it takes when it is wrapped, too: bootstraps with all that
// package bootstrap knows of.
func TestWrapKeepsBootstrapsValid(t *testing.T) {
	t.Parallel()
	path := tool(t, "envoy", "envoy", "_bin", "envoy")
	for _, name := range []string{"ads.yaml", "agent.json", "anchors.yaml", "sources.yaml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("..", "bootstrap", "testdata", name)
			out := runProgram(t, "wrap", "-q", "--no-record", path, "--mode", "validate", "-c", file, "--log-level", "error")
			if !strings.HasSuffix(string(out), name+"' OK\n") || strings.Contains(string(out), file) {
				t.Errorf("Envoy says %s", out)
			}
		})
	}
}
