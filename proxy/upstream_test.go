package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// The ports of our own dials are known for as long as they are dialled, and a
// client on another machine may have the same.
func TestIsOwn(t *testing.T) {
	p, err := Listen(Config{Log: &memoryLog{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("this system has no %s: %v", address, err)
			continue
		}
		to := l.Addr().String()
		d := p.dialer()
		forget := p.goOn(d, to)
		client, err := d.DialContext(t.Context(), "tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		port := client.LocalAddr().(*net.TCPAddr).Port
		if _, noted := p.dials[fromPort(port, to)]; !noted || port == 0 || len(p.dials) != 1 {
			t.Errorf("%s: port %d, noted is %v", address, port, p.dials)
		}
		far := &elsewhere{Conn: accepted, from: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: port}}
		if !p.isOwn(accepted, to) || p.isOwn(accepted, "127.0.0.1:1") || p.isOwn(client, to) || p.isOwn(far, to) {
			t.Errorf("%s: taken for our own %v, to another server %v, by another port %v, from another machine %v",
				address, p.isOwn(accepted, to), p.isOwn(accepted, "127.0.0.1:1"), p.isOwn(client, to), p.isOwn(far, to))
		}
		if forget(); p.isOwn(accepted, to) || len(p.dials) > 0 {
			t.Errorf("%s: it was not forgotten: %v", address, p.dials)
		}
		client.Close()
		accepted.Close()
		l.Close()
	}
	pipe, other := net.Pipe()
	defer pipe.Close()
	defer other.Close()
	if p.isOwn(pipe, "pipe") {
		t.Error("a pipe is taken for our own")
	}
}

// elsewhere is a connection that came from another address.
type elsewhere struct {
	net.Conn
	from net.Addr
}

func (e *elsewhere) RemoteAddr() net.Addr { return e.from }

// Where a pair leads is known at once, or with each connection.
func TestTarget(t *testing.T) {
	server := Addr{"tcp", "istiod:15012"}
	for _, c := range []struct {
		pair Pair
		want string
	}{
		{Pair{Upstream: server}, "istiod:15012"},
		{Pair{Upstream: Addr{"unix", "/a"}}, "unix:/a"},
		{Pair{OriginalDst: true}, "original-dst"},
		{Pair{OriginalDst: true, Upstream: server}, "istiod:15012"},
	} {
		if got := c.pair.Target(); got != c.want {
			t.Errorf("%+v leads to %s", c.pair, got)
		}
	}
	for _, c := range []struct {
		pair Pair
		want string
	}{
		{Pair{Listen: Addr{"unix", "/a"}}, ""},
		{Pair{Listen: Addr{"unix", "/a"}, OriginalDst: true}, "connections on a unix socket cannot have been redirected"},
		{Pair{Listen: Addr{"tcp", ":1"}, OriginalDst: true}, ""},
	} {
		got := ""
		if err := c.pair.check(); err != nil {
			got = err.Error()
		}
		if want := c.want; canOriginalDst && got != want {
			t.Errorf("%+v: %q", c.pair, got)
		}
	}
	for in, want := range map[string]string{"[::ffff:10.0.0.1]:80": "10.0.0.1:80", "[fe80::1%eth0]:80": "[fe80::1]:80", "10.0.0.1:80": "10.0.0.1:80"} {
		if got := bare(netip.MustParseAddrPort(in)).String(); got != want {
			t.Errorf("%s is %s", in, got)
		}
	}
	for a, want := range map[Addr]string{
		{"tcp", "istiod:15012"}: "istiod:15012", {"unix", "/a"}: "localhost", {"unix", "a:1"}: "localhost", {"tcp", "istiod"}: "localhost", {"tcp", "[::1]:1"}: "[::1]:1",
	} {
		if got := a.Authority(); got != want {
			t.Errorf("%v is asked for as %s", a, got)
		}
	}
	if got := AddrOf(&net.TCPAddr{IP: net.IPv4(1, 2, 3, 4), Port: 5}); got != (Addr{"tcp", "1.2.3.4:5"}) {
		t.Errorf("%v", got)
	}
}

// A socket that is in use, a path that cannot be removed and a file are no places
// to listen; the error is that of the first attempt.
func TestUnixSocketsThatStay(t *testing.T) {
	dir := t.TempDir()
	used := Addr{"unix", filepath.Join(dir, "used")}
	l, err := used.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, a := range []Addr{used, {"unix", file}} {
		if again, err := a.Listen(); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: %v, %v", a, again, err)
		}
		if _, err := os.Stat(a.Address); err != nil {
			t.Errorf("%s is gone: %v", a, err)
		}
	}
	if _, err := (Addr{"unix", filepath.Join(dir, "no", "dir")}).Listen(); err == nil || errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("in no directory: %v", err)
	}
}

