package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// What comes without a rule of the firewall is told from what was redirected, in
// any network.
func TestNotRedirected(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			t.Logf("this system has no %s: %v", listen, err)
			continue
		}
		l.Close()
		notRedirected(t, listen, strings.Trim(listen[:len(listen)-2], "[]"))
	}
	pipe, other := net.Pipe()
	defer pipe.Close()
	defer other.Close()
	if to, err := originalDst(pipe); err != errNotRedirected {
		t.Errorf("%v, %v", to, err)
	}
}

// inNamespace says that this process is alone in a network of its own.
const inNamespace = "XDSPROXY_TEST_NAMESPACE"

// TestOriginalDst runs itself once more, in a network namespace of its own, and
// redirects connections there as one would with iptables or nft. It needs no
// root, but a kernel that gives namespaces to users, and one of the programs.
func TestOriginalDst(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		reenter(t)
		return
	}
	must(t, "ip", "link", "set", "lo", "up")
	must(t, "ip", "addr", "add", "10.77.0.1/24", "dev", "lo")
	must(t, "ip", "addr", "add", "10.77.0.2/24", "dev", "lo")
	must(t, "ip", "-6", "addr", "add", "fd77::1/64", "dev", "lo", "nodad")
	must(t, "ip", "-6", "addr", "add", "fd77::2/64", "dev", "lo", "nodad")
	t.Run("v4", func(t *testing.T) { redirected(t, "127.0.0.1:0", "10.77.0.2", "10.77.0.1:18000", "10.77.0.1:18001") })
	t.Run("v4 on a listener of both", func(t *testing.T) { redirected(t, ":0", "10.77.0.2", "10.77.0.1:18010", "10.77.0.1:18011") })
	t.Run("v6", func(t *testing.T) { redirected(t, "[::1]:0", "fd77::2", "[fd77::1]:18020", "[fd77::1]:18021") })
	t.Run("v6 on a listener of both", func(t *testing.T) { redirected(t, ":0", "fd77::2", "[fd77::1]:18030", "[fd77::1]:18031") })
	t.Run("refused", testOriginalDstRefused)
	for _, c := range [][2]string{{"127.0.0.1:0", "127.0.0.1"}, {":0", "127.0.0.1"}, {":0", "::1"}, {"[::1]:0", "::1"}} {
		t.Run("not redirected", func(t *testing.T) { notRedirected(t, c[0], c[1]) })
	}
	t.Run("TLS v4", func(t *testing.T) {
		originalDstTLS(t, "127.0.0.1:0", "10.77.0.2", "10.77.0.1", func(i int) string { return fmt.Sprintf("10.77.0.1:%d", 18100+i) })
	})
	t.Run("TLS v6", func(t *testing.T) {
		originalDstTLS(t, "[::1]:0", "fd77::2", "fd77::1", func(i int) string { return fmt.Sprintf("[fd77::1]:%d", 18100+i) })
	})
	t.Run("TLS on one leg", testOriginalDstHalfTLS)
	t.Run("TLS redirected back", testSecureRedirectedBack)
	t.Run("TLS cut off", testSecureOriginalDstCutOff)
	t.Run("redirected back", testRedirectedBack)
}

// reenter runs this test in namespaces of its own.
func reenter(t *testing.T) {
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("no network can be set up: ", err)
	}
	_, noTables := exec.LookPath("iptables")
	if _, noNft := exec.LookPath("nft"); noTables != nil && noNft != nil {
		t.Skip("nothing can redirect, internal/e2e/tools/iptables.sh installs it: ", noTables)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestOriginalDst$", "-test.v", "-test.timeout=100s")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Skipf("this system gives no network namespace: %v", err)
	}
	switch text := string(out); {
	case err != nil:
		t.Errorf("in its namespace: %v\n%s", err, text)
	case strings.Contains(text, "--- SKIP: TestOriginalDst"):
		t.Skipf("in its namespace:\n%s", text)
	case !strings.Contains(text, "--- PASS: TestOriginalDst/redirected_back"):
		t.Errorf("not everything was tried:\n%s", text)
	}
}

func must(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// redirect makes the kernel redirect what goes to the port of an address, from
// source unless that is "", to a listener. Where neither program can, the whole
// test is skipped.
func redirect(t *testing.T, source, to string, listener net.Addr) {
	t.Helper()
	host, port, err := net.SplitHostPort(to)
	if err != nil {
		t.Fatal(err)
	}
	_, listen, err := net.SplitHostPort(listener.String())
	if err != nil {
		t.Fatal(err)
	}
	tables, family := "iptables", "ip"
	if strings.Contains(host, ":") {
		tables, family = "ip6tables", "ip6"
	}
	args := []string{"-t", "nat", "-A", "OUTPUT", "-p", "tcp", "-d", host, "--dport", port}
	rule := fmt.Sprintf("%s daddr %s tcp dport %s redirect to :%s", family, host, port, listen)
	if source != "" {
		args = append(args, "-s", source)
		rule = family + " saddr " + source + " " + rule
	}
	withTables, err := exec.Command(tables, append(args, "-j", "REDIRECT", "--to-ports", listen)...).CombinedOutput()
	if err == nil {
		return
	}
	script := fmt.Sprintf("add table %[1]s test\nadd chain %[1]s test output { type nat hook output priority -100 ; }\nadd rule %[1]s test output %[2]s\n", family, rule)
	nft := exec.Command("nft", "-f", "-")
	nft.Stdin = strings.NewReader(script)
	if withNft, nerr := nft.CombinedOutput(); nerr != nil {
		t.Skipf("this kernel redirects nothing: %s: %v %s; nft: %v %s", tables, err, withTables, nerr, withNft)
	}
}

// originalWorld is a proxy that asks where its clients were going.
func originalWorld(t *testing.T, listen string) *world {
	t.Helper()
	w := &world{t: t, log: &memoryLog{}, with: []func(*Pair){func(p *Pair) { p.OriginalDst = true }}}
	w.start(Addr{"tcp", listen}, Addr{}, 0)
	return w
}

// from dials as a program with this address does.
func from(t *testing.T, source, to string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}, Timeout: guard}
	c, err := d.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(guard))
	return c
}

