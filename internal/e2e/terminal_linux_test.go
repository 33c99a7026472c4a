package e2e

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// pseudoTerminal is a terminal with both its ends: what a program sees of it,
// and where a person would sit.
func pseudoTerminal(t *testing.T) (inside, outside *os.File) {
	t.Helper()
	outside, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	control := func(request uintptr, value *uint32) {
		if _, _, err := syscall.Syscall(syscall.SYS_IOCTL, outside.Fd(), request, uintptr(unsafe.Pointer(value))); err != 0 {
			t.Fatal(err)
		}
	}
	var unlock, number uint32
	control(syscall.TIOCSPTLCK, &unlock)
	control(syscall.TIOCGPTN, &number)
	inside, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return inside, outside
}

// terminal is a terminal at which somebody only looks: what a program sees of
// it, and what comes out at the other end.
func terminal(t *testing.T) (inside *os.File, shown *lines, closed <-chan struct{}) {
	t.Helper()
	inside, outside := pseudoTerminal(t)
	shown = newLines()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(shown, outside) // until nobody has the other end open
		outside.Close()
	}()
	return inside, shown, done
}

// A proxy prints on a terminal what passes, each line once and up to the end,
// and no secret, nor are there any in its own log; be its recording a file, a
// row of small ones, or in memory alone.
func TestSecretsNotOnATerminal(t *testing.T) {
	for name, args := range map[string][]string{
		"in memory": {"--no-record"}, "in a file": nil, "in segments": {"--max-size", "2KiB", "--keep", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secretsOnATerminal(t, args...)
		})
	}
}

func secretsOnATerminal(t *testing.T, args ...string) {
	t.Helper()
	seeded := &seeds{}
	upstream := seeded.serve(t)
	inside, shown, closed := terminal(t)
	p := &proxy{stderr: newLines(), exited: make(chan struct{})}
	p.cmd = exec.Command(program(t), append([]string{"run", "--verbose", "--listen", "127.0.0.1:0", "--upstream", upstream}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = inside, p.stderr, quietEnv(t)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inside.Close()
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(p.kill)
	p.addr = p.stderr.find(t, listening, p.exited)[1]
	const rounds = 3
	for range rounds {
		if err := seeded.asks().converse(t.Context(), p.addr); err != nil {
			t.Fatal(err)
		}
	}
	p.stop(t)
	<-closed
	text := shown.String()
	for what, want := range map[string]int{"NACK": rounds, "public-node": 0, "CLOSE": rounds, "refused": 0} {
		if n := strings.Count(text, what); n == 0 || want > 0 && n != want {
			t.Errorf("the terminal shows %q %d times:\n%s", what, n, text)
		}
	}
	seeded.absent(t, map[string][]byte{"the terminal": []byte(text), "the log": []byte(p.stderr.String())})
}
