package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/session"
)

// end is one end of an HTTP/2 connection that is played frame by frame. It
// logs every frame that it receives.
type end struct {
	t      *testing.T
	name   string
	conn   net.Conn
	framer *http2.Framer
	block  bytes.Buffer
	hpack  *hpack.Encoder
	log    []string
}

func newEnd(t *testing.T, name string, conn net.Conn) *end {
	e := &end{t: t, name: name, conn: conn, framer: http2.NewFramer(conn, conn)}
	e.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	e.framer.AllowIllegalWrites = true
	e.hpack = hpack.NewEncoder(&e.block)
	_ = conn.SetDeadline(time.Now().Add(patience))
	return e
}

// must fails the test by panicking out of the script; see play.
func (e *end) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("%s: %v", e.name, err))
	}
}

func (e *end) headers(id uint32, last bool, fields ...string) {
	e.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		e.must(e.hpack.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	e.must(e.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: e.block.Bytes(), EndHeaders: true, EndStream: last,
	}))
}

// message sends m compressed, in two DATA frames, the second one padded.
func (e *end) message(id uint32, m proto.Message) {
	data, err := proto.Marshal(m)
	e.must(err)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = z.Write(data)
	e.must(err)
	e.must(z.Close())
	framed := binary.BigEndian.AppendUint32([]byte{1}, uint32(packed.Len()))
	framed = append(framed, packed.Bytes()...)
	e.must(e.framer.WriteData(id, false, framed[:7]))
	e.must(e.framer.WriteDataPadded(id, false, framed[7:], make([]byte, 9)))
}

// await reads frames until one of the kind came.
func (e *end) await(kind http2.FrameType) {
	for {
		f, err := e.framer.ReadFrame()
		e.must(err)
		text := f.Header().String()
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			for _, h := range f.Fields {
				text += fmt.Sprintf(" %s=%q", h.Name, h.Value)
			}
		case *http2.DataFrame:
			text += fmt.Sprintf(" %x", f.Data())
		case *http2.PingFrame:
			text += fmt.Sprintf(" %q", f.Data)
		case *http2.GoAwayFrame:
			text += fmt.Sprintf(" %v last=%d %q", f.ErrCode, f.LastStreamID, f.DebugData())
		case *http2.RSTStreamFrame:
			text += " " + f.ErrCode.String()
		case *http2.SettingsFrame:
			e.must(f.ForeachSetting(func(s http2.Setting) error {
				text += " " + s.String()
				return nil
			}))
		}
		e.log = append(e.log, text)
		if f.Header().Type == kind {
			return
		}
	}
}

const adsMethod = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"

// oddClient and oddServer play a conversation that holds what proxies that
// terminate HTTP/2 lose: early headers, headers before messages, compression,
// status details, PINGs, exact reset codes, GOAWAY with debug data.
func oddClient(e *end) {
	request := func(id uint32) {
		e.headers(id, false, ":method", "POST", ":scheme", "http", ":path", adsMethod,
			":authority", "control-plane.example:18000", "content-type", "application/grpc+proto", "te", "trailers",
			"user-agent", "odd client/1.2 (of a test)", "grpc-encoding", "gzip", "grpc-accept-encoding", "gzip,identity",
			"grpc-timeout", "99S", "x-twice", "a", "x-twice", "b", "x-odd-bin", "AAEC")
	}
	_, err := e.conn.Write([]byte(http2.ClientPreface))
	e.must(err)
	e.must(e.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}))
	e.await(http2.FrameSettings)
	e.must(e.framer.WriteSettingsAck())
	request(1)
	e.message(1, &discovery.DiscoveryRequest{TypeUrl: resource.ClusterType})
	e.must(e.framer.WritePing(false, [8]byte{'c', 'l', 'i', 'e', 'n', 't', 0, 1}))
	e.must(e.framer.WritePriority(1, http2.PriorityParam{Weight: 77}))
	e.await(http2.FramePing)
	e.await(http2.FrameHeaders) // 103
	e.await(http2.FrameHeaders) // 200, long before a message
	e.message(1, &discovery.DiscoveryRequest{TypeUrl: resource.EndpointType, ResourceNames: []string{"c1"}})
	e.await(http2.FramePing)
	e.must(e.framer.WritePing(true, [8]byte{'s', 'e', 'r', 'v', 'e', 'r', 0, 2}))
	e.must(e.framer.WriteWindowUpdate(0, 4242))
	e.await(http2.FrameHeaders) // trailers
	request(3)
	e.await(http2.FrameRSTStream)
	request(5)
	e.await(http2.FrameHeaders)
	e.must(e.framer.WriteRSTStream(5, http2.ErrCodeCancel))
	e.await(http2.FrameGoAway)
	e.must(e.framer.WriteGoAway(0, http2.ErrCodeNo, []byte("client says bye")))
	e.must(e.conn.(halfCloser).CloseWrite())
}

