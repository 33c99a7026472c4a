package e2e

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

const (
	idleConnections = 400
	// idleBytes is what a plaintext connection without a stream may take, of
	// heap and stacks, with its two sockets and goroutines.
	idleBytes = 16 << 10
)

// What a connection costs while nothing passes: the proxy's own heap and
// stacks, after a collection.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		name := map[bool]string{false: "plaintext", true: "TLS"}[secure]
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			s := setup{args: []string{"--admin", "127.0.0.1:0", "--admin-pprof"}}
			var legs *secureEnds
			if secure {
				var args []string
				legs, args = chaosPKI(t)
				s.args = append(s.args, args...)
			}
			go greet(l, legs)
			p := startProxyWith(t, l.Addr().String(), s)
			admin := p.stderr.find(t, adminLine, p.exited)[1]
			open := func(n int) {
				for range n {
					c, err := net.Dial("tcp", p.addr)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { c.Close() })
					_ = c.SetDeadline(time.Now().Add(patience))
					if legs != nil {
						c = tls.Client(c, legs.client)
					}
					// Both say what every HTTP/2 connection begins with.
					if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
						t.Fatal(err)
					}
					f := http2.NewFramer(c, c)
					if err := f.WriteSettings(); err != nil {
						t.Fatal(err)
					}
					if _, err := f.ReadFrame(); err != nil {
						t.Fatal(err)
					}
				}
			}
			open(20) // what is made once
			heap, stacks := memoryInUse(t, admin)
			open(idleConnections)
			moreHeap, moreStacks := memoryInUse(t, admin)
			each := (moreHeap + moreStacks - heap - stacks) / idleConnections
			t.Logf("an idle connection takes %d bytes, %d of them stacks", each, (moreStacks-stacks)/idleConnections)
			if each > idleBytes && !secure {
				t.Errorf("%d bytes for an idle connection, want %d at most", each, idleBytes)
			}
			if each <= 0 {
				t.Error("nothing was measured")
			}
			p.kill()
		})
	}
}

// greet sends SETTINGS to whoever connects, and reads what they say.
func greet(l net.Listener, legs *secureEnds) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if legs != nil {
			c = tls.Server(c, legs.server)
		}
		go func() {
			defer c.Close()
			if err := http2.NewFramer(c, c).WriteSettings(); err == nil {
				_, _ = io.Copy(io.Discard, c)
			}
		}()
	}
}

var (
	heapInUse  = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)
	stackInUse = regexp.MustCompile(`(?m)^# Stack = (\d+) / `)
)

// memoryInUse collects in a proxy and returns its heap and stacks, in bytes.
func memoryInUse(t *testing.T, admin string) (heap, stacks int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 3 { // a pool forgets what lies idle for two collections
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, admin+"/debug/pprof/heap?gc=1&debug=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		number := func(re *regexp.Regexp) int64 {
			m := re.FindSubmatch(text)
			if m == nil {
				t.Fatalf("no %s in the profile", re)
			}
			n, err := strconv.ParseInt(string(m[1]), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		heap, stacks = number(heapInUse), number(stackInUse)
	}
	return heap, stacks
}