// greeter is a server that says its name to everybody, and closes.
func greeter(t *testing.T, addr string) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "this is "+addr)
			c.Close()
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
}

// Each client gets to the server that it dialled, and the recording says which
// that was.
func redirected(t *testing.T, listen, source string, servers ...string) {
	w := originalWorld(t, listen)
	for _, s := range servers {
		greeter(t, s)
		redirect(t, source, s, w.proxy.Addrs()[0])
	}
	for _, s := range servers {
		c := from(t, source, s)
		text, err := io.ReadAll(c)
		if err != nil || string(text) != "this is "+s {
			t.Errorf("dialled %s: %q, %v", s, text, err)
		}
		if c.RemoteAddr().String() != s {
			t.Errorf("the client sees %s", c.RemoteAddr())
		}
		w.log.await(t, "the connection to "+s, func(e session.Entry) bool {
			return e.Kind == session.KindConnect && e.Peer.Upstream == s && e.Peer.Client == c.LocalAddr().String()
		})
	}
	if n := w.count(session.KindConnect); n != len(servers) {
		t.Errorf("%d connections were recorded, and %d made", n, len(servers))
	}
}

func (w *world) count(k session.Kind) (n int) {
	for _, e := range w.log.all() {
		if e.Kind == k {
			n++
		}
	}
	return n
}

// Nobody is where the client was going.
func testOriginalDstRefused(t *testing.T) {
	w := originalWorld(t, "127.0.0.1:0")
	redirect(t, "10.77.0.2", "10.77.0.1:18040", w.proxy.Addrs()[0])
	cutOff(t, "10.77.0.2", "10.77.0.1:18040")
	e := w.log.await(t, "a note", ofKind(session.KindNote))
	if e.Note.Code != session.NoteDialFailed || e.Note.Text != "cannot reach upstream 10.77.0.1:18040: connection refused" {
		t.Errorf("%+v", e.Note)
	}
}

// cutOff dials, and expects that the proxy lets go of it without a byte. It may
// do so before the client has noticed that it was accepted.
func cutOff(t *testing.T, source, to string) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}, Timeout: guard}
	c, err := d.Dial("tcp", to)
	if err != nil {
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Error(err)
		}
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(guard))
	if n, err := c.Read(make([]byte, 1)); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// A client that comes by itself was going nowhere else.
func notRedirected(t *testing.T, listen, client string) {
	w := originalWorld(t, listen)
	_, port, err := net.SplitHostPort(w.proxy.Addrs()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	cutOff(t, client, net.JoinHostPort(client, port))
	connect := w.log.await(t, "the connection", ofKind(session.KindConnect))
	if connect.Peer.Upstream != "original-dst" {
		t.Errorf("its upstream was %q", connect.Peer.Upstream)
	}
	e := w.log.await(t, "a note", ofKind(session.KindNote))
	want := fmt.Sprintf("cannot tell where the client %s of %s was going: it connected to this address itself, no rule of the firewall redirected it", connect.Peer.Client, w.proxy.Addrs()[0])
	if e.Note.Code != session.NoteNotRedirected || e.Note.Text != want || !strings.Contains(e.Note.Hint, "-j REDIRECT") {
		t.Errorf("%+v, not\n%s", e.Note, want)
	}
	w.log.await(t, "its end", ofKind(session.KindDisconnect))
}

// A rule that redirects the proxy, too, does not make it dial for ever.
func testRedirectedBack(t *testing.T) {
	w := originalWorld(t, "127.0.0.1:0")
	redirect(t, "", "10.77.0.1:18050", w.proxy.Addrs()[0])
	cutOff(t, "10.77.0.2", "10.77.0.1:18050")
	e := w.log.await(t, "a note", ofKind(session.KindNote))
	if e.Note.Code != session.NoteDialFailed || !strings.Contains(e.Note.Text, "the proxy's own connection was redirected back to it") || !strings.Contains(e.Note.Hint, "--uid-owner") {
		t.Errorf("%+v", e.Note)
	}
	w.log.await(t, "the end of both", func(session.Entry) bool { return w.count(session.KindDisconnect) == 2 })
	if n := w.count(session.KindConnect); n != 2 {
		t.Errorf("%d connections were made", n)
	}
}