// Why a client has no upstream is told once, with what helps, and then counted.
func TestDialsThatFail(t *testing.T) {
	connect := session.Entry{Kind: session.KindConnect, Peer: &session.Peer{Client: "1.2.3.4:5", Listen: "l", Upstream: "up:1"}}
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	files := &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}
	late := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	for name, c := range map[string]struct {
		err              error
		text, more, hint string
	}{
		"refused":  {refused, "cannot reach upstream up:1: connection refused", "cannot reach upstream up:1 for 2 more clients within 1s: connection refused", isItRunning},
		"late":     {late, "cannot reach upstream up:1: no answer in time", "cannot reach upstream up:1 for 2 more clients within 1s: no answer in time", isItRunning},
		"files":    {files, "accepted a client, but have no file descriptor left to dial upstream up:1: too many open files", "cannot reach upstream up:1 for 2 more clients within 1s: too many open files", moreFiles},
		"the host": {syscall.ENFILE, "accepted a client, but have no file descriptor left to dial upstream up:1: too many open files in system", "cannot reach upstream up:1 for 2 more clients within 1s: too many open files in system", moreFiles},
		"back":     {errComesBack, "cannot reach upstream up:1: " + errComesBack.Error(), "cannot reach upstream up:1 for 2 more clients within 1s: " + errComesBack.Error(), exemptProxy},
	} {
		toldOf(t, name, c.text, c.more, c.hint, session.NoteDialFailed, func(p *Proxy, log *memoryLog) {
			p.dialFailed(&conn{id: 1, log: log, warn: p.warn}, connect, c.err)
		})
	}
	toldOf(t, "not redirected", "cannot tell where the client 1.2.3.4:5 of l was going: "+errNotRedirected.Error(),
		"cannot tell where 2 more clients of l were going within 1s: "+errNotRedirected.Error(), redirectFirst, session.NoteNotRedirected, func(p *Proxy, log *memoryLog) {
			p.unresolved(&conn{id: 1, log: log, warn: p.warn}, connect, errNotRedirected)
		})
	toldOf(t, "TLS", "server: it failed", "2 more clients met the same within 1s, the last: server: it failed", "mend it", session.NoteTLSFailed, func(p *Proxy, log *memoryLog) {
		p.tlsFailed(&conn{id: 1, log: log, warn: p.warn}, connect, &TLSFailure{Side: session.Server, By: session.Server, Text: "server: it failed", Hint: "mend it"})
	})
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5}
	toldOf(t, "accepting", "clients on 127.0.0.1:5 have to wait: too many open files", "clients on 127.0.0.1:5 have to wait, none could be accepted in 2 more attempts within 1s: too many open files",
		moreFiles, session.NoteAcceptFailed, func(p *Proxy, log *memoryLog) { p.acceptFailed(at, syscall.EMFILE) })
	toldOf(t, "accepting otherwise", "clients on 127.0.0.1:5 have to wait: connection reset by peer", "clients on 127.0.0.1:5 have to wait, none could be accepted in 2 more attempts within 1s: connection reset by peer",
		"", session.NoteAcceptFailed, func(p *Proxy, log *memoryLog) { p.acceptFailed(at, syscall.ECONNRESET) })
}

