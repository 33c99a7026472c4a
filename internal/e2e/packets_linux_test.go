package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/session"
)

// systemTool is the path of a program of the system, which make installs.
func systemTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is not installed: run make %s", name, name)
	default:
		t.Skipf("%s is not installed: run make %s", name, name)
	}
	return path
}

// dumped is a running tcpdump.
type dumped struct {
	file   string
	stderr *lines
	cmd    *exec.Cmd
	exited chan struct{}
	marker net.Listener
}

// dump captures with tcpdump what passes at a port.
func dump(t *testing.T, addr string, args ...string) *dumped {
	t.Helper()
	path := systemTool(t, "tcpdump")
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	d := &dumped{file: filepath.Join(t.TempDir(), "packets.pcap"), stderr: newLines(), exited: make(chan struct{})}
	if d.marker, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.marker.Close() })
	_, marker, _ := net.SplitHostPort(d.marker.Addr().String())
	args = append(args, "-B", "32768", "-s", "66000", "-U", "--immediate-mode", "-w", d.file, "tcp port "+port+" or tcp port "+marker)
	d.cmd = exec.Command(path, args...)
	d.cmd.Stderr = d.stderr
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = d.cmd.Wait()
		close(d.exited)
	}()
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		<-d.exited
	})
	begun := d.stderr.find(t, regexp.MustCompile(`listening on|permission`), d.exited)
	if begun[0] == "permission" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("tcpdump may not capture: %s", d.stderr)
		}
		t.Skipf("this user may not capture packets")
	}
	return d
}

// stop ends the capture, once it has everything that passed before.
func (d *dumped) stop(t *testing.T) string {
	t.Helper()
	const last = "the last packet of the test"
	conn, err := net.Dial("tcp", d.marker.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, last)
	eventually(t, "the last packet in the capture", func() bool {
		b, err := os.ReadFile(d.file)
		return err == nil && bytes.Contains(b, []byte(last))
	})
	if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-d.exited
	d.stderr.find(t, regexp.MustCompile(`^0 packets dropped by kernel`), d.exited)
	return d.file
}

// spoken are the entries of each direction of each stream, by the address of the
// client: what a capture of its leg must have, too.
func spoken(entries []session.Entry) map[string][]string {
	clients, out := map[session.ConnID]string{}, map[string][]string{}
	for _, e := range entries {
		if e.Peer != nil {
			clients[e.Conn] = e.Peer.Client
		}
		text := fmt.Sprint(e.Kind, " ", e.Method, " ", e.Headers)
		switch e.Kind {
		case session.KindOpen, session.KindHeader, session.KindHalfClose:
		case session.KindTrailer:
			text += fmt.Sprint(*e.Status)
		case session.KindMessage:
			text += fmt.Sprintf("%d %d %x", e.Message.Size, e.Message.WireSize, e.Message.Data.Bytes())
		case session.KindGoAway:
			text += fmt.Sprint(*e.GoAway)
		case session.KindCancel:
			if !e.Status.WasReset {
				continue // the proxy closes a connection in its own way
			}
			text += fmt.Sprint(e.Status.Reset)
		default:
			continue
		}
		of := fmt.Sprint(clients[e.Conn], " stream ", e.H2, " ", e.Side)
		out[of] = append(out[of], text)
	}
	return out
}

// What tcpdump has captured of the leg between a client and the proxy is, imported,
// what the proxy has recorded of it.
func TestImportedCaptures(t *testing.T) {
	type captured struct {
		name  string
		need  func(t *testing.T)
		args  []string // of tcpdump
		story func(t *testing.T, c *controlPlane, addr string)
	}
	var all []captured
	for i, v := range variants()[:2] {
		all = append(all, captured{"envoy-" + v.name, func(t *testing.T) { tool(t, "envoy", "envoy", "_bin", "envoy") },
			[][]string{{"-i", "lo"}, {"-i", "any"}}[i],
			func(t *testing.T, c *controlPlane, addr string) { envoyStory(t, v, c, addr, comesBack) }})
	}
	for _, impl := range implementations() {
		if impl.name == "grpc-go" || impl.name == "grpc-java" {
			all = append(all, captured{impl.name, impl.need, []string{"-i", "lo", "--nano"}, func(t *testing.T, c *controlPlane, addr string) {
				grpcStory(t, impl, c, plainBootstrap(t, addr, c.node), comesBack)
			}})
		}
	}
	for _, x := range all {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			x.need(t)
			c := startControlPlane(t, x.name)
			p := startProxy(t, c.Addr())
			d := dump(t, p.addr, x.args...)
			x.story(t, c, p.addr)
			p.stop(t)
			packets := d.stop(t)
			exec.Command("cp", packets, p.file, "/tmp/caps/").Run() // XXX
			imported := filepath.Join(t.TempDir(), "imported.xdsp")
			runProgram(t, "import", packets, "-w", imported)
			recorded, got := p.entries(t), entriesOf(t, imported)
			if diff := cmp.Diff(spoken(recorded), spoken(got)); diff != "" {
				t.Errorf("the proxy has recorded what the capture has not (-), or the other way round (+):\n%.4000s", diff)
			}
			messages := func(of []session.Entry) int {
				return len(slices.DeleteFunc(slices.Clone(of), func(e session.Entry) bool { return e.Message == nil }))
			}
			t.Logf("%d messages, of %d", messages(got), messages(recorded))
			if messages(got) < 10 || factsOf(t, imported).Gaps != 0 {
				t.Errorf("%d messages are imported, with gaps: %+v", messages(got), factsOf(t, imported))
			}
		})
	}
}
