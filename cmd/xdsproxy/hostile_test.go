package main

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// leap SCRIPT FILE makes a recording of a conversation whose last entries are of
// times that somebody made up: nine years later, eighteen years later, and the
// latest that there is.
func leap(ts *testscript.TestScript, neg bool, args []string) {
	s, err := script.Parse(args[0], []byte(ts.ReadFile(args[0])))
	ts.Check(err)
	log, err := recorder.Create(ts.MkAbs(args[1]), recorder.Options{NoTicks: true})
	ts.Check(err)
	var last time.Time
	for e := range s.Entries() {
		last = e.Time
		log.Append(e)
	}
	for _, at := range []time.Time{last.AddDate(9, 0, 0), last.AddDate(18, 0, 0), time.Unix(0, math.MaxInt64)} {
		log.Append(session.Entry{Kind: session.KindTime, Side: session.Proxy, Time: at})
	}
	ts.Check(log.Close())
}

// Every command that reads ends when it is asked to, also while it waits for
// what a pipe has not brought yet.
func TestSignalWhileReading(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no named pipes")
	}
	whole, err := os.ReadFile(demoRecording(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"status PIPE", "tree PIPE demo-envoy", "check PIPE", "watch PIPE", "watch PIPE --no-follow", "show PIPE 1..",
		"info PIPE", "export PIPE -o csv", "export PIPE -o script", "diff PIPE ingress",
		"import PIPE -w PIPE.xdsp",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "PIPE")
			if err := mkfifo(name); err != nil {
				t.Skip(err)
			}
			cmd := command(t, strings.Fields(strings.ReplaceAll(args, "PIPE", name))...)
			var complaints strings.Builder
			cmd.Stderr = &complaints
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			to, err := os.OpenFile(name, os.O_WRONLY, 0) // when there is a reader
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			if _, err := to.Write(whole[:len(whole)/2]); err != nil {
				t.Fatal(err)
			}
			interrupted(t, cmd)
			if t.Failed() {
				t.Log(complaints.String())
			}
		})
	}
}

// The same of standard input.
func TestSignalWhileWaitingForInput(t *testing.T) {
	cmd := command(t, "watch", "-")
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	whole, err := os.ReadFile(demoRecording(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Write(whole[:len(whole)-1]); err != nil {
		t.Fatal(err)
	}
	if _, err := from.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	interrupted(t, cmd)
}

// A command that waits for its configuration or for a bootstrap ends as well; a
// file that a bootstrap refers to is not waited for.
func TestSignalWhileStarting(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no named pipes")
	}
	newPipe := func(t *testing.T) string {
		pipe := filepath.Join(t.TempDir(), "PIPE")
		if err := mkfifo(pipe); err != nil {
			t.Skip(err)
		}
		return pipe
	}
	for _, args := range []string{"config --config PIPE", "wrap --bootstrap PIPE true {}", "wrap true -c PIPE", "check --bootstrap PIPE"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			pipe := newPipe(t)
			cmd := command(t, strings.Fields(strings.Replace(args, "PIPE", pipe, 1))...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			to, err := os.OpenFile(pipe, os.O_WRONLY, 0) // when there is a reader
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			interrupted(t, cmd)
		})
	}
	t.Run("secret", func(t *testing.T) {
		pipe := newPipe(t)
		bootstrap := filepath.Join(filepath.Dir(pipe), "envoy.yaml")
		text := `
static_resources:
  clusters:
  - name: xds
    transport_socket:
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
        common_tls_context: {validation_context_sds_secret_config: {name: s, sds_config: {path_config_source: {path: "` + pipe + `"}}}}
    load_assignment: {endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 1}}}}]}]}
dynamic_resources: {ads_config: {grpc_services: [{envoy_grpc: {cluster_name: xds}}]}}
`
		if err := os.WriteFile(bootstrap, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := command(t, "wrap", "--bootstrap", bootstrap, "true", "{}").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "no regular file") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// What is wrong with a file is said in a sentence, however long a word in it is.
func TestHostileConfiguration(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a long value":       {"drain: " + strings.Repeat("9", 1000_000), "drain"},
		"a long alias":       {"drain: *" + strings.Repeat("x", 1000_000), "anchor"},
		"a long key":         {strings.Repeat("x", 1000) + ": 1", "unknown key"},
		"directives":         {strings.Repeat("%TAG !a! x\n", 50_000) + "---\na: 1", "more directives than can be read"},
		"an alias of itself": {"listeners: &a [*a]", "line 1"},
		"deep":               {"listeners: " + strings.Repeat("[", 500_000), "depth"},
		"runes":              {`"\e[2J\u009b\u202e\u2028": 1`, `unknown key "\\x1b[2J`},
		"a value of runes":   {`upstream: "\e[2J\u009b\u202e\u2028:1"`, `\\x1b[2J`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, err strings.Builder
			code := main1([]string{"config", "--config", file}, strings.NewReader(""), &out, &err)
			text := strings.ReplaceAll(err.String(), file, "")
			if code != console.ExitUsage || !strings.Contains(text, strings.ReplaceAll(c.want, `\\`, `\`)) || len(text) > 3*console.MaxSentence {
				t.Errorf("%d: %d bytes\n%.500s", code, len(text), text)
			}
			if i := strings.IndexFunc(out.String()+text, func(r rune) bool { return r != '\n' && (!unicode.IsPrint(r) || r == unicode.ReplacementChar) }); i >= 0 {
				t.Errorf("an unprintable character in %q", text)
			}
		})
	}
}

// interrupted asks a command to end.
func interrupted(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	exit, is := errors.AsType[*exec.ExitError](cmd.Wait())
	if !is || exit.ExitCode() != console.ExitInterrupted {
		t.Errorf("it ended with %v", exit)
	}
}