// toldOf looks at what is recorded of trouble that comes three times.
func toldOf(t *testing.T, name, text, more, hint string, code session.NoteCode, happen func(*Proxy, *memoryLog)) {
	t.Helper()
	log := &memoryLog{}
	p, err := Listen(Config{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	notes := func() (out []session.Note) {
		for _, e := range log.all() {
			if e.Kind == session.KindNote {
				out = append(out, *e.Note)
			}
		}
		return out
	}
	for range 3 {
		happen(p, log)
	}
	want := []session.Note{{Code: code, Text: text, Hint: hint}}
	if got := notes(); !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
	}
	entries := len(log.all())
	p.bursts.flush()
	want = append(want, session.Note{Code: code, Text: more, Hint: hint})
	if got := notes(); !reflect.DeepEqual(got, want) || len(log.all()) != entries+1 {
		t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
	}
}

// Trouble is summed up after a second, then after twice as long each time, and
// forgotten when there is no more of it.
func TestBursts(t *testing.T) {
	var b bursts
	var said []string
	say := func(more int, since time.Duration) {
		said = append(said, time.Duration(more).String()+" in "+since.String())
	}
	same := trouble{session.NoteRefused, "l", "why"}
	if !b.tell(same, say) || b.tell(same, say) || b.tell(same, say) {
		t.Error("it is told three times")
	}
	at := b.open[same].told
	b.sum(at.Add(firstSum - 1)) // too early
	b.sum(at.Add(firstSum))
	b.tell(same, say)
	b.sum(at.Add(firstSum + 2*firstSum - 1)) // too early
	b.sum(at.Add(firstSum + 2*firstSum))
	if want := []string{"0s in 0s", "2ns in 1s", "1ns in 2s"}; !reflect.DeepEqual(said, want) {
		t.Errorf("%q, not %q", said, want)
	}
	if wait := b.open[same].wait; wait != 4*time.Second {
		t.Errorf("it is summed up in %s", wait)
	}
	b.open[same].wait = 40 * time.Second
	b.tell(same, say)
	b.sum(b.open[same].told.Add(40 * time.Second))
	if wait := b.open[same].wait; wait != lastSum {
		t.Errorf("it is summed up in %s", wait)
	}
	b.sum(b.open[same].told.Add(lastSum - 1))
	if b.open[same] == nil {
		t.Error("it was forgotten too early")
	}
	b.sum(b.open[same].told.Add(lastSum))
	if b.open[same] != nil {
		t.Error("it is not forgotten")
	}
	// Of more sentences than can be told apart, those of one address are one.
	said = nil
	for i := range maxBursts + 3 {
		b.tell(trouble{session.NoteRefused, "l", strings.Repeat("x", i+1)}, say)
	}
	if len(said) != maxBursts+1 || len(b.open) != maxBursts+1 || b.open[trouble{session.NoteRefused, "l", ""}].more != 2 {
		t.Errorf("%d are told, %d are open", len(said), len(b.open))
	}
	said = nil
	if b.flush(); len(said) != 1 || len(b.open) > 0 {
		t.Errorf("%q, %d are open", said, len(b.open))
	}
}

// As much of a client is read as tells whether it speaks HTTP/2.
func TestReadPreface(t *testing.T) {
	for text, want := range map[string]struct {
		head string
		h2   bool
		err  error
	}{
		preface:              {preface, true, nil},
		preface + "more":     {preface, true, nil},
		preface[:10]:         {preface[:10], false, io.EOF},
		"GET / HTTP/1.1\r\n": {"GET / HTTP/1.1\r\n", false, nil},
		"PRI * HTTP/1.1":     {"PRI * HTTP/1.1", false, nil},
		"":                   {"", false, io.EOF},
	} {
		for _, step := range []int{1, 7, 100} {
			head, h2, err := readPreface(&pieces{text: text, step: step})
			if h2 != want.h2 || !errors.Is(err, want.err) || !strings.HasPrefix(want.head, string(head)) || want.err != nil && string(head) != want.head || h2 && string(head) != preface {
				t.Errorf("%q by %d: %q, %v, %v", text, step, head, h2, err)
			}
			if !h2 && err == nil && strings.HasPrefix(preface, string(head)) {
				t.Errorf("%q by %d: %q may go on as HTTP/2", text, step, head)
			}
		}
	}
}

// pieces is a connection that gives a text in pieces.
type pieces struct {
	net.Conn
	text string
	step int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.step)], p.text)
	p.text = p.text[n:]
	return n, nil
}

