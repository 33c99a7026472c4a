package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"golang.org/x/sys/unix"
)

// Thousands of clients connect, each gets a response, waits, and gets another:
// all of that arrives and is recorded, probes are answered meanwhile, and what
// the connections took is given back when they are gone.
func TestManyConnections(t *testing.T) {
	n := 1000
	if *soakLong {
		n = 20_000
	} else {
		t.Parallel()
	}
	n = min(n, moreDescriptors(t, 2*n+1000)/2-500) // both ends are here
	s := newManyServer(t)
	p := startProxyWith(t, s.serve(t), setup{args: []string{"--admin", "127.0.0.1:0", "--admin-pprof"}})
	admin := p.stderr.find(t, adminLine, p.exited)[1]
	sockets := socketsOf(t, p)
	heap, stacks := memoryInUse(t, admin)

	stop := make(chan struct{})
	probed, idle := make(chan probes), make(chan probes)
	go func() { probed <- probe(t, admin, stop) }()
	nobody := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer nobody.Close()
	go func() { idle <- probe(t, nobody.URL, stop) }() // what the machine is busy with
	var first, second, all sync.WaitGroup
	first.Add(n)
	second.Add(n)
	leave := make(chan struct{})
	dials := make(chan struct{}, 200) // at a time
	for i := range n {
		all.Go(func() {
			f, g := sync.OnceFunc(first.Done), sync.OnceFunc(second.Done)
			defer g()
			defer f()
			dials <- struct{}{}
			c, err := net.Dial("tcp", p.addr)
			if err != nil {
				<-dials
				t.Error(err)
				return
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(5 * patience))
			_, err = c.Write(s.request(t, i))
			err = errors.Join(err, reads(c, s.first))
			<-dials
			f()
			err = errors.Join(err, reads(c, s.second))
			if err != nil {
				t.Errorf("connection %d: %v", i, err)
			}
			g()
			<-leave
		})
	}
	first.Wait()
	moreHeap, moreStacks := memoryInUse(t, admin)
	t.Logf("%d connections take %d bytes each, with %d sockets in all", n, (moreHeap+moreStacks-heap-stacks)/int64(n), socketsOf(t, p))
	close(s.push)
	second.Wait()
	close(leave)
	all.Wait()
	eventually(t, "no socket is left over", func() bool { return socketsOf(t, p) <= sockets+2 }) // probes
	close(stop)
	t.Logf("%v; of a server that does nothing else, %v", <-probed, <-idle)
	leftHeap, leftStacks := memoryInUse(t, admin)
	t.Logf("peak %d MB; heap and stacks %d MB before, %d MB with the connections, %d MB after", peakMemory(t, p.cmd.Process.Pid)>>20,
		(heap+stacks)>>20, (moreHeap+moreStacks)>>20, (leftHeap+leftStacks)>>20)
	p.stop(t)
	if f := p.info(t); !f.Complete || f.Damaged || f.Gaps != 0 || f.Connections != uint64(n) || f.Messages != uint64(3*n) {
		t.Errorf("info: %+v; want %d connections", f, n)
	}
}

// reads says whether these bytes come next.
func reads(c net.Conn, want []byte) error {
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return errors.New("what came is not what was sent")
	}
	return nil
}

// probes are how many were answered, and how many of them took more than a
// second.
type probes struct {
	all, slow int
	slowest   time.Duration
}

func (p probes) String() string {
	return fmt.Sprintf("%d probes, %d took more than 1s, the slowest %v", p.all, p.slow, p.slowest)
}

// probe asks for the health, again and again.
func probe(t *testing.T, admin string, stop <-chan struct{}) (p probes) {
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		for _, path := range []string{"/healthz", "/readyz"} {
			began := time.Now()
			resp, err := client.Get(admin + path)
			if err != nil {
				t.Error(err)
				continue
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", path, resp.Status)
			}
			took := time.Since(began)
			p.slowest = max(p.slowest, took)
			if p.all++; took > time.Second {
				p.slow++
			}
		}
		select {
		case <-stop:
			return p
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// moreDescriptors allows this process and those that it starts n files, or as
// many as they may have.
func moreDescriptors(t *testing.T, n int) int {
	t.Helper()
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	if want := (unix.Rlimit{Cur: uint64(n), Max: max(uint64(n), l.Max)}); want.Cur > l.Cur && unix.Setrlimit(unix.RLIMIT_NOFILE, &want) == nil {
		return n
	}
	return min(n, int(l.Cur))
}

// manyServer says the same to each client.
type manyServer struct {
	dying
	first, second []byte
	push          chan struct{} // closed when the second is said
}

func newManyServer(t *testing.T) *manyServer {
	say := func(out *bytes.Buffer, version string) {
		m := &discovery.DiscoveryResponse{TypeUrl: resource.ClusterType, VersionInfo: version, Nonce: version, Resources: crowdClusters("n", len(version))}
		_ = http2.NewFramer(out, nil).WriteData(1, false, framed(t, m))
	}
	var first, second, block bytes.Buffer
	f, h := http2.NewFramer(&first, nil), hpack.NewEncoder(&block)
	_ = f.WriteSettings()
	_ = h.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	_ = h.WriteField(hpack.HeaderField{Name: "content-type", Value: "application/grpc"})
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
	say(&first, "1")
	say(&second, "22")
	return &manyServer{first: first.Bytes(), second: second.Bytes(), push: make(chan struct{})}
}

func (s *manyServer) serve(t *testing.T) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	size := len(s.request(t, 0))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := io.ReadFull(c, make([]byte, size)); err != nil {
					return
				}
				_, _ = c.Write(s.first)
				<-s.push
				_, _ = c.Write(s.second)
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	return l.Addr().String()
}
