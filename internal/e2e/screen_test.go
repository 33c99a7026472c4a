package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pane is a program in a real terminal.
type pane struct {
	sent   string // all that came to the terminal, in this file
	heard  string // all that the program heard from it, in this file, and more
	t      *testing.T
	socket string
	asked  int // how often: see after
}

// newPane starts a program in a terminal of its own. Without tmux the test is
// left out, in CI, too: TestSecretsNotOnATerminal sees the screen without it.
func newPane(t *testing.T, columns, rows int, args ...string) *pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not there; internal/e2e/tools/tmux.sh installs it")
	}
	dir := t.TempDir()
	p := &pane{t: t, socket: filepath.Join(dir, "tmux"), sent: filepath.Join(dir, "sent"), heard: filepath.Join(dir, "heard")}
	words := []string{"exec"}
	for _, a := range append([]string{program(t)}, args...) {
		words = append(words, "'"+a+"'")
	}
	home := t.TempDir()
	p.tmux("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows),
		"-e", "TEA_TRACE="+p.heard, "-e", "XDG_STATE_HOME="+home, "-e", "XDG_CONFIG_HOME="+home, "-e", "XDG_RUNTIME_DIR="+home, strings.Join(words, " "),
		";", "set", "remain-on-exit", "on", ";", "pipe-pane", "cat >"+p.sent)
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", p.socket, "kill-server").Run() })
	return p
}

func (p *pane) tmux(args ...string) string {
	p.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (p *pane) screen() string { p.t.Helper(); return p.tmux("capture-pane", "-p") }

// press presses keys, by tmux's names, one after the other.
func (p *pane) press(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		p.tmux("send-keys", k)
	}
}

func (p *pane) typed(text string) { p.t.Helper(); p.tmux("send-keys", "-l", text) }

// shows waits until all texts are on the screen.
func (p *pane) shows(texts ...string) string {
	p.t.Helper()
	var screen string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		screen = p.screen()
		missing := ""
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				missing = text
			}
		}
		if missing == "" {
			return screen
		}
	}
	sent, _ := os.ReadFile(p.sent)
	p.t.Fatalf("the screen does not show %q:\n%s\nthe program has heard:\n%sand has written last: %q", texts, screen, p.lastHeard(), sent[max(0, len(sent)-2000):])
	return ""
}

// lastHeard are the last keys that came to the program, as it read them.
func (p *pane) lastHeard() string {
	text, err := os.ReadFile(p.heard)
	if err != nil {
		return err.Error() + "\n"
	}
	var inputs []string
	for line := range strings.Lines(string(text)) {
		if _, input, is := strings.Cut(line, " input: "); is {
			inputs = append(inputs, line[:min(len(line), len("bubbletea: 2026/01/02 15:04:05"))]+" "+input)
		}
	}
	return strings.Join(inputs[max(0, len(inputs)-12):], "") + "\n"
}

// ended waits until the program has ended, with status 0 as far as tmux knows: it
// may miss that.
func (p *pane) ended() {
	p.t.Helper()
	var state string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		state = strings.TrimSpace(p.tmux("display-message", "-p", "#{pane_dead} #{pane_dead_status}"))
		if state == "1 0" || state == "1" {
			return
		}
	}
	p.t.Fatalf("the program has not ended well: dead and its status are %q:\n%s", state, p.screen())
}

func (p *pane) pid() int {
	p.t.Helper()
	var pid int
	if _, err := fmt.Sscan(p.tmux("display-message", "-p", "#{pane_pid}"), &pid); err != nil {
		p.t.Fatal(err)
	}
	return pid
}

// The demo tells its story: who rejects what, why, and what had changed.
func TestScreenOfTheDemo(t *testing.T) {
	t.Parallel()
	p := newPane(t, 80, 24, "demo")
	p.shows("demo-envoy", "NACKED")
	p.press("!")
	p.shows("[2 Timeline]", ">!") // the message about the finding is gone when the next one comes
	p.press("/")
	p.typed("kind:nack")
	p.shows("kind:nack", "enter")
	p.press("Enter")
	p.shows("filter: kind:nack", "NACK")
	p.press("Enter")
	p.shows("still on", "Error adding/updating cluster(s)")
	p.press("d")
	p.shows("connect_timeout", "+", "-")
	p.press("q", "q", "L")
	p.shows("NACK", "xdsproxy")
	p.press("q", "?")
	p.shows("follow")
	p.press("q", "q")
	p.shows("read it with", "what went wrong")
}

