package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
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
	// It counts those of others, too, from before its filter was there. What is missing of
	// ours the caller sees.
	if dropped := d.stderr.find(t, regexp.MustCompile(`^\d+ packets dropped by kernel`), d.exited); dropped[0][0] != '0' {
		t.Log(dropped[0])
	}
	return d.file
}

// spoken are the entries of each direction of each stream, by the address from which
// the connection came: what a capture of that leg must have, too.
func spoken(entries []session.Entry, from func(*session.Peer) string) map[string][]string {
	clients, out := map[session.ConnID]string{}, map[string][]string{}
	for _, e := range entries {
		if e.Peer != nil {
			clients[e.Conn] = from(e.Peer)
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

func ofClient(p *session.Peer) string { return p.Client }

// What tcpdump has captured of the leg between a client and the proxy is, imported,
// what the proxy has recorded of it.
func TestImportedCaptures(t *testing.T) {
	t.Parallel()
	type captured struct {
		name  string
		need  func(t *testing.T)
		args  []string // of tcpdump
		story func(t *testing.T, c *controlPlane, addr string)
		ends  bool // the client, with its story
	}
	var all []captured
	for i, v := range variants()[:2] {
		all = append(all, captured{
			"envoy-" + v.name, func(t *testing.T) { tool(t, "envoy", "envoy", "_bin", "envoy") },
			[][]string{{"-i", "lo"}, {"-i", "any"}}[i],
			func(t *testing.T, c *controlPlane, addr string) { envoyStory(t, v, c, addr, comesBack) }, false,
		})
	}
	for _, impl := range implementations() {
		if impl.name == "grpc-go" || impl.name == "grpc-java" {
			all = append(all, captured{impl.name, impl.need, []string{"-i", "lo", "--nano"}, func(t *testing.T, c *controlPlane, addr string) {
				grpcStory(t, impl, c, plainBootstrap(t, addr, c.node), comesBack)
			}, true})
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
			// A proxy that is told to stop does not read what a client said last.
			eventually(t, "the ends of the connections in the recording", func() bool {
				open := 0
				for _, l := range p.watch(t) {
					switch l.Kind {
					case "connect":
						open++
					case "disconnect":
						open--
					}
				}
				return open == 0 || !x.ends
			})
			p.stop(t)
			packets := d.stop(t)
			imported := filepath.Join(t.TempDir(), "imported.xdsp")
			runProgram(t, "import", packets, "-w", imported)
			recorded, got := p.entries(t), recordertest.Entries(t, imported)
			if diff := cmp.Diff(spoken(recorded, ofClient), spoken(got, ofClient)); diff != "" {
				t.Errorf("the proxy has recorded what the capture has not (-), or the other way round (+):\n%.4000s", diff)
			}
			messages := func(of []session.Entry) int {
				return len(slices.DeleteFunc(slices.Clone(of), func(e session.Entry) bool { return e.Message == nil }))
			}
			t.Logf("%d messages, of %d", messages(got), messages(recorded))
			if messages(got) < 10 || factsOf(t, imported).Gaps != 0 {
				t.Errorf("%d messages are imported, with gaps: %+v", messages(got), factsOf(t, imported))
			}
			begunBefore(t, packets, got)
		})
	}
}

// begunBefore requires of the same capture, begun in the middle of the first connection,
// that no message is in it that is not in the whole, that all of the other connections
// are, and that it is said of a connection whose messages it has that the beginning of it
// is missing.
func begunBefore(t *testing.T, packets string, whole []session.Entry) {
	t.Helper()
	systemTool(t, "tshark") // editcap comes with it
	known, clients, first, others := make(map[string]int), clientsOf(whole), "", 0
	for _, e := range whole {
		if e.Message == nil {
			continue
		}
		known[e.Side.String()+string(e.Message.Data.Bytes())]++
		switch client := clients[e.Conn]; {
		case first == "":
			first = client
		case client != first:
			others++
		}
	}
	// How many messages are in a packet differs from run to run, and so does how many
	// packets a connection has.
	frames, midways := withData(t, packets, first), 0
	for _, quarter := range []int{1, 2, 3} {
		last := frames[len(frames)*quarter/4-1]
		dir := t.TempDir()
		rest, imported := filepath.Join(dir, "rest.pcap"), filepath.Join(dir, "rest.xdsp")
		if out, err := exec.Command("editcap", packets, rest, "1-"+last).CombinedOutput(); err != nil {
			t.Fatalf("editcap: %v\n%s", err, out)
		}
		runProgram(t, "import", rest, "-w", imported)
		left, midway, ofFirst, ofOthers := maps.Clone(known), false, 0, 0
		entries := recordertest.Entries(t, imported)
		clients := clientsOf(entries)
		for _, e := range entries {
			midway = midway || clients[e.Conn] == first && e.Note != nil && e.Note.Code == session.NoteMidway
			if e.Message == nil {
				continue
			}
			of := e.Side.String() + string(e.Message.Data.Bytes())
			if left[of]--; left[of] < 0 {
				t.Errorf("without packets 1 to %s there is a message of the %s that nobody sent: %.80q", last, e.Side, of)
			}
			if clients[e.Conn] == first {
				ofFirst++
			} else {
				ofOthers++
			}
		}
		if ofOthers != others || ofFirst > 0 && !midway {
			t.Errorf("without packets 1 to %s: %d messages of other connections, of %d, and %d of the first, of which it is said that its beginning is missing: %v",
				last, ofOthers, others, ofFirst, midway)
		}
		if midway {
			midways++
		}
	}
	if midways == 0 {
		t.Errorf("nothing is left of the first connection, cut within its packets %v", frames)
	}
}

// clientsOf are the addresses from which the connections came.
func clientsOf(entries []session.Entry) map[session.ConnID]string {
	out := make(map[session.ConnID]string)
	for _, e := range entries {
		if e.Peer != nil {
			out[e.Conn] = e.Peer.Client
		}
	}
	return out
}

// withData are the numbers of the packets of the connection from a client's address
// that have data, four at least.
func withData(t *testing.T, packets, client string) []string {
	t.Helper()
	_, port, err := net.SplitHostPort(client)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("tshark", "-r", packets, "-Y", "tcp.len > 0 and tcp.port == "+port, "-T", "fields", "-e", "frame.number").Output()
	frames := strings.Fields(string(out))
	if err != nil || len(frames) < 4 {
		t.Fatalf("tshark finds packets %v of %s: %v", frames, client, err)
	}
	return frames
}

// What tshark has decrypted of TLS can be imported, and what is in TLS still is said
// to be unreadable.
func TestImportedTLS(t *testing.T) {
	t.Parallel()
	systemTool(t, "tshark")
	keys, err := os.Create(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	s := newSecured(t)
	config := s.controlPlane()
	config.KeyLogWriter = keys
	c := startControlPlaneAs(t, "node", xdstest.Options{TLS: config})
	p := startProxyWith(t, c.Addr(), setup{args: s.args(t, legs{server: true})})
	d := dump(t, c.Addr(), "-i", "lo")
	envoyStory(t, variants()[0], c, p.addr, comesBack)
	p.stop(t)
	packets := d.stop(t)

	dir := t.TempDir()
	none := filepath.Join(dir, "none.xdsp")
	cmd := exec.Command(program(t), "import", packets, "-w", none)
	cmd.Env = quietEnv(t)
	said, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(said, []byte("has no xDS")) || !bytes.Contains(said, []byte("2 connections are in TLS and cannot be read")) {
		t.Errorf("of what is in TLS import says: %s, %v", said, err)
	}
	decrypted, imported := filepath.Join(dir, "decrypted.pcapng"), filepath.Join(dir, "imported.xdsp")
	_, port, _ := net.SplitHostPort(c.Addr())
	documented(t, "-U", map[string]string{"leg.pcap": packets, "15012": port, "keys.txt": keys.Name(), "decrypted.pcapng": decrypted})
	runProgram(t, "import", decrypted, "-w", imported)
	ofProxy := func(p *session.Peer) string { return p.Local }
	got := spoken(recordertest.Entries(t, imported), ofClient)
	if diff := cmp.Diff(spoken(p.entries(t), ofProxy), got); diff != "" || len(got) < 4 {
		t.Errorf("the proxy has recorded what was decrypted otherwise:\n%.4000s", diff)
	}
}

// documented runs the command of tshark in docs/formats.md in which there is a word,
// with other names of files, and returns its output.
func documented(t *testing.T, word string, names map[string]string) string {
	t.Helper()
	systemTool(t, "tshark")
	docs, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^tshark (?:.*\\\n)*.*$`)
	for _, command := range line.FindAllString(string(docs), -1) {
		if !strings.Contains(command, word) {
			continue
		}
		for from, to := range names {
			command = strings.ReplaceAll(command, from, to)
		}
		cmd := exec.Command("sh", "-c", command)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, &stderr)
		}
		return string(out)
	}
	t.Fatalf("docs/formats.md has no command of tshark with %q", word)
	return ""
}

// tshark takes apart what was exported, down to the fields of discovery messages,
// and finds nothing wrong with it.
func TestExportedCaptures(t *testing.T) {
	t.Parallel()
	protos, err := filepath.Abs("testdata/protos")
	if err != nil {
		t.Fatal(err)
	}
	for name, service := range map[string]string{"envoy-sotw-nack": "DiscoveryResponse", "grpc-java-nack": "DiscoveryResponse", "envoy-delta-nack": "DeltaDiscoveryResponse"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recording, packets := filepath.Join(sessionsDir, name+".xdsp"), filepath.Join(t.TempDir(), "packets.pcapng")
			runProgram(t, "export", recording, "-w", packets)
			var want []string
			server := ""
			for _, e := range recordertest.Entries(t, recording) {
				if e.Peer != nil {
					_, server, _ = net.SplitHostPort(e.Peer.Upstream)
				}
			}
			for _, l := range (&proxy{file: recording}).watch(t) {
				if l.What == "RESP" || l.What == "DELTA" {
					want = append(want, l.TypeURL+"\t"+l.Nonce)
				}
			}
			out := documented(t, "pbm.", map[string]string{
				"leg.pcapng": packets, "/path/to/protos": protos, "18000": server, ".DiscoveryResponse": "." + service,
			})
			var got []string
			for line := range strings.Lines(out) { // a packet may have several
				types, nonces, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				n := strings.Split(nonces, ",")
				for i, one := range strings.Split(types, ",") {
					got = append(got, one+"\t"+n[i])
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
				t.Errorf("tshark finds other responses (+) than those that were recorded (-):\n%s", diff)
			}
			wrong, err := exec.Command("tshark", "-r", packets, "-d", "tcp.port=="+server+",http2", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE",
				"-Y", "_ws.malformed or _ws.expert.severity >= 0x600000").Output()
			if err != nil || len(wrong) > 0 {
				t.Errorf("tshark warns (%v) of\n%s", err, wrong)
			}
		})
	}
}
