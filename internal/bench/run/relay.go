package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// relay is something to put between the two ends of a load.
type relay struct {
	name    string
	pkg     string // a program of this module
	program string // a program that has to be installed
	// command is the relay between two addresses. Files it needs go into dir.
	command func(b *bench, dir, listen, upstream string) (*exec.Cmd, error)
	// announces says that the relay writes a line with "listening on" to
	// stderr; the others are known to be up when they accept a connection.
	announces bool
	hint      string // what may help when it does not start
	grows     bool   // it takes part in the loads of a curve
}

func (r relay) id() string { return r.name }

// direct is no relay at all: what the two ends cost each other.
const direct = "direct"

// floor is the least that a tap on the wire can cost.
const floor = "tcprelay"

// withRules is xdsproxy as it is started without a thought.
const withRules = "xdsproxy"

// ownPackage is the program that all of this is about.
const ownPackage = "./cmd/xdsproxy"

// recordOnly is xdsproxy that records and judges nothing.
const recordOnly = "recording"

var relays = []relay{
	{name: direct},
	{name: floor, pkg: "./internal/bench/tcprelay", command: tcprelay, grows: true},
	{name: "rawrelay", pkg: "./internal/bench/rawrelay", command: rawrelay},
	{name: "haproxy", program: "haproxy", command: haproxy},
	{name: "nginx", program: "nginx", command: nginx, grows: true},
	{name: "envoy", program: envoyProgram, command: envoy},
	{name: recordOnly, pkg: ownPackage, command: onlyRecording, announces: true},
	{name: withRules, pkg: ownPackage, command: xdsproxy, announces: true, grows: true},
}

func tcprelay(b *bench, _, listen, upstream string) (*exec.Cmd, error) {
	return exec.Command(b.bin("tcprelay"), "-before", "-listen", listen, "-upstream", upstream), nil
}

func rawrelay(b *bench, _, listen, upstream string) (*exec.Cmd, error) {
	return exec.Command(b.bin("rawrelay"), "-listen", listen, "-upstream", upstream), nil
}

// xdsproxy runs with its defaults, whatever the one who measures has set, and
// leaves no trace in their state directory.
func xdsproxy(b *bench, dir, listen, upstream string) (*exec.Cmd, error) {
	cmd := exec.Command(b.bin("xdsproxy"), "run", "--headless", "--listen", listen, "--upstream", upstream,
		"-w", filepath.Join(dir, recordingName))
	cmd.Env = ownEnv(dir)
	return cmd, nil
}

func ownEnv(dir string) []string {
	return append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "XDSPROXY_") }),
		"XDG_STATE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_RUNTIME_DIR="+dir)
}

// onlyRecording is xdsproxy without its rules.
func onlyRecording(b *bench, dir, listen, upstream string) (*exec.Cmd, error) {
	cmd, err := xdsproxy(b, dir, listen, upstream)
	if err != nil {
		return nil, err
	}
	cmd.Args = append(cmd.Args, "--no-check")
	return cmd, nil
}

const recordingName = "bench.xdsp"

const haproxyConfig = `global
    nbthread 1
    maxconn 8192
    tune.h2.initial-window-size 1048576
    tune.h2.max-concurrent-streams 1024
defaults
    mode http
    timeout connect 5s
    timeout client 1h
    timeout server 1h
    timeout tunnel 1h
frontend in
    bind %s proto h2
    default_backend out
backend out
    server s %s proto h2
`

func haproxy(_ *bench, dir, listen, upstream string) (*exec.Cmd, error) {
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, fmt.Appendf(nil, haproxyConfig, listen, upstream), 0o644); err != nil {
		return nil, err
	}
	return exec.Command("haproxy", "-db", "-q", "-f", file), nil
}

const nginxConfig = `daemon off;
worker_processes 1;
pid nginx.pid;
events { worker_connections 16384; }
http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    keepalive_requests 100000000;
    http2_max_concurrent_streams 1024;
    client_max_body_size 0;
    client_body_timeout 1h;
    send_timeout 1h;
    keepalive_timeout 1h;
    server {
        listen %s http2;
        location / {
            grpc_pass grpc://%s;
            grpc_read_timeout 1h;
            grpc_send_timeout 1h;
        }
    }
}
`

func nginx(_ *bench, dir, listen, upstream string) (*exec.Cmd, error) {
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, nginxConfig, listen, upstream), 0o644); err != nil {
		return nil, err
	}
	return exec.Command("nginx", "-p", dir, "-e", "stderr", "-c", file), nil
}

// process is a relay that runs.
type process struct {
	name   string
	cmd    *exec.Cmd
	stderr *tail
	exited chan struct{} // closed when it has been waited for
}

// start returns when the relay accepts connections.
func (r relay) start(ctx context.Context, b *bench, dir, listen, upstream string) (*process, error) {
	p, err := r.launch(ctx, b, dir, listen, upstream)
	if err != nil && ctx.Err() == nil && r.hint != "" {
		err = hinted{err, r.hint}
	}
	return p, err
}

func (r relay) launch(ctx context.Context, b *bench, dir, listen, upstream string) (*process, error) {
	cmd, err := r.command(b, dir, listen, upstream)
	if err != nil {
		return nil, err
	}
	p := &process{name: r.name, cmd: cmd, stderr: &tail{announced: make(chan struct{})}, exited: make(chan struct{})}
	cmd.Stderr = p.stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
	}()
	if err := p.waitUp(ctx, listen, r.announces); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

func (p *process) waitUp(ctx context.Context, addr string, announces bool) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if announces {
		select {
		case <-p.stderr.announced:
			return nil
		case <-p.exited:
			return fmt.Errorf("%s ended before it was ready: %s", p.name, p.stderr.last())
		case <-ctx.Done():
			return fmt.Errorf("%s did not say that it listens: %w", p.name, ctx.Err())
		}
	}
	for {
		if c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr); err == nil {
			return c.Close()
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-p.exited:
			return fmt.Errorf("%s ended before it was ready: %s", p.name, p.stderr.last())
		case <-ctx.Done():
			return fmt.Errorf("%s does not accept connections on %s: %w", p.name, addr, ctx.Err())
		}
	}
}

// stop ends this one process and returns the CPU time of its whole life, that
// of its children included.
func (p *process) stop() time.Duration {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.stderr.Write([]byte(err.Error()))
	}
	select {
	case <-p.exited:
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// tail keeps what a process wrote to stderr, up to a limit, and notices the
// line that announces readiness. Only the goroutine that copies for the
// process writes to it; read it after exited is closed.
type tail struct {
	buf       bytes.Buffer
	announced chan struct{}
	done      bool
}

const tailLimit = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	if t.buf.Len() < tailLimit {
		t.buf.Write(p)
	}
	if !t.done && bytes.Contains(t.buf.Bytes(), []byte("listening on ")) {
		t.done = true
		close(t.announced)
	}
	return len(p), nil
}

// last is the line that says what went wrong, or else the last one.
func (t *tail) last() string {
	line := "it said nothing"
	for s := bufio.NewScanner(bytes.NewReader(t.buf.Bytes())); s.Scan(); {
		if _, what, ok := strings.Cut(s.Text(), "xdsproxy: error: "); ok {
			return what
		}
		if strings.TrimSpace(s.Text()) != "" {
			line = s.Text()
		}
	}
	return line
}
