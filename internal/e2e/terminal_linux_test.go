package e2e

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// terminal is a pseudo-terminal: what a program sees of it, and the other end,
// where its output comes out and keys go in.
type terminal struct {
	inside, outside *os.File
	shown           *lines
	closed          chan struct{}
}

func newTerminal(t *testing.T, columns, rows uint16) *terminal {
	t.Helper()
	outside, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	control := func(request uintptr, value unsafe.Pointer) {
		if _, _, err := syscall.Syscall(syscall.SYS_IOCTL, outside.Fd(), request, uintptr(value)); err != 0 {
			t.Fatal(err)
		}
	}
	var unlock, number uint32
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&[4]uint16{rows, columns}))
	inside, err := os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &terminal{inside, outside, newLines(), make(chan struct{})}
	go func() {
		defer close(p.closed)
		_, _ = io.Copy(p.shown, outside) // until nobody has the other end open
		outside.Close()
	}()
	return p
}

// press types keys, with time for a frame after each.
func (p *terminal) press(t *testing.T, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if _, err := p.outside.WriteString(k); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// A proxy shows on the screen what passes, and no secret, in none of the forms
// in which messages are shown, nor are there any in its own log; be its
// recording a file, a row of small ones, or in memory alone.
func TestSecretsNotOnATerminal(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"in memory": {"--no-record"}, "in a file": nil, "in segments": {"--max-size", "2KiB", "--keep", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secretsOnATerminal(t, args...)
		})
	}
}

// startOnTerminal starts a proxy that has a screen.
func startOnTerminal(t *testing.T, env []string, args ...string) (*proxy, *terminal) {
	t.Helper()
	tty := newTerminal(t, 160, 50)
	p := &proxy{stderr: newLines(), exited: make(chan struct{})}
	p.cmd = exec.Command(program(t), append([]string{"run", "--listen", freeAddr(t)}, args...)...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty.inside, tty.inside, p.stderr
	p.cmd.Env = append(append(quietEnv(t), "TERM=xterm-256color"), env...)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.inside.Close()
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(p.kill)
	p.addr = p.stderr.find(t, listening, p.exited)[1]
	return p, tty
}

func secretsOnATerminal(t *testing.T, args ...string) {
	t.Helper()
	seeded := &seeds{}
	upstream := seeded.serve(t)
	p, tty := startOnTerminal(t, nil, append([]string{"--verbose", "--upstream", upstream}, args...)...)
	for range 3 {
		if err := seeded.asks().converse(t.Context(), p.addr); err != nil {
			t.Fatal(err)
		}
	}
	tty.press(t, "1", "2", "g")
	for range 30 {
		tty.press(t, "\r", "v", "v", "v", "v", "\x1b") // and not "q": an entry of a deleted segment has no view to leave
		time.Sleep(100 * time.Millisecond)             // or escape and "j" are one key
		tty.press(t, "j")
	}
	tty.press(t, "3", "4", "5", "E")
	p.stop(t)
	<-tty.closed
	text := tty.shown.String()
	for _, what := range []string{"NACK", "public-node", "CLOSE"} {
		if !strings.Contains(text, what) {
			t.Errorf("the terminal does not show %q:\n%s", what, text)
		}
	}
	seeded.absent(t, map[string][]byte{"the terminal": []byte(text), "the log": []byte(p.stderr.String())})
}
