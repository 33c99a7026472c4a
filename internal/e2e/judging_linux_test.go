package e2e

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/recorder"
)

// manyClusters is a DiscoveryResponse with so many clusters, each with endpoints
// of its own to come.
func manyClusters(many int) []byte {
	text := func(out []byte, field protowire.Number, s []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(out, field, protowire.BytesType), s)
	}
	out := text(nil, 1, []byte("v1"))
	var cluster, packed []byte
	for n := range many {
		name := fmt.Appendf(nil, "outbound|80||service-%07d", n)
		cluster = text(cluster[:0], 1, name)
		cluster = protowire.AppendVarint(protowire.AppendTag(cluster, 2, protowire.VarintType), 3) // type: EDS
		packed = text(text(packed[:0], 1, []byte(resource.ClusterType)), 2, cluster)
		out = text(out, 2, packed)
	}
	return text(text(out, 4, []byte(resource.ClusterType)), 5, []byte("n1"))
}

var unjudged = regexp.MustCompile(`warning: the rules had no time for what was recorded from entry \d+ on`)

// A response that takes the rules long keeps neither a proxy nor a command from
// ending, and what was not judged is said. A command that is ended has not computed
// what check of all of it does: processor time, which no load changes.
func TestJudgingDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	upstream := gives(t, manyClusters(400_000))
	oneCore := []string{"GOMAXPROCS=1", "GOGC=5"} // slowly: it takes long, and little memory

	recording := ""
	for _, way := range []string{"headless", "screen", "detached"} {
		p := judgingProxy(t, upstream, way, oneCore)
		time.Sleep(time.Second) // it is in the middle of it
		p.stop(t)
		if said := p.stderr.String(); !unjudged.MatchString(said) || !strings.Contains(said, "recorded "+p.file) {
			t.Errorf("%s: it said\n%s", way, said)
		}
		recording = p.file
	}

	whole := command(t, oneCore, "check", recording, "--fail-on=never")
	if said, err := whole.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	computed := func(cmd *exec.Cmd) time.Duration {
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	for _, name := range []string{"check", "status"} {
		cmd := command(t, oneCore, name, recording)
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is in the middle of it", func() bool {
			return computedSoFar(t, cmd.Process.Pid) > computed(whole)/8
		})
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the exit code says it
		if computed(cmd) > computed(whole)*3/4 {
			t.Errorf("%s: it computed for %v when it ended; all of the judging takes %v", name, computed(cmd), computed(whole))
		}
		if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(said.String(), "stopped while the entry after ") {
			t.Errorf("%s: exit code %d; it said\n%s", name, code, &said)
		}
	}
}

// computedSoFar is the processor time that a process has taken (proc_pid_stat(5)),
// to a hundredth of a second.
func computedSoFar(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before it may have spaces
	var user, system time.Duration
	if _, err := fmt.Sscanf(strings.Join(strings.Fields(rest)[11:13], " "), "%d %d", &user, &system); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return (user + system) * time.Second / 100
}

func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program(t), args...)
	cmd.Env = append(quietEnv(t), env...)
	return cmd
}

// judgingProxy is a proxy that has recorded a response, and judges it.
func judgingProxy(t *testing.T, upstream, way string, env []string) *proxy {
	t.Helper()
	var p *proxy
	var tty *terminal
	if way == "headless" {
		p = startProxyWith(t, upstream, setup{env: env})
	} else {
		file := filepath.Join(t.TempDir(), "session.xdsp")
		p, tty = startOnTerminal(t, env, "--upstream", upstream, "-w", file)
		p.file = file
	}
	conn, err := grpc.NewClient("passthrough:///"+p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{}), grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, adsMethod)
	if err != nil {
		t.Fatal(err)
	}
	if way == "detached" {
		eventually(t, "a client is there", func() bool {
			facts, err := recorder.Inspect(p.file)
			return err == nil && facts.Connections == 1
		})
		tty.press(t, "q")
		eventually(t, "it asks", func() bool { return strings.Contains(tty.shown.String(), "detach") })
		tty.press(t, "d")
		eventually(t, "it is detached", func() bool { return strings.Contains(p.stderr.String(), "detached: ") })
	}
	if err := stream.SendMsg(&[]byte{}); err != nil {
		t.Fatal(err)
	}
	var got []byte
	if err := stream.RecvMsg(&got); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is recorded", func() bool {
		facts, err := recorder.Inspect(p.file)
		return err == nil && facts.Messages == 2
	})
	return p
}
