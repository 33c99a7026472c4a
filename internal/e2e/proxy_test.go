package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/gobuild"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

// patience bounds every wait. It is no measure of anything: what is waited for
// takes milliseconds, on a machine that has nothing else to do.
const patience = 60 * time.Second

// full is for what a change hardly breaks alone: another size of the same, another
// way to the same place.
var full = flag.Bool("full", false, "with every combination and size there is, as make full does")

func onlyFull(t *testing.T) {
	t.Helper()
	if !*full {
		t.Skip("left to make full, which runs with -full")
	}
}

var built struct {
	once      sync.Once
	dir, path string
	err       error
}

func TestMain(m *testing.M) {
	if target := os.Getenv(clientVariable); target != "" {
		os.Exit(wrappedClient(target))
	}
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// program builds xdsproxy once and returns its path, or the path of the binary
// that E2E_BINARY names.
func program(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.path = os.Getenv("E2E_BINARY"); built.path != "" {
			return
		}
		if built.dir, built.err = os.MkdirTemp("", "xdsproxy-e2e"); built.err != nil {
			return
		}
		built.path = filepath.Join(built.dir, "xdsproxy")
		built.err = errors.Join(
			gobuild.Program(exec.Command("go", "build", "-o", built.path, "github.com/xdsproxy/xdsproxy/cmd/xdsproxy")),
			openScripts(),
		)
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// openScripts opens what only other programs read, so that go test runs these tests again
// when it has changed.
func openScripts() error {
	list := []string{"../../docs/read_xdsp.py"}
	for _, pattern := range []string{"testdata/grpc-*/*.js", "testdata/grpc-*/*.py", "testdata/grpc-*/*.java"} {
		of, err := filepath.Glob(pattern)
		if err != nil || len(of) == 0 {
			return fmt.Errorf("%s: %v, %w", pattern, of, err)
		}
		list = append(list, of...)
	}
	for _, name := range list {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		_ = f.Close()
	}
	return nil
}

// proxy is a running xdsproxy that records into a file.
type proxy struct {
	addr, file string
	stderr     *lines
	stdout     *lines // nil: nobody wants to know
	cmd        *exec.Cmd
	exited     chan struct{}
	err        error // of Wait; valid when exited is closed
}

var listening = regexp.MustCompile(`listening on (\S+), upstream (\S+), recording (.+)$`)

// startProxy starts the program in front of upstream, on a port of its choice,
// and waits until it accepts connections.
func startProxy(t *testing.T, upstream string) *proxy {
	t.Helper()
	return startProxyWith(t, upstream, setup{})
}

// setup is what is special about how a proxy is started.
type setup struct {
	listen string   // a free address if empty
	file   string   // of the recording; in a directory of its own if empty
	args   []string // after the others
	env    []string
}

func startProxyWith(t *testing.T, upstream string, s setup) *proxy {
	t.Helper()
	if s.listen == "" {
		s.listen = freeAddr(t)
	}
	p := &proxy{file: filepath.Join(t.TempDir(), "session.xdsp"), stderr: newLines(), exited: make(chan struct{})}
	if s.file != "" {
		p.file = s.file
	}
	args := append([]string{"run", "--headless", "--listen", s.listen, "--upstream", upstream, "-w", p.file}, s.args...)
	p.cmd = exec.Command(program(t), args...)
	p.cmd.Stderr = p.stderr
	p.cmd.Env = append(quietEnv(t), s.env...)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("stderr of xdsproxy:\n%s", p.stderr)
		}
	})
	found := p.stderr.find(t, listening, p.exited)
	p.addr = found[1]
	if found[2] != upstream || found[3] != p.file {
		t.Errorf("ready line %q names upstream %s and recording %s; want %s and %s", found[0], found[2], found[3], upstream, p.file)
	}
	return p
}

// quietEnv is an environment whose state directory is the test's own.
func quietEnv(t *testing.T) []string {
	return append(os.Environ(), "XDG_STATE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_RUNTIME_DIR="+t.TempDir())
}

func (p *proxy) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// stop ends the proxy as a person would, and requires that it says so itself.
func (p *proxy) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("the proxy is gone: %v", err)
	}
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Fatal("the proxy does not end on SIGTERM")
	}
	if p.err != nil {
		t.Fatalf("after SIGTERM: %v", p.err)
	}
}

// entries are those of the whole recording.
func (p *proxy) entries(t *testing.T) []session.Entry {
	t.Helper()
	return recordertest.Entries(t, p.file)
}

// line is an object of watch -o jsonl.
type line struct {
	Schema  string    `json:"schema"`
	Seq     uint64    `json:"seq"`
	Time    time.Time `json:"time"`
	Conn    uint64    `json:"conn"`
	Stream  uint64    `json:"stream"`
	Client  string    `json:"client"`
	Side    string    `json:"side"`
	Kind    string    `json:"kind"`
	Method  string    `json:"method"`
	Variant string    `json:"variant"`
	Type    string    `json:"type"`
	TypeURL string    `json:"type_url"`
	What    string    `json:"what"`
	Also    []string  `json:"also"`
	Version string    `json:"version"`
	Nonce   string    `json:"nonce"`
	Names   []string  `json:"names"`
	Added   []string  `json:"added"`
	Removed []string  `json:"removed"`
	Error   struct {
		Code    int32  `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Size     int64    `json:"size"`
	Masked   bool     `json:"masked"`
	Problems []string `json:"problems"`
}

// watch reads the recording as a script would.
func (p *proxy) watch(t *testing.T) []line {
	t.Helper()
	var out []line
	for s := bufio.NewReader(bytes.NewReader(p.run(t, "watch", p.file, "-o", "jsonl", "--no-follow"))); ; {
		text, err := s.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(text) == 0 {
			return out
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatalf("watch -o jsonl: %v in %q", err, text)
		}
		out = append(out, l)
	}
}

// facts is the object of info -o json.
type facts struct {
	Complete    bool   `json:"complete"`
	Damaged     bool   `json:"damaged"`
	Entries     uint64 `json:"entries"`
	Messages    uint64 `json:"messages"`
	Streams     uint64 `json:"streams"`
	Connections uint64 `json:"connections"`
	Gaps        uint64 `json:"gaps"`
	Lost        uint64 `json:"lost"`
	// PastForgotten is what rules had to forget of the past; 0 where info does not tell.
	PastForgotten uint64 `json:"past_forgotten"`
}

func (p *proxy) info(t *testing.T) facts {
	t.Helper()
	return factsOf(t, p.file)
}

func factsOf(t *testing.T, recording string) facts {
	t.Helper()
	var f facts
	if err := json.Unmarshal(runProgram(t, "info", recording, "-o", "json"), &f); err != nil {
		t.Fatalf("info -o json: %v", err)
	}
	return f
}

// show prints one entry in full, as JSON.
func (p *proxy) show(t *testing.T, seq uint64) string {
	t.Helper()
	return string(p.run(t, "show", p.file, strconv.FormatUint(seq, 10), "-o", "json"))
}

func (p *proxy) run(t *testing.T, args ...string) []byte {
	t.Helper()
	return runProgram(t, args...)
}

// runProgram runs a command of the program that must succeed, and returns its
// output.
func runProgram(t *testing.T, args ...string) []byte {
	t.Helper()
	path := program(t) // built first, however long that takes
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = quietEnv(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("xdsproxy %v: %v\n%s", args, err, &stderr)
	}
	return out
}
