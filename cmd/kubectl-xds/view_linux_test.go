package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest/heard"
	"github.com/xdsproxy/xdsproxy/internal/xdstest/terminal"
)

// guard is when a test gives up.
const guard = 2 * time.Minute

// world is a real xdsproxy, as in a pod, and a PATH with the plugin, an xdsproxy and
// the stand-in for kubectl.
type world struct {
	t     *testing.T
	bin   string
	dir   string
	port  string // of its viewer
	xds   string // of its listener
	proxy *exec.Cmd
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, bin: programs(t, "kubectl-xds", "xdsproxy"), dir: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(w.bin, "kubectl")); err != nil {
		t.Fatal(err)
	}
	w.port, w.xds = freePort(t), freePort(t)
	w.serve()
	return w
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// serve starts the proxy, whose upstream is never asked for.
func (w *world) serve() {
	w.t.Helper()
	w.proxy = exec.Command(filepath.Join(w.bin, "xdsproxy"), "run", "--headless", "--no-record",
		"--listen", "127.0.0.1:"+w.xds, "--upstream", "127.0.0.1:1", "--viewer", "127.0.0.1:"+w.port)
	w.proxy.Env = append(os.Environ(), tokenVariable+"="+testToken, "XDG_STATE_HOME="+w.dir, "XDG_RUNTIME_DIR="+w.dir)
	stderr, err := w.proxy.StderrPipe()
	if err == nil {
		err = w.proxy.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), "watch it with") {
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	w.t.Cleanup(func() {
		_ = w.proxy.Process.Kill()
		_ = w.proxy.Wait()
	})
}

// connect makes an entry: a client whose upstream cannot be reached.
func (w *world) connect() {
	// It may be reset before it knows that it was accepted.
	if c, err := net.Dial("tcp", "127.0.0.1:"+w.xds); err == nil {
		_ = c.Close()
	}
}

type running struct {
	cmd       *exec.Cmd
	out, errs *heard.Buffer
}

func (w *world) start(env []string, args ...string) *running {
	w.t.Helper()
	r := &running{cmd: exec.Command(filepath.Join(w.bin, "kubectl-xds"), args...), out: new(heard.Buffer), errs: new(heard.Buffer)}
	r.cmd.Env = append(append(os.Environ(), "PATH="+w.bin, "STANDIN="+w.dir, "XDG_STATE_HOME="+w.dir, "XDG_RUNTIME_DIR="+w.dir), env...)
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.errs
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (r *running) code(t *testing.T) int {
	t.Helper()
	timer := time.AfterFunc(guard, func() { _ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	err := r.cmd.Wait()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		return exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}

func (w *world) run(env []string, args ...string) (code int, out, errs string) {
	w.t.Helper()
	r := w.start(env, args...)
	code = r.code(w.t)
	return code, r.out.String(), r.errs.String()
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(guard); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within the time: " + what)
		}
	}
}

// gone says whether every process of the stand-in is.
func (w *world) gone() bool {
	for _, c := range calls(w.t, w.dir) {
		if syscall.Kill(c.pid, 0) == nil && !zombie(c.pid) {
			return false
		}
	}
	return true
}

// zombie says whether a process has ended and nobody has waited for it, as that of
// an orphan in a container without init.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
}

func (w *world) forwards() (n int) {
	for _, c := range calls(w.t, w.dir) {
		if strings.Contains(c.args, "port-forward") {
			n++
		}
	}
	return n
}

