package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/gobuild"
)

// testToken is what the stand-in has in the Secret.
const testToken = "a-token-for-tests-only"

// TestMain is also the stand-in for kubectl, and for xdsproxy, where the test program
// is called so.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "kubectl":
		os.Exit(standIn(os.Args[1:]))
	case "xdsproxy":
		os.Exit(standInProxy(os.Args[1:]))
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

// standInProxy is an xdsproxy that says what it was called with and what is answered
// where it was sent to.
func standInProxy(args []string) int {
	fmt.Printf("%q, token %q\n", append(args[:1:1], args[2:]...), os.Getenv(tokenVariable))
	c, err := net.Dial("tcp", args[1])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer c.Close()
	_, _ = io.WriteString(c, preface+"ping")
	_ = c.(*net.TCPConn).CloseWrite()
	answer, err := io.ReadAll(c)
	fmt.Printf("%q %v\n", answer, err)
	if stdin, _ := io.ReadAll(os.Stdin); len(stdin) > 0 {
		fmt.Fprintf(os.Stderr, "typed: %s\n", stdin)
	}
	if n, err := strconv.Atoi(args[len(args)-1]); err == nil && n < 0 {
		if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(syscall.Signal(-n)) == nil {
			select {}
		}
	} else if err == nil {
		return n
	}
	return 0
}

// built is where build puts what it makes.
var built string

// build makes the plugin and xdsproxy, once for all tests.
var build = sync.OnceValues(func() (dir string, err error) {
	dir = built
	for _, name := range []string{"kubectl-xds", "xdsproxy"} {
		if err == nil {
			cmd := exec.Command("go", "build", "-o", filepath.Join(dir, name), "../"+name)
			if name == "kubectl-xds" && raced() {
				cmd.Args = slices.Insert(cmd.Args, 2, "-race")
			} else {
				cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
			}
			err = gobuild.Program(cmd)
		}
	}
	return dir, err
})

// standIn is a kubectl without a cluster. port-forward is real TCP, to a port of
// this machine in the place of one in a pod. What it is called with, and its process,
// go to files in STANDIN.
func standIn(args []string) int {
	dir := os.Getenv("STANDIN")
	log, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(log, "%d %q\n", os.Getpid(), args)
	_ = log.Close()
	switch {
	case slices.Contains(args, "secret"):
		switch secret := os.Getenv("STANDIN_SECRET"); secret {
		case "":
		case "none":
			fmt.Fprintln(os.Stderr, `Error from server (NotFound): secrets "xdsproxy-viewer" not found`)
			return 1
		case "interrupted": // the plugin is, while this one waits for a login
			if plugin, err := os.FindProcess(os.Getppid()); err != nil || plugin.Signal(syscall.SIGTERM) != nil {
				return 1
			}
			time.Sleep(time.Hour) // until it is killed
		default: // what it has
			fmt.Println(secret)
			return 0
		}
		fmt.Print(base64.StdEncoding.EncodeToString([]byte(testToken + "\n")))
		return 0
	case slices.Contains(args, "port-forward"):
		if os.Getenv("STANDIN_FORWARD") == "none" {
			fmt.Fprintln(os.Stderr, "Error from server (NotFound): deployments.apps \"xdsproxy\" not found\x1b[31m")
			return 1
		}
		return forwardForReal(args[len(args)-1], dir)
	}
	return 2
}

func forwardForReal(ports, dir string) int {
	local, remote, _ := strings.Cut(ports, ":")
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", local))
	if err != nil {
		fmt.Fprintln(os.Stderr, "unable to listen on any of the requested ports:", err)
		return 1
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	fmt.Printf("Forwarding from 127.0.0.1:%s -> %s\n", port, remote)
	for {
		c, err := l.Accept()
		if err != nil {
			return 1
		}
		fmt.Println("Handling connection for", port)
		go func() {
			defer c.Close()
			to, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", remote))
			if err != nil {
				fmt.Fprintln(os.Stderr, "error: lost connection to pod")
				return
			}
			defer to.Close()
			go func() { _, _ = io.Copy(to, c); _ = to.(*net.TCPConn).CloseWrite() }()
			_, _ = io.Copy(c, to)
		}()
	}
}

// call is what the stand-in was called with.
type call struct {
	pid  int
	args string
}

func calls(t *testing.T, dir string) (out []call) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(text)) {
		var c call
		pid, args, _ := strings.Cut(strings.TrimSpace(l), " ")
		if _, err := fmt.Sscan(pid, &c.pid); err != nil {
			t.Fatal(err)
		}
		c.args = args
		out = append(out, c)
	}
	return out
}

// raced says whether the tests run with the race detector: then the plugin does, too.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// programs is a directory with some of what was built.
func programs(t *testing.T, names ...string) string {
	t.Helper()
	from, err := build()
	dir := t.TempDir()
	for _, name := range names {
		if err == nil {
			err = os.Symlink(filepath.Join(from, name), filepath.Join(dir, name))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// realKubectl is the kubectl of this machine.
func realKubectl(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("kubectl")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no kubectl: ", err)
		}
		t.Skip("there is no kubectl, internal/e2e/tools/kubectl.sh installs one: ", err)
	}
	return path
}
