package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/session"
)

// A server dies in the middle of a message, again and again, every other time
// with a reset: what it had sent arrives, as it was; the recording has as much
// of each message; and nothing is left over in the proxy.
func TestUpstreamDiesInMidMessage(t *testing.T) {
	deaths := 100
	if *soakLong {
		deaths = 2000
	} else {
		t.Parallel()
	}
	d := newDying(t, deaths)
	p := startProxyWith(t, d.serve(t), setup{args: []string{"--admin", "127.0.0.1:0", "--admin-pprof"}})
	admin := p.stderr.find(t, adminLine, p.exited)[1]
	before := socketsOf(t, p)
	var crowd sync.WaitGroup
	var next, arrived atomic.Int64
	for range 8 {
		crowd.Go(func() {
			for i := int(next.Add(1)) - 1; i < deaths; i = int(next.Add(1)) - 1 {
				arrived.Add(int64(d.visit(t, p.addr, i)))
			}
		})
	}
	crowd.Wait()
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
		if got := scrape(t, admin+path); got != want {
			t.Errorf("%s says %q", path, got)
		}
	}
	eventually(t, "no goroutine is left over", func() bool {
		return !strings.Contains(scrape(t, admin+"/debug/pprof/goroutine?debug=1"), "proxy.(*conn)")
	})
	eventually(t, "no socket is left over", func() bool { return socketsOf(t, p) <= before+1 }) // the probe
	t.Logf("%d deaths, %d MB arrived, peak %d MB", deaths, arrived.Load()>>20, peakMemory(t, p.cmd.Process.Pid)>>20)
	p.stop(t)
	if n := d.wrong.Load(); n > 0 {
		t.Errorf("%d requests did not arrive as they were", n)
	}
	if f := p.info(t); !f.Complete || f.Gaps != 0 || f.Connections != uint64(deaths) {
		t.Errorf("info: %+v", f)
	}
	d.recorded(t, p)
}

// socketsOf is how many a proxy has open.
func socketsOf(t *testing.T, p *proxy) (n int) {
	for _, fd := range descriptors(t, p.cmd.Process.Pid) {
		if to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", p.cmd.Process.Pid, fd)); strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// dying is a server that says a part of one large response to each client, and
// dies.
type dying struct {
	said  []byte // with what follows the greeting from talk on
	talk  int
	cuts  []int // how much is sent to each client
	wrong atomic.Int64
}

// dyingFrame is how much of a message is in a frame.
const dyingFrame = 16 << 10

func newDying(t *testing.T, deaths int) *dying {
	var out, block bytes.Buffer
	f, h := http2.NewFramer(&out, nil), hpack.NewEncoder(&block)
	_ = f.WriteSettings()
	_ = h.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	_ = h.WriteField(hpack.HeaderField{Name: "content-type", Value: "application/grpc"})
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
	d := &dying{talk: out.Len()}
	m := &discovery.DiscoveryResponse{TypeUrl: resource.ClusterType, VersionInfo: "1", Nonce: "1"}
	for i := range 60 {
		m.Resources = append(m.Resources, crowdClusters(fmt.Sprint(i), i)...)
	}
	for data := framed(t, m); len(data) > 0; {
		n := min(len(data), dyingFrame)
		_ = f.WriteData(1, false, data[:n])
		data = data[n:]
	}
	d.said = out.Bytes()
	r := rand.New(rand.NewPCG(7, 7))
	for range deaths {
		d.cuts = append(d.cuts, d.talk+1+r.IntN(len(d.said)-d.talk-1))
	}
	return d
}

func dyingNode(i int) string { return fmt.Sprintf("node-%06d", i) }

// resets says how the server leaves a client.
func (d *dying) resets(i int) bool { return i%2 == 1 }

// request is all that a client says.
func (d *dying) request(t *testing.T, i int) []byte {
	var out, block bytes.Buffer
	out.WriteString(http2.ClientPreface)
	f, h := http2.NewFramer(&out, nil), hpack.NewEncoder(&block)
	for _, field := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", adsMethod}, {":authority", "x"}, {"content-type", "application/grpc"}, {"te", "trailers"}} {
		_ = h.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	_ = f.WriteSettings()
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
	_ = f.WriteData(1, false, framed(t, &discovery.DiscoveryRequest{Node: &corev3.Node{Id: dyingNode(i)}, TypeUrl: resource.ClusterType}))
	return out.Bytes()
}

// visit returns how much came.
func (d *dying) visit(t *testing.T, addr string, i int) int {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	_, _ = c.Write(d.request(t, i))
	got, err := io.ReadAll(c)
	want := d.said[:d.cuts[i]]
	if d.resets(i) { // of which the system throws away what is on its way
		want = want[:min(len(got), len(want))]
	} else if err != nil {
		t.Errorf("client %d: %v", i, err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("client %d got %d bytes, which are not the %d that were sent", i, len(got), d.cuts[i])
	}
	return len(got)
}

func (d *dying) serve(t *testing.T) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	asked := make([][]byte, len(d.cuts))
	for i := range asked {
		asked[i] = d.request(t, i)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(patience))
				got := make([]byte, len(asked[0])) // all are of one length
				_, _ = io.ReadFull(c, got)
				var i int
				if at := bytes.Index(got, []byte("node-")); at >= 0 {
					_, _ = fmt.Sscanf(string(got[at:]), "node-%06d", &i)
				}
				if !bytes.Equal(got, asked[i]) {
					d.wrong.Add(1)
				}
				_, _ = c.Write(d.said[:d.cuts[i]])
				if d.resets(i) {
					_ = c.(*net.TCPConn).SetLinger(0)
				}
			}()
		}
	}()
	return l.Addr().String()
}

// recorded requires of each message as much as was sent.
func (d *dying) recorded(t *testing.T, p *proxy) {
	clients, halves := make(map[session.ConnID]int), make(map[int]int)
	for _, e := range p.entries(t) {
		switch {
		case e.Kind != session.KindMessage:
		case e.Side == session.Client:
			m := &discovery.DiscoveryRequest{}
			if err := proto.Unmarshal(e.Message.Data.Bytes(), m); err != nil {
				t.Fatal(err)
			}
			var i int
			_, _ = fmt.Sscanf(m.GetNode().GetId(), "node-%06d", &i)
			clients[e.Conn] = i
		default:
			if !e.Message.Truncated {
				t.Errorf("entry %d is called whole", e.Seq)
			}
			// Of a resource that is not whole nobody can say what is secret in it:
			// the data has less.
			halves[clients[e.Conn]] = int(e.Message.Size)
		}
	}
	for i, cut := range d.cuts {
		frames, rest := (cut-d.talk)/(dyingFrame+9), (cut-d.talk)%(dyingFrame+9)
		sent := max(0, frames*dyingFrame+max(0, rest-9)-5)
		if got := halves[i]; got > sent || got < sent && !d.resets(i) {
			t.Errorf("of message %d the recording knows %d bytes, and %d were sent", i, got, sent)
		}
	}
}

// framed is a message as gRPC sends it.
func framed(t *testing.T, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(data))), data...)
}