func TestView(t *testing.T) {
	w := newWorld(t)
	t.Run("status", func(t *testing.T) {
		code, out, errs := w.run(nil, "status", "-n", "shop", "--context", "a b", "deploy/xdsproxy", "--port", w.port, "-o", "json")
		if code != 0 || !strings.Contains(out, `"clients"`) || errs != "" {
			t.Errorf("%d\n%s%s", code, out, errs)
		}
		got := calls(t, w.dir)
		if len(got) != 2 ||
			got[0].args != `["--context" "a b" "-n" "shop" "get" "secret" "xdsproxy-viewer" "-o" "jsonpath={.data.token}"]` ||
			got[1].args != `["--context" "a b" "-n" "shop" "port-forward" "--address" "127.0.0.1" "deployment/xdsproxy" ":`+w.port+`"]` {
			t.Errorf("kubectl was called with %v", got)
		}
		if !w.gone() {
			t.Error("a kubectl is left")
		}
	})
	t.Run("token of one's own", func(t *testing.T) {
		before := len(calls(t, w.dir))
		if code, out, errs := w.run([]string{tokenVariable + "=" + testToken}, "info", "pod/p", "--port="+w.port); code != 0 {
			t.Errorf("%d\n%s%s", code, out, errs)
		}
		if got := calls(t, w.dir)[before:]; len(got) != 1 || !strings.Contains(got[0].args, "port-forward") {
			t.Errorf("kubectl was called with %v", got)
		}
		if code, _, errs := w.run([]string{tokenVariable + "=not-the-token-of-it"}, "info", "pod/p", "--port="+w.port); code != 1 || !strings.Contains(errs, "token") {
			t.Errorf("with a wrong token: %d, %s", code, errs)
		}
	})
	t.Run("exit code", func(t *testing.T) {
		for want, args := range map[int][]string{2: {"--no-such-flag"}, 1: {"99"}} {
			command := "status"
			if want == 1 {
				command = "show"
			}
			if code, _, errs := w.run(nil, append([]string{command, "deploy/x", "--port", w.port}, args...)...); code != want || !strings.Contains(errs, "xdsproxy: error: ") {
				t.Errorf("%s %v: %d, want %d\n%s", command, args, code, want, errs)
			}
		}
		if code, _, errs := w.run(nil, "open", "deploy/x", "--port", w.port); code != 2 || !strings.Contains(errs, "there is none") {
			t.Errorf("open without a terminal: %d, %s", code, errs)
		}
	})
	if !w.gone() {
		t.Error("a kubectl is left")
	}
}

func TestWatchGoesOn(t *testing.T) {
	w := newWorld(t)
	// Without a token of the Secret's: so kubectl forwards, and does nothing else.
	r := w.start([]string{tokenVariable + "=" + testToken}, "watch", "deploy/xdsproxy", "--port", w.port, "-o", "jsonl")
	seen := func() int { return strings.Count(r.out.String(), "\n") }
	w.connect()
	until(t, "the connection is seen", func() bool { return seen() > 0 })
	before := seen()
	first := calls(t, w.dir)
	if err := syscall.Kill(first[len(first)-1].pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "kubectl was started again", func() bool { return w.forwards() >= 2 })
	w.connect()
	until(t, "the second connection is seen", func() bool { return seen() > before })
	if code := func() int { _ = r.cmd.Process.Signal(syscall.SIGTERM); return r.code(t) }(); code != 0 && code != 130 && code != 143 {
		t.Errorf("exit code %d: %s", code, r.errs)
	}
	if !w.gone() {
		t.Error("a kubectl is left")
	}
}

// The screen is drawn on the terminal of the plugin, and has its keys.
func TestOpen(t *testing.T) {
	w := newWorld(t)
	far, near := terminal.Pair(t)
	cmd := exec.Command(filepath.Join(w.bin, "kubectl-xds"), "open", "deploy/xdsproxy", "--port", w.port)
	cmd.Env = append(os.Environ(), "PATH="+w.bin, "STANDIN="+w.dir, "XDG_STATE_HOME="+w.dir, "XDG_RUNTIME_DIR="+w.dir, "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = near, near, near
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = near.Close()
	screen := new(heard.Buffer)
	go func() { _, _ = io.Copy(screen, far) }()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	until(t, "the screen is drawn", func() bool { return strings.Contains(screen.String(), "Clients") })
	for {
		if _, err := far.WriteString("q"); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("it ends with %v: %q", err, screen)
			}
			until(t, "kubectl is gone", w.gone)
			return
		case <-time.After(time.Second):
		}
	}
}

// children counts the processes that a process has started and that are there.
func children(pid int) (n int) {
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, path := range tasks {
		text, _ := os.ReadFile(path)
		n += len(strings.Fields(string(text)))
	}
	return n
}

// However the plugin ends, kubectl does, too.
func TestNothingIsLeft(t *testing.T) {
	w := newWorld(t)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGKILL} {
		before := w.forwards()
		r := w.start(nil, "watch", "deploy/xdsproxy", "--port", w.port)
		until(t, "watch has begun", func() bool { return w.forwards() > before && children(r.cmd.Process.Pid) == 2 })
		if err := r.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = r.code(t)
		until(t, "kubectl is gone after "+s.String(), w.gone)
	}
	// While it waits for a proxy that is not there.
	before := w.forwards()
	r := w.start(nil, "watch", "deploy/xdsproxy", "--port", freePort(t))
	until(t, "kubectl forwards", func() bool { return w.forwards() > before })
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	if code := r.code(t); code != 143 {
		t.Errorf("exit code %d: %s", code, r.errs)
	}
	until(t, "kubectl is gone", w.gone)
}