// What a client is told, and what a server has to be for.
func TestNamesAndProtocols(t *testing.T) {
	for _, c := range []struct{ offered, want []string }{
		{nil, nil},
		{[]string{"http/1.1", "h2"}, []string{"h2"}},
		{[]string{"foo", "http/1.1"}, []string{"http/1.1"}},
		{[]string{"foo"}, []string{refused}},
	} {
		if got := plainProtocols(c.offered); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %q", c.offered, got)
		}
	}
	for n, want := range map[int]int{0: 0, maxProtocols - 1: maxProtocols - 1, maxProtocols: maxProtocols, maxProtocols + 1: maxProtocols} {
		if got := offered(&tls.ClientHelloInfo{SupportedProtos: make([]string, n)}); len(got) != want {
			t.Errorf("of %d protocols %d are offered", n, len(got))
		}
	}
	at := Addr{"tcp", "istiod:15012"}
	for _, c := range []struct {
		u     upstreamTLS
		asked string
		at    Addr
		want  string
	}{
		{upstreamTLS{}, "asked", at, "istiod"},
		{upstreamTLS{forAny: true}, "asked", at, "asked"},
		{upstreamTLS{forAny: true}, "", at, "istiod"},
		{upstreamTLS{forAny: true, UpstreamTLS: UpstreamTLS{ServerName: "set"}}, "asked", at, "set"},
		{upstreamTLS{}, "", Addr{"unix", "/a:1"}, ""},
	} {
		if got := c.u.serverName(c.asked, c.at); got != c.want {
			t.Errorf("%+v, asked for %q: %q", c.u, c.asked, got)
		}
	}
	for _, c := range []struct {
		host  string
		local net.Addr
		want  string
	}{
		{"set", &net.TCPAddr{IP: net.IPv4(1, 2, 3, 4)}, "set"},
		{"", &net.TCPAddr{IP: net.IPv4(1, 2, 3, 4)}, "1.2.3.4"},
		{"", &net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0"}, "fe80::1"},
		{"", &net.UnixAddr{Name: "/a", Net: "unix"}, "localhost"},
	} {
		if got := (&listenTLS{host: c.host}).nameless(c.local); got != c.want {
			t.Errorf("%q on %v: %s", c.host, c.local, got)
		}
	}
	for side, want := range map[session.Side]string{session.Client: "the client", session.Server: "the server"} {
		if got := closedText(side, io.EOF); got != want+" closed the connection" {
			t.Error(got)
		}
		if got := closedText(side, errTruncated); got != want+" closed the connection without close_notify" {
			t.Error(got)
		}
		if got := brokenText(side, &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}); got != want+"'s connection broke: connection reset by peer" {
			t.Error(got)
		}
	}
}

// How a peer is asked whether it is there, and how long it may say nothing.
func TestKeepAlive(t *testing.T) {
	for d, want := range map[time.Duration]net.KeepAliveConfig{
		0:           {Enable: true, Idle: silence, Interval: silence, Count: 3},
		time.Second: {Enable: true, Idle: time.Second, Interval: time.Second, Count: 3},
		-1:          {Idle: -1, Interval: -1, Count: 3},
	} {
		p, err := Listen(Config{Log: &memoryLog{}, Limits: Limits{KeepAlive: d}})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.keepAlive(); got != want || p.patience() != 4*want.Idle || p.dialer().KeepAliveConfig != want || p.dialer().Timeout != 5*time.Second {
			t.Errorf("%s: %+v, patience %s", d, got, p.patience())
		}
	}
}
