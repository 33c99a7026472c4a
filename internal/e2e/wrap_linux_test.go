package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// unwanted is a bootstrap whose server nobody asks.
func unwanted(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bootstrap.json")
	text := `{"xds_servers": [{"server_uri": "127.0.0.1:1", "channel_creds": [{"type": "insecure"}]}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The terminal sends its signals to everybody in the foreground. The command
// must not get them twice: a second one would end many a program at once.
func TestWrapInterruptedAtATerminal(t *testing.T) {
	t.Parallel()
	at := newTerminal(t, 80, 24)
	shown := at.shown
	cmd := exec.Command(program(t), "wrap", "-q", "--no-record", "--bootstrap", unwanted(t), "--",
		os.Args[0])
	cmd.Env = append(quietEnv(t), clientVariable+"="+countSignals)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = at.inside, at.inside, at.inside
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	at.inside.Close()
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-exited
	})
	line := func(text string) {
		t.Helper()
		shown.find(t, regexp.MustCompile("^(?:\\^C)?"+text+"\r$"), at.closed)
	}
	line("begun")
	for n := 1; n <= 3; n++ {
		if _, err := at.outside.Write([]byte{3}); err != nil { // Ctrl-C
			t.Fatal(err)
		}
		eventually(t, "the interrupt", func() bool { return strings.Count(shown.String(), "got INT") >= n })
		time.Sleep(20 * time.Millisecond) // for one too many
	}
	// TERM comes from us alone. It goes through the proxy after all INTs did.
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	line("got TERM")
	select {
	case <-exited:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	<-at.closed
	if n := strings.Count(shown.String(), "got INT"); n != 3 {
		t.Errorf("3 Ctrl-C came as %d interrupts:\n%s", n, shown)
	}
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d", code)
	}
}

// A command gets the signals that are sent to us, each once, and finds them
// handled as if it had been started without us.
func TestWrapPassesSignalsOn(t *testing.T) {
	t.Parallel()
	names := map[string]syscall.Signal{
		"INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT, "USR1": syscall.SIGUSR1,
		"USR2": syscall.SIGUSR2, "WINCH": syscall.SIGWINCH,
	}
	script := "trap 'echo got TERM; exit 7' TERM; "
	for name, s := range names {
		if signal.Ignored(s) { // as nohup has it; then the command ignores it, too
			delete(names, name)
			continue
		}
		script += fmt.Sprintf("trap 'echo got %s' %s; ", name, name)
	}
	out, exited := newLines(), make(chan struct{})
	cmd := exec.Command(program(t), "wrap", "-q", "--no-record", "--bootstrap", unwanted(t), "--",
		"sh", "-c", script+"echo begun; while :; do sleep 0.01; done")
	cmd.Env, cmd.Stdout, cmd.Stderr = quietEnv(t), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-exited
	})
	send := func(name string, s syscall.Signal) {
		t.Helper()
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		out.find(t, regexp.MustCompile("^got "+name+"$"), exited)
	}
	out.find(t, regexp.MustCompile("^begun$"), exited)
	for name, s := range names {
		send(name, s)
	}
	send("TERM", syscall.SIGTERM)
	select {
	case <-exited:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d", code)
	}
	if n := strings.Count(out.String(), "\n"); n != len(names)+2 {
		t.Errorf("%d lines:\n%s", n, out)
	}
}

func TestWrapLeavesSignalsAsTheyAre(t *testing.T) {
	t.Parallel()
	file := unwanted(t)
	ignored := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = quietEnv(t)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	look := []string{"grep", "^Sig[BI]", "/proc/self/status"}
	for _, before := range [][]string{{"env"}, {"nohup"}} {
		direct := ignored(append(before, look...)...)
		wrap := append([]string{program(t), "wrap", "-q", "--no-record", "--bootstrap", file, "--"}, look...)
		if wrapped := ignored(append(before, wrap...)...); wrapped != direct {
			t.Errorf("%v: got\n%s, directly\n%s", before, wrapped, direct)
		}
	}
}

// The program waits for no longer than its command runs, whoever ends it.
func TestWrapOfACommandThatIsKilled(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(program(t), "wrap", "-q", "--no-record", "--bootstrap", unwanted(t), "--", "sh", "-c", "kill -KILL $$")
	cmd.Env = quietEnv(t)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 128+9 || len(out) > 0 {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
}