// A window that changes its size, to what is too small for anything, too.
func TestScreenResized(t *testing.T) {
	t.Parallel()
	p := newPane(t, 120, 35, "open", filepath.Join("..", "..", "check", "testdata", "sessions", "demo.xdsp"))
	p.shows("[2 Timeline]")
	for _, key := range []string{"1", "2", "Enter", "3", "4", "5", "?"} {
		p.press(key)
		for _, size := range [][2]int{{160, 50}, {80, 24}, {40, 10}, {20, 5}, {3, 2}, {60, 15}, {120, 35}} {
			p.tmux("resize-window", "-x", fmt.Sprint(size[0]), "-y", fmt.Sprint(size[1]))
		}
	}
	p.press("q", "2")
	p.shows("[2 Timeline]")
	p.tmux("resize-window", "-x", "30", "-y", "8")
	p.shows("too small")
	p.tmux("resize-window", "-x", "80", "-y", "24")
	p.shows("[2 Timeline]")
	p.press("q")
	p.ended()
}

// With clients connected, leaving asks first; and the proxy can go on without
// its screen.
func TestScreenDetached(t *testing.T) {
	t.Parallel()
	upstream := ads(t)
	p := newPane(t, 80, 24, "run", "--listen", freeAddr(t), "--upstream", upstream)
	p.shows("No client has connected yet", "127.0.0.1:")
	addr := listenerOf(t, p.pid())
	c := connect(t, addr)
	p.shows("1 client ")
	p.press("q")
	p.shows("1 client is connected", "detach", "stop", "cancel")
	p.press("c")
	p.shows("[1 Clients]")
	p.press("q", "d")
	p.shows("detached: the proxy goes on")
	c.asks(t)
	p.press("C-c")
	p.shows("recorded")
	p.ended()
}

// A terminal that goes away takes only the screen with it. When the last client
// has left, the proxy ends.
func TestScreenGone(t *testing.T) {
	t.Parallel()
	upstream := ads(t)
	p := newPane(t, 80, 24, "run", "--listen", freeAddr(t), "--upstream", upstream)
	p.shows("No client has connected yet")
	pid := p.pid()
	c := connect(t, listenerOf(t, pid))
	p.shows("1 client ")
	p.tmux("kill-server")
	for range 5 {
		c.asks(t)
		time.Sleep(50 * time.Millisecond)
	}
	c.close()
	endsSoon(t, pid)
}

// One that was detached from its screen, and then lost its terminal, ends with
// the last client, too.
func TestScreenDetachedAndGone(t *testing.T) {
	t.Parallel()
	upstream := ads(t)
	p := newPane(t, 80, 24, "run", "--listen", freeAddr(t), "--upstream", upstream)
	p.shows("No client has connected yet")
	pid := p.pid()
	c := connect(t, listenerOf(t, pid))
	p.shows("1 client ")
	p.press("q")
	p.shows("detach")
	p.press("d")
	p.shows("detached: the proxy goes on")
	p.tmux("kill-server")
	c.asks(t)
	time.Sleep(100 * time.Millisecond)
	c.asks(t)
	c.close()
	endsSoon(t, pid)
}

// endsSoon waits for the end of a process.
func endsSoon(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if !alive(pid) {
			return
		}
	}
	t.Error("the proxy is still there, without a terminal and without clients")
}

// listenerOf is the address that a process listens on.
func listenerOf(t *testing.T, pid int) string {
	t.Helper()
	inodes := map[string]bool{}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Skipf("there is no /proc here: %v", err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name())); err == nil {
			inodes[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
		}
	}
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) > 9 && f[3] == "0A" && inodes[f[9]] {
			var port int
			if _, err := fmt.Sscanf(f[1][strings.IndexByte(f[1], ':')+1:], "%X", &port); err == nil {
				return fmt.Sprintf("127.0.0.1:%d", port)
			}
		}
	}
	t.Fatal("the program listens nowhere")
	return ""
}