func oddServer(e *end) {
	preface := make([]byte, len(http2.ClientPreface))
	for n := 0; n < len(preface); {
		m, err := e.conn.Read(preface[n:])
		e.must(err)
		n += m
	}
	e.must(e.framer.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 99}))
	e.await(http2.FrameSettings)
	e.must(e.framer.WriteSettingsAck())
	e.await(http2.FrameHeaders)
	e.await(http2.FramePing)
	e.must(e.framer.WritePing(true, [8]byte{'c', 'l', 'i', 'e', 'n', 't', 0, 1}))
	e.headers(1, false, ":status", "103", "link", "</early>")
	e.headers(1, false, ":status", "200", "content-type", "application/grpc+proto", "grpc-encoding", "gzip", "x-served-by", "odd server")
	e.await(http2.FrameData)
	e.await(http2.FrameData)
	e.message(1, &discovery.DiscoveryResponse{TypeUrl: resource.ClusterType, VersionInfo: "v1", Nonce: "n1"})
	e.must(e.framer.WritePing(false, [8]byte{'s', 'e', 'r', 'v', 'e', 'r', 0, 2}))
	e.await(http2.FramePing)
	details, err := proto.Marshal(&rpcstatus.Status{Code: 7, Message: "no way"})
	e.must(err)
	e.headers(1, true, "grpc-status", "7", "grpc-message", "no%20way",
		"grpc-status-details-bin", base64.RawStdEncoding.EncodeToString(details), "x-last", "words")
	e.await(http2.FrameHeaders)
	e.must(e.framer.WriteRSTStream(3, http2.ErrCodeEnhanceYourCalm))
	e.await(http2.FrameHeaders)
	e.headers(5, false, ":status", "200", "content-type", "application/grpc+proto")
	e.await(http2.FrameRSTStream)
	e.must(e.framer.WriteGoAway(5, http2.ErrCodeInadequateSecurity, []byte("server says bye")))
	e.await(http2.FrameGoAway)
	e.must(e.conn.(halfCloser).CloseWrite())
}

// play runs both scripts; the client dials what front returns for the address
// of the server. It returns what either end received.
func play(t *testing.T, front func(upstream string) string) (client, server []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	guard := func(f func()) (failure any) {
		defer func() { failure = recover() }()
		f()
		return nil
	}
	addr := front(l.Addr().String())
	failed := make(chan any)
	var s *end
	go func() {
		failed <- guard(func() {
			conn, err := l.Accept()
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			s = newEnd(t, "server", conn)
			oddServer(s)
		})
	}()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c := newEnd(t, "client", conn)
	failure := guard(func() { oddClient(c) })
	if failure != nil {
		conn.Close()
	}
	for _, f := range []any{failure, <-failed} {
		if f != nil {
			t.Fatal(f)
		}
	}
	conn.Close()
	return c.log, s.log
}

func TestFramesAreTheSameWithAndWithoutProxy(t *testing.T) {
	t.Parallel()
	clientDirect, serverDirect := play(t, func(upstream string) string { return upstream })
	for _, l := range append([]legs{{}}, secureLegs()...) {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			sameFrames(t, l, clientDirect, serverDirect)
		})
	}
}

// sameFrames requires that both ends receive what they do without a proxy.
func sameFrames(t *testing.T, l legs, clientDirect, serverDirect []string) {
	t.Helper()
	var p *sandwich
	client, server := play(t, func(upstream string) string {
		p = newSandwich(t, l, upstream)
		return p.addr
	})
	if !slices.Equal(client, clientDirect) {
		t.Errorf("the client received\n%s\nand without the proxy\n%s", strings.Join(client, "\n"), strings.Join(clientDirect, "\n"))
	}
	if !slices.Equal(server, serverDirect) {
		t.Errorf("the server received\n%s\nand without the proxy\n%s", strings.Join(server, "\n"), strings.Join(serverDirect, "\n"))
	}
	p.close(t, l)

	var got []string
	for _, e := range p.entries(t) {
		switch e.Kind {
		case session.KindOpen:
			got = append(got, fmt.Sprintf("open %d %s %s %q", e.H2, session.Get(e.Headers, ":authority"), session.Get(e.Headers, "user-agent"), session.Get(e.Headers, "grpc-encoding")))
		case session.KindHeader:
			got = append(got, fmt.Sprintf("header %d %s", e.H2, session.Get(e.Headers, ":status")))
		case session.KindMessage:
			got = append(got, fmt.Sprintf("message %d %v %s %d", e.H2, e.Side, e.Message.Encoding, e.Message.Size))
		case session.KindTrailer:
			got = append(got, fmt.Sprintf("trailer %d %d %s", e.H2, e.Status.Code, e.Status.Message))
		case session.KindCancel:
			got = append(got, fmt.Sprintf("cancel %d %v %d", e.H2, e.Side, e.Status.Reset))
		case session.KindGoAway:
			got = append(got, fmt.Sprintf("goaway %v %d %d %s", e.Side, e.GoAway.Code, e.GoAway.LastStream, e.GoAway.Debug))
		}
	}
	open := func(id int) string {
		return fmt.Sprintf(`open %d control-plane.example:18000 odd client/1.2 (of a test) "gzip"`, id)
	}
	cluster, endpoint := len(resource.ClusterType), len(resource.EndpointType)
	want := []string{
		open(1),
		fmt.Sprintf("message 1 client gzip %d", cluster+2),
		"header 1 103", "header 1 200",
		fmt.Sprintf("message 1 client gzip %d", endpoint+2+4),
		fmt.Sprintf("message 1 server gzip %d", cluster+2+4+4),
		"trailer 1 7 no way",
		open(3), "cancel 3 server 11",
		open(5), "header 5 200", "cancel 5 client 8",
		"goaway server 12 5 server says bye", "goaway client 0 0 client says bye",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the recording has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
