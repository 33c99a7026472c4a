package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// notHere are commands of the README that no test can type, and why. All others are
// typed.
var notHere = map[string]string{
	"kubectl apply -k deploy/overlays/istio":        "needs a cluster",
	"kubectl xds watch -n xdsproxy deploy/xdsproxy": "needs a cluster",
	"xdsproxy open @last":                           "needs a display",
}

// untilThen are commands that go on until someone ends them, and what is waited for.
var untilThen = map[string]string{
	"xdsproxy demo":                                           "grep -q NACK log",
	"xdsproxy wrap envoy -c envoy.yaml":                       "grep -q nack-received log",
	"xdsproxy/bin/xdsproxy wrap envoy -c envoy.yaml":          "grep -q nack-received log",
	"xdsproxy run --upstream 127.0.0.1:15010":                 "grep -q listening log",
	"xdsproxy run --listen :18000 --upstream 127.0.0.1:15010": "grep -q listening log",
	"xdsproxy run --files .":                                  "grep -q watching log",
}

// commandsOf are the lines of the fences of a page, without remarks.
func commandsOf(t *testing.T, path string) (commands []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stepsOf(string(text)) {
		for _, line := range strings.Split(strings.ReplaceAll(s.text, "\\\n", " "), "\n") {
			if line, _, _ = strings.Cut(line, " #"); strings.TrimSpace(line) != "" && line[0] != '#' {
				commands = append(commands, strings.Join(strings.Fields(line), " "))
			}
		}
	}
	return commands
}

// must types a text that has to succeed.
func (s *typist) must(t *testing.T, text string) string {
	t.Helper()
	out, code := s.do(t, text)
	if code != "0" {
		t.Fatalf("exit code %s of\n%s\n%s", code, text, out)
	}
	return out
}

// lasting types a command that goes on until someone ends it, waits until what it
// prints is seen, and ends it. What the one before wrote must not be taken for this
// one's words.
func (s *typist) lasting(t *testing.T, command, wait string) (string, string) {
	t.Helper()
	return s.do(t, "rm -f log\n"+command+" >log 2>&1 & p=$!\n"+
		"until "+wait+" 2>/dev/null; do kill -0 $p || break; sleep 0.2; done\n"+
		wait+"; seen=$?; kill $p; wait $p; code=$?; cat log; [ $seen = 0 ] && (exit $code)")
}

// planes is a control plane that is started again and again, as each play ends with
// its client.
const planes = "while :; do xdsproxy replay plane.xds --as server --listen 127.0.0.1:15010 --idle 5m >>plane.log 2>&1 || sleep 0.1; done &\n"

// newcomer has what a reader of the first pages has: a script of a control plane on
// port 15010 that sends a cluster which Envoy rejects, and a bootstrap of Envoy and
// one of gRPC that lead there.
func newcomer(t *testing.T) *typist {
	t.Helper()
	tutorial := func(name string) []step {
		text, err := os.ReadFile("../../docs/tutorials/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return stepsOf(string(text))
	}
	s := openShell(t)
	// The files are those of two tutorials.
	for _, step := range tutorial("nack-after-an-upgrade.md") {
		if strings.Contains(step.text, "cat >envoy.yaml") || strings.Contains(step.text, "cat >plane.xds") {
			s.must(t, step.text)
		}
	}
	s.must(t, "kill $(jobs -pr); wait\n")
	s.must(t, strings.Split(tutorial("grpc-name-resolution-fails.md")[0].text, "END\ncat >bootstrap")[0]+"END\n"+
		strings.Split(tutorial("grpc-name-resolution-fails.md")[0].text, "END\n")[1]+"END\n"+
		`printf '#!/bin/sh\nGRPC_VERBOSITY=NONE exec python3 client.py echo\n' >my-grpc-client; chmod +x my-grpc-client`+"\n"+
		"sed -i 's/timeout=30/timeout=1/' client.py\n")
	return s
}

// Every command of the README does what a reader expects: it succeeds.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	const readme = "../../README.md"
	if text, err := os.ReadFile(readme); err != nil || strings.Count(string(text), "\n") > 120 {
		t.Errorf("the README is to be read, in at most 120 lines: %v", err)
	}
	commands := commandsOf(t, readme)
	if len(commands) < 20 {
		t.Fatalf("only %d commands were found", len(commands))
	}
	s := newcomer(t)
	s.must(t, planes)
	must := func(text string) string {
		t.Helper()
		return s.must(t, text)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]bool{}
	for _, c := range commands {
		met[c] = true
		wait, lasts := untilThen[c]
		switch {
		case notHere[c] != "":
		case strings.HasPrefix(c, "git clone "):
			// The address leads to this clone.
			if _, err := exec.Command("git", "-C", root, "rev-parse", "HEAD").Output(); err != nil {
				t.Skip("this is no clone: ", err)
			}
			must(fmt.Sprintf("git -c url.'%s'.insteadOf=https://github.com/xdsproxy/xdsproxy -c advice.detachedHead=false %s", root, strings.TrimPrefix(c, "git ")))
		case strings.HasPrefix(c, "make -C xdsproxy build"):
			// It would compile for minutes what the test has: make says what it
			// would do, and the test's program is put where that goes.
			if out := must("env -u MAKEFLAGS -u MAKELEVEL make -n -C xdsproxy build | grep -v ing"); strings.TrimSpace(out) != "go build -tags grpcnotrace -o bin/xdsproxy ./cmd/xdsproxy" {
				t.Errorf("make build does something else: %s", out)
			}
			must(`mkdir xdsproxy/bin && ln -s "$(command -v xdsproxy)" xdsproxy/bin/xdsproxy`)
		case lasts:
			setting := ""
			if strings.HasPrefix(c, "xdsproxy run --upstream") {
				setting = "XDSPROXY_LISTEN=127.0.0.1:18000 " // here the port that it has by itself may be taken
			}
			out, code := s.lasting(t, setting+c, wait)
			if c == "xdsproxy demo" && code == "130" {
				code = "0" // interrupted
			}
			if code != "0" {
				t.Errorf("%s\nexit code %s\n%s", c, code, out)
			}
		default:
			if c == "xdsproxy watch @last --no-follow" {
				// @last is what the reader's own Envoy has just gone through.
				must("rm -f log; xdsproxy wrap envoy -c envoy.yaml >log 2>&1 & p=$!\n" +
					"until grep -q nack-received log 2>/dev/null; do sleep 0.2; done; kill $p; wait $p")
			}
			out := must(c)
			if strings.Contains(c, "kind:nack") && (!strings.Contains(out, "NACK") || !strings.Contains(out, "connect_timeout")) {
				t.Errorf("%s\nshows no NACK:\n%s", c, out)
			}
		}
	}
	for c := range notHere {
		if !met[c] {
			t.Errorf("%q is not in the README any more", c)
		}
	}
	for c := range untilThen {
		if !met[c] {
			t.Errorf("%q is not in the README any more", c)
		}
	}
}
