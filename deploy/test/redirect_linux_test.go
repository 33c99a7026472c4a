package test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
)

// asClient is the address that this process is to dial, as a client would.
const asClient = "XDSPROXY_TEST_DIAL"

func TestMain(m *testing.M) {
	if to := os.Getenv(asClient); to != "" {
		c, err := net.DialTimeout("tcp", to, guard)
		if err == nil {
			_ = c.SetDeadline(time.Now().Add(guard))
			_, err = io.WriteString(c, "hello")
		}
		if err == nil {
			_, err = io.ReadFull(c, make([]byte, 5))
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	built = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// built is where build puts what it makes.
var built string

// build makes xdsproxy and the plugin, once for all tests, as they are in an image
// without a C library.
var build = sync.OnceValues(func() (dir string, err error) {
	for _, name := range []string{"xdsproxy", "kubectl-xds"} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(built, name), "./cmd/"+name)
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build %s: %w\n%s", name, err, out)
		}
	}
	return built, nil
})

// The init container's script, with the capability that it has and no other, makes
// the kernel lead a client to the proxy, and the proxy to the control plane.
func TestRedirect(t *testing.T) {
	if os.Getenv(inside) == "" {
		reenter(t)
		return
	}
	must(t, "ip", "link", "set", "lo", "up")
	must(t, "ip", "addr", "add", "10.77.0.1/24", "dev", "lo")
	r := render(t, "original-dst-example", "")
	pod := &of[*apps.Deployment](r)[0].Spec.Template

	served := make(chan string, 8)
	l, err := net.Listen("tcp", "10.77.0.1:18000")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served <- c.RemoteAddr().String()
			go func() { defer c.Close(); _, _ = io.Copy(c, c) }()
		}
	}()
	dial := func(user uint32) error {
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{asClient + "=10.77.0.1:18000"}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	// As the example's Envoy, before anything is redirected. The test program has
	// to be where others can read it.
	if err := open(t); err != nil {
		t.Fatal(err)
	}
	envoy := uint32(*pod.Spec.Containers[0].SecurityContext.RunAsUser)
	if err := dial(envoy); err != nil {
		t.Fatalf("directly: %v", err)
	}
	<-served

	// Twice, for a container that is started again finds its rule there.
	redirect := pod.Spec.InitContainers[0]
	for range 2 {
		argv := append([]string{"--bounding-set=-all,+net_admin", "--inh-caps=-all", "--no-new-privs"}, redirect.Command...)
		cmd := exec.Command("setpriv", append(argv, redirect.Args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		for _, e := range redirect.Env {
			cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("the init container: %v\n%s", err, out)
		}
	}
	rules := must(t, "iptables", "-t", "nat", "-S", "OUTPUT")
	if strings.Count(rules, "REDIRECT") != 1 {
		t.Errorf("the rules are\n%s", rules)
	}
	// Nobody is there yet: as when the proxy has died.
	if err := dial(envoy); err == nil {
		t.Error("the connection is not redirected")
	}

	c := unpack(t, pod, map[string]map[string]string{"xdsproxy-viewer": {"token": "a-token-for-tests-only\n"}})
	stop := c.start()
	if err := dial(envoy); err != nil {
		t.Errorf("redirected: %v", err)
	}
	select {
	case <-served:
	default:
		t.Error("the control plane has seen nobody")
	}
	// What the proxy itself dials is not redirected: by its user.
	if err := dial(c.user); err != nil {
		t.Errorf("as the proxy: %v", err)
	}
	// What was recorded comes to viewers a moment later.
	for deadline := time.Now().Add(guard); ; time.Sleep(50 * time.Millisecond) {
		out, err := c.run("watch", "127.0.0.1:18999", "--no-follow", "-o", "jsonl")
		if err != nil {
			t.Fatalf("watch: %v\n%s", err, out)
		}
		if strings.Contains(out, "10.77.0.1:18000") {
			if strings.Contains(out, `"conn":2`) {
				t.Errorf("the proxy has recorded itself:\n%s", out)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the recording does not say where the client was going:\n%s", out)
		}
	}
	stop()
}

// open lets every user run this test program.
func open(t *testing.T) error {
	t.Helper()
	text, err := os.ReadFile(os.Args[0])
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	os.Args[0] = dir + "/program"
	if err := os.WriteFile(os.Args[0], text, 0o755); err != nil {
		return err
	}
	return os.Chmod(dir, 0o755)
}
