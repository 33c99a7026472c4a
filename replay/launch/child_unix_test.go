//go:build unix

package launch

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Nobody is left when a command is to end, not what a script has started either.
func TestEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	c, err := Start([]string{"sh", "-c", `sleep 1000 & echo begun; echo $! > "$1.new"; mv "$1.new" "$1"; wait`, "sh", file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for range 6000 {
		if text, err = os.ReadFile(file); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c.End()
	c.End()
	for syscall.Kill(pid, 0) == nil { // until it is reaped by who took it over
		if stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); strings.Contains(string(stat), ") Z ") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := c.LastWords(); len(got) != 1 || got[0] != "begun" || !c.Ended() {
		t.Errorf("last words %q", got)
	}
}

// Its input is open until it is to end, and then ends.
func TestInput(t *testing.T) {
	c, err := Start([]string{"sh", "-c", "cat; echo over; exit 3"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Ended() {
		t.Error("its input has ended")
	}
	_ = c.now.stdin.Close()
	<-c.over
	if got := c.LastWords(); len(got) != 1 || got[0] != "over" || c.Fate() != "exit code 3" {
		t.Errorf("%q, %s", got, c.Fate())
	}
	c.End()
}

// It is started again in the middle of a play, and that goes on.
func TestAgain(t *testing.T) {
	c, err := Start([]string{"sh", "-c", "echo begun; cat"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := c.During(t.Context())
	defer stop()
	first := c.now
	c.Again()
	<-first.over
	if c.Ended() || c.now == first || ctx.Err() != nil {
		t.Error("it is not there again")
	}
	c.End()
	c.Again()
	if !c.Ended() {
		t.Error("it is there after its end")
	}
	<-ctx.Done()
}

// A play ends soon after the command does.
func TestDuring(t *testing.T) {
	c, err := Start([]string{"sh", "-c", "kill -9 $$"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.End()
	ctx, stop := c.During(t.Context())
	defer stop()
	<-ctx.Done()
	if c.Fate() != "signal 9, killed" || t.Context().Err() != nil {
		t.Error(c.Fate())
	}
}

func TestAwait(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dial := func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", l.Addr().String())
	}
	c, err := Start([]string{"sleep", "1000"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Await(t.Context(), dial, time.Minute) {
		t.Error("nobody listens")
	}
	l.Close()
	if c.Await(t.Context(), dial, knocking) {
		t.Error("somebody listens")
	}
	c.End()
	if c.Await(t.Context(), dial, time.Hour) {
		t.Error("one that has ended listens")
	}
}

// Of much output the end is kept.
func TestTail(t *testing.T) {
	var l tail
	for i := range 100_000 {
		_, _ = l.Write([]byte("line " + strconv.Itoa(i) + "\n"))
	}
	_, _ = l.Write([]byte(strings.Repeat("x", 10*maxTail) + "\nlast\n"))
	if len(l.text) > 2*maxTail || !strings.HasSuffix(l.String(), "x\nlast\n") {
		t.Errorf("%d bytes", len(l.text))
	}
	c := Child{tail: tail{text: []byte(strings.Repeat("\n", 9) + "a\n\nb\r\n" + strings.Repeat("é", 400))}}
	if got := c.LastWords(); len(got) != 3 || got[1] != "b" || len(got[2]) > 510 {
		t.Errorf("%q", got)
	}
}

// Of the last words there are five lines.
func TestLastWordsAreFew(t *testing.T) {
	for text, want := range map[string]string{"1 2 3 4": "1 2 3 4", "1 2 3 4 5": "1 2 3 4 5", "1 2 3 4 5 6": "2 3 4 5 6"} {
		c := Child{tail: tail{text: []byte(strings.ReplaceAll(text, " ", "\n"))}}
		if got := strings.Join(c.LastWords(), " "); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// The code of a command is what a shell would say.
func TestCode(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 3": 3, "kill -9 $$": 137, "kill -TERM $$": 143} {
		cmd := exec.Command("sh", "-c", script)
		_ = cmd.Run() // its state has what came of it
		if got := Code(cmd.ProcessState); got != want {
			t.Errorf("%s: %d", script, got)
		}
	}
	if got := Code(nil); got != 1 {
		t.Errorf("one that did not start: %d", got)
	}
}
