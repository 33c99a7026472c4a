package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/xdsproxy/xdsproxy/replay/launch"
)

// Who follows a running proxy sees all of it, its end included.
func TestWatchFollowsARunningProxy(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "v.sock")
	r := startRun(t, "--upstream", echo(t), "--viewer", "unix:"+socket)
	c := r.pass(t, "something")
	follower := command(t, "watch", "unix:"+socket, "-o", "jsonl")
	var complaints bytes.Buffer
	follower.Stderr = &complaints
	lines, err := follower.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := follower.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(lines)
	first, err := in.ReadString('\n')
	if err != nil || !strings.Contains(first, `"kind":"connect"`) {
		t.Fatalf("%q, %v", first, err)
	}
	c.Close()
	r.signal(t, syscall.SIGTERM)
	if stderr, code := r.end(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	rest, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := follower.Wait(); err != nil || complaints.Len() > 0 {
		t.Errorf("%v: %s", err, complaints.String())
	}
	file, err := command(t, "watch", r.path, "-o", "jsonl").Output()
	if err != nil || string(file) != first+string(rest) {
		t.Errorf("%v; the follower saw\n%s%s\nand the recording has\n%s", err, first, rest, file)
	}
}

// mode FILE MODE compares the mode of a file.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	info, err := os.Lstat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%#o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("the mode of %s is %s, not %s", args[0], got, args[1])
	}
}

// port NAME puts a port into a variable on which nobody listens.
func port(ts *testscript.TestScript, neg bool, args []string) {
	addr, err := launch.FreePort()
	ts.Check(err)
	_, n, err := net.SplitHostPort(addr)
	ts.Check(err)
	ts.Setenv(args[0], n)
}

// prefix A B says that a file, which is not empty, is how another begins. The
// other, of a recording that grows, may have more lines.
func prefix(ts *testscript.TestScript, neg bool, args []string) {
	a, b := ts.ReadFile(args[0]), ts.ReadFile(args[1])
	if a == "" || !strings.HasPrefix(b, a) {
		ts.Fatalf("%s is not how %s begins", args[0], args[1])
	}
}

// sockets N waits until so many proxies of this script can be watched.
func sockets(ts *testscript.TestScript, neg bool, args []string) {
	for range 1000 {
		found, _ := filepath.Glob(filepath.Join(ts.Getenv("XDG_RUNTIME_DIR"), "xdsproxy", "*.sock"))
		if fmt.Sprint(len(found)) == args[0] {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("never %s sockets", args[0])
}

// written FILE waits until a story that was played is in a recording: its last
// client is gone.
func written(ts *testscript.TestScript, neg bool, args []string) {
	for range 1000 {
		cmd := exec.Command("xdsproxy", "watch", ts.MkAbs(args[0]), "--no-follow", "-o", "jsonl")
		out, err := cmd.Output()
		ts.Check(err)
		if strings.Count(string(out), `"kind":"connect"`) == 5 && strings.Count(string(out), `"kind":"disconnect"`) == 5 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("the story was never written")
}
