package proxy

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// A peer whose machine is gone is given up, whether it was silent or had data
// on its way to it; one that only reads nothing is not. The test runs itself
// once more in a network of its own, where addresses can vanish.
func TestVanishedPeers(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		reenterAlone(t)
		return
	}
	must(t, "ip", "link", "set", "lo", "up")
	w := limited(t, Limits{KeepAlive: time.Second})
	dialFrom := func(ip string) (client, server net.Conn) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}, KeepAlive: -1}
		client, err := d.Dial("tcp", w.proxy.Addrs()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		server, err = w.upstream.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close(); server.Close() })
		return client, server
	}
	// fill writes until nothing more goes: the client's window is zero then.
	fill := func(c net.Conn) (n int64) {
		for {
			c.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
			k, err := c.Write(make([]byte, 64<<10))
			n += int64(k)
			if err != nil {
				return n
			}
		}
	}
	slow, slowServer := dialFrom("127.0.0.2")
	sent := fill(slowServer)
	_, busyServer := dialFrom("127.0.0.3")
	dialFrom("127.0.0.4") // idle
	_, fullServer := dialFrom("127.0.0.5")
	fill(fullServer)
	gone := map[string]bool{"127.0.0.3": true, "127.0.0.4": true, "127.0.0.5": true}
	conns := map[session.ConnID]string{}
	for _, e := range w.log.all() {
		if e.Kind == session.KindConnect {
			conns[e.Conn], _, _ = net.SplitHostPort(e.Peer.Client)
		}
	}
	for ip := range gone {
		must(t, "ip", "route", "add", "table", "local", "blackhole", ip+"/32")
	}
	busyServer.SetWriteDeadline(time.Time{})
	if _, err := busyServer.Write([]byte("does anybody hear this")); err != nil {
		t.Fatal(err)
	}
	for len(gone) > 0 {
		end := w.log.await(t, "disconnect", func(e session.Entry) bool { return e.Kind == session.KindDisconnect && gone[conns[e.Conn]] })
		ip := conns[end.Conn]
		t.Logf("%s: ended by the %s: %s", ip, end.Side, end.Status.Message)
		if end.Side != session.Client {
			t.Errorf("%s was ended by the %s", ip, end.Side)
		}
		delete(gone, ip)
	}
	// All were given up. The one that reads nothing is there as long, and more.
	time.Sleep(5 * time.Second)
	got := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, slow)
		got <- n
	}()
	slowServer.(*net.TCPConn).CloseWrite()
	if n := <-got; n != sent {
		t.Errorf("the slow client got %d bytes of %d", n, sent)
	}
	patienceOfPulse(t)
}

// patienceOfPulse: a peer has vanished once it has been silent for as long as patience
// says, and not before.
func patienceOfPulse(t *testing.T) {
	_, server := connected(t, &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.6")}, KeepAlive: -1})
	must(t, "ip", "route", "add", "table", "local", "blackhole", "127.0.0.6/32")
	if _, err := server.Write([]byte("does anybody hear this")); err != nil {
		t.Fatal(err)
	}
	p := newPulse(server)
	for end := time.Now().Add(time.Minute); p.since.IsZero(); { // until it was sent again
		if time.Now().After(end) {
			t.Fatal("nothing was sent again")
		}
		if p.vanished(time.Now(), time.Hour) {
			t.Fatal("it has vanished at once")
		}
		time.Sleep(10 * time.Millisecond)
	}
	now := time.Now()
	silent := now.Sub(p.since) // since it was sent again: it was last heard before that
	for patience, want := range map[time.Duration]bool{silent - 1: true, silent: true, silent + 1: false} {
		if got := p.vanished(now, patience); got != want {
			t.Errorf("silent for %s, with a patience of %s, it has vanished: %t", silent, patience, got)
		}
	}
}

// reenterAlone runs the test once more in namespaces of its own.
func reenterAlone(t *testing.T) {
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("no network can be set up: ", err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=300s")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skipf("this system gives no network namespace: %v", err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "--- PASS: "+t.Name()) {
		t.Errorf("in its namespace: %v\n%s", err, &out)
	}
	t.Logf("%s", &out)
}

// connected are the two ends of a connection, until the test is over.
func connected(t *testing.T, d *net.Dialer) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = d.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return client, server
}

// Who acknowledges is not gone, and of what is not TCP nobody knows.
func TestPulse(t *testing.T) {
	client, _ := connected(t, &net.Dialer{})
	p := newPulse(client)
	p.since = time.Unix(1, 0) // it was silent for long, before
	if p.vanished(time.Now(), time.Second) || !p.since.IsZero() {
		t.Errorf("it is there, and is taken to be silent since %s", p.since)
	}
	client.Close()
	p.since = time.Unix(1, 0)
	if p.vanished(time.Now(), time.Second) || !p.since.IsZero() {
		t.Errorf("it is closed, and is taken to be silent since %s", p.since)
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if p := newPulse(a); p.raw != nil || p.vanished(time.Now(), 0) {
		t.Error("a pipe has vanished")
	}
}

// A client that has reset its connection is not kept while its server reads nothing.
func TestResetWhileTheOtherReadsNothing(t *testing.T) {
	w := limited(t, Limits{KeepAlive: 250 * time.Millisecond})
	client, err := net.Dial("tcp", w.proxy.Addrs()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := w.upstream.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for block := make([]byte, 64<<10); ; {
			if _, err := client.Write(block); err != nil {
				return
			}
		}
	}()
	awaitHeldUp(t)
	socketOf(client).SetLinger(0)
	client.Close()
	end := w.log.await(t, "disconnect", ofKind(session.KindDisconnect))
	if end.Side != session.Client {
		t.Errorf("ended by the %s: %s", end.Side, end.Status.Message)
	}
}
