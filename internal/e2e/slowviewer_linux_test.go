package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"regexp"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/session"
)

const slowViewers = 50 // more than there may be

var viewerLine = regexp.MustCompile(`xdsproxy watch (127\.0\.0\.1:\d+)`)

// Viewers that read a byte a second cost the proxy a buffer each. Nothing that
// passes is lost or waits for them, and a viewer that was there gets it all.
func TestSlowViewers(t *testing.T) {
	pushes := 100
	if *soakLong {
		pushes = 2000
	} else {
		t.Parallel()
	}
	const token = "a-token-that-the-test-made-up"
	w := &soakWorld{t: t, server: newSoakServer(t, 60)}
	w.proxy = startProxyWith(t, w.server.serve(t), setup{
		args: []string{"--admin", "127.0.0.1:0", "--log-format", "json", "--viewer", "127.0.0.1:0"},
		env:  []string{"XDSPROXY_VIEWER_TOKEN=" + token},
	})
	w.admin = w.proxy.stderr.find(t, adminLine, w.proxy.exited)[1]
	addr := w.proxy.stderr.find(t, viewerLine, w.proxy.exited)[1]
	w.crowd(10)
	for i := range 20 {
		w.push(i, 60)
	}
	c, err := serve.Dial(t.Context(), "tcp", addr, serve.Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	decent := c.Open(0, 0)
	defer decent.Close()
	decent.Follow(true)
	if _, err := decent.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := make(chan int)
	go func() {
		n := 1
		for {
			e, err := decent.Next(context.WithoutCancel(t.Context()))
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				seen <- n
				return
			}
			if e.Kind != session.KindTime {
				n++
			}
		}
	}()
	before := w.proxy.memory(t, "VmRSS")
	for range slowViewers {
		readSlowly(t, addr, token)
	}
	for i := range pushes {
		w.push(i, 60)
		w.sample(i, pushes)
		for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
			if got := scrape(t, w.admin+path); got != want {
				t.Errorf("%s says %q", path, got)
			}
		}
	}
	t.Logf("%d MB before the slow viewers", before>>20)
	if *soakLong { // what a keepalive finds out
		eventually(t, "the slow ones have made room", func() bool {
			late := c.Open(0, 0)
			defer late.Close()
			_, err := late.Next(t.Context())
			return err == nil
		})
	}
	w.judge()
	all := 0
	for _, e := range w.proxy.entries(t) {
		if e.Kind != session.KindTime {
			all++
		}
	}
	if got := <-seen; got != all {
		t.Errorf("the decent viewer got %d entries of %d", got, all)
	}
}

// readSlowly asks for all that is recorded, gives the server all the windows that
// there are, and reads a byte a second, until the test ends.
func readSlowly(t *testing.T, addr, token string) {
	t.Helper()
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 2048) })
	}}
	c, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	var block, out bytes.Buffer
	h := hpack.NewEncoder(&block)
	for _, field := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", "/xdsproxy.viewer.v1.Viewer/Tail"},
		{":authority", addr},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
		{"authorization", "Bearer " + token},
	} {
		if err := h.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
			t.Fatal(err)
		}
	}
	out.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&out, nil)
	_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: math.MaxInt32})
	_ = f.WriteWindowUpdate(0, math.MaxInt32-65535)
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
	_ = f.WriteData(1, true, make([]byte, 5)) // a request that says nothing: from the beginning
	if _, err := c.Write(out.Bytes()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer c.Close()
		for b := make([]byte, 1); ; {
			if _, err := c.Read(b); err != nil {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
		}
	}()
	t.Cleanup(func() { stop(); _ = c.SetDeadline(time.Now()); <-done })
}
